"""Whether a pair can run here, told before anything big is downloaded or loaded.

``checklist`` is a pure function of what is known: where each model lies, the facts of its
config and tokenizer, and the memory there. Each item says what was checked, how it went, why,
and what a person can do.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from specdec_core.models.errors import PairError
from specdec_core.models.facts import ModelFacts
from specdec_core.models.vocabulary import shared

GIB = 1 << 30
WORKING = 1.15
"""Room for activations and buffers, as a factor on weights and caches."""

CACHED_TOKENS = 4096
"""Most tokens that memory is reckoned with; few runs are longer, and caches grow as they go."""

COMFORT = 0.8
"""Share of the free memory up to which nothing need be said."""


class Verdict(StrEnum):
    """How a check went."""

    OK = "ok"
    WARN = "warn"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Item:
    """One check.

    Attributes:
        title: what was checked.
        verdict: how it went.
        reason: why, in a sentence.
        advice: what a person can do about it; "" where there is nothing to do.
    """

    title: str
    verdict: Verdict
    reason: str
    advice: str = ""


@dataclass(frozen=True)
class Place:
    """Where one model of the pair is.

    Attributes:
        name: the model's name.
        where: what follows its name in a sentence; "" if it is nowhere to be had.
        refusal: why it is not to be had; "" if it is.
        to_fetch: bytes to be fetched first.
    """

    name: str
    where: str = ""
    refusal: str = ""
    to_fetch: int = 0


@dataclass(frozen=True)
class Room:
    """What the machine has to offer.

    Attributes:
        device: its name.
        free: bytes of memory that new models may take; None if nobody knows.
        value_bytes: bytes of one number in memory.
        disk: bytes that may be downloaded; None if nobody knows.
    """

    device: str
    free: int | None
    value_bytes: int
    disk: int | None = None


@dataclass(frozen=True)
class Checklist:
    """All items of a pair, in order.

    Attributes:
        items: what was checked.
        complete: whether everything could be checked; of a model in a package or a GGUF file that was
            not unpacked yet, little is known.
        to_fetch: bytes to be fetched before the pair can be loaded.

    Example:
        >>> Checklist((Item("Memory", Verdict.WARN, "It is tight."),)).verdict.value
        'warn'
    """

    items: tuple[Item, ...]
    complete: bool = True
    to_fetch: int = 0

    @property
    def verdict(self) -> Verdict:
        """The worst of all items."""
        found = {item.verdict for item in self.items}
        return next((each for each in (Verdict.REFUSE, Verdict.WARN) if each in found), Verdict.OK)

    @property
    def refusal(self) -> Item | None:
        """The first item that keeps the pair from running; None if it can run."""
        return next((item for item in self.items if item.verdict is Verdict.REFUSE), None)


def checklist(
    places: Sequence[Place], target: ModelFacts | None, draft: ModelFacts | None, room: Room
) -> Checklist:
    """Check a pair.

    Args:
        places: where each model is, the target first.
        target, draft: what is known of them; None for a pair without draft model, and for a
            model of which nothing can be known before it is fetched.
        room: what the machine offers.
    """
    items = [_place(place, room.disk) for place in places]
    known = [facts for facts in (target, draft) if facts]
    items += [item for facts in known for item in _model(facts)]
    if target and draft:
        items += _tokens(target, draft)
    if target:
        items += _ends(target, draft)
        items += _contexts(target, draft)
    complete = len(known) == len(places)
    if complete:
        items.append(_memory(known, room))
    return Checklist(tuple(items), complete, sum(place.to_fetch for place in places))


def memory_needed(models: Sequence[ModelFacts], value_bytes: int) -> int:
    """Bytes that a run takes: all weights, caches of up to 4,096 tokens, and room to work."""
    values = sum(
        each.parameters + each.cache_values * min(each.context_length or CACHED_TOKENS, CACHED_TOKENS)
        for each in models
    )
    return int(WORKING * values * value_bytes)


def _place(place: Place, disk: int | None) -> Item:
    title = f"{place.name} can be had"
    if place.refusal:
        return Item(title, Verdict.REFUSE, place.refusal)
    if place.to_fetch and disk is not None and place.to_fetch > disk:
        reason = f"It {place.where}: {gib(place.to_fetch)} to fetch, and {gib(disk)} of disk are free."
        return Item(title, Verdict.REFUSE, reason, "Make room, or point HF_HOME to a larger disk.")
    size = f", {gib(place.to_fetch)} to fetch" if place.to_fetch else ""
    return Item(title, Verdict.OK, f"It {place.where}{size}.")


def _model(facts: ModelFacts) -> Iterator[Item]:
    title = f"{facts.name} runs without code of its own"
    if not facts.native:
        yield Item(title, Verdict.REFUSE, f"transformers writes no text with a model of kind {facts.kind}.")
    elif facts.own_code:
        reason = f"It brings code along, which is not run: transformers knows {facts.kind} itself."
        yield Item(title, Verdict.WARN, reason)
    else:
        yield Item(title, Verdict.OK, f"transformers knows {facts.kind}.")
    title = f"{facts.name}'s cache can be rewound"
    if facts.state:
        yield Item(title, Verdict.REFUSE, f"After a rejected draft the cache goes back, but {facts.state}.")
    else:
        yield Item(title, Verdict.OK, "Keys and values of rejected tokens can be dropped.")


def _tokens(target: ModelFacts, draft: ModelFacts) -> Iterator[Item]:
    title = "Both models share their tokens"
    try:
        together = shared(target.vocabulary, draft.vocabulary)
    except PairError as error:
        yield Item(title, Verdict.REFUSE, str(error), "Choose a draft of the target's own family.")
        return
    rows = sorted({target.vocabulary.rows, draft.vocabulary.rows})
    reason = f"All {together.size - len(together.padding):,} tokens are the same by id."
    if rows != [together.size] or together.padding:
        reason += f" Rows of padding ({' and '.join(f'{each:,}' for each in rows)} in all) are masked."
    if together.warnings:
        yield Item(title, Verdict.WARN, " ".join(together.warnings))
    else:
        yield Item(title, Verdict.OK, reason)


def _ends(target: ModelFacts, draft: ModelFacts | None) -> Iterator[Item]:
    title = "A text can end"
    names = ", ".join(_named(target, id_) for id_ in sorted(target.end_ids))
    if not target.end_ids:
        advice = "Set a stop text, or the number of tokens."
        yield Item(title, Verdict.WARN, f"{target.name} names no end token.", advice)
    elif draft and draft.end_ids != target.end_ids:
        theirs = ", ".join(_named(draft, id_) for id_ in sorted(draft.end_ids)) or "none"
        reason = f"The target ends with {names}, the draft with {theirs}; the target's count."
        yield Item(title, Verdict.WARN, reason, "The draft may miss the end, which costs a round.")
    else:
        yield Item(title, Verdict.OK, f"It ends with {names}.")


def _named(facts: ModelFacts, id_: int) -> str:
    return f"{facts.vocabulary.tokens.get(id_, '?')} ({id_})"


def _contexts(target: ModelFacts, draft: ModelFacts | None) -> Iterator[Item]:
    title = "Context lengths fit"
    if target.context_length < 2:
        reason = f"{target.name} gives no usable context length: it must be at least 2 tokens."
        yield Item(title, Verdict.REFUSE, reason)
    elif draft and draft.context_length < target.context_length:
        reason = (
            f"The target takes {target.context_length:,} tokens, the draft {draft.context_length:,}. Beyond "
            "that nothing is drafted, and rounds are plain decoding."
        )
        advice = f"Keep prompt and answer within {draft.context_length:,} tokens."
        yield Item(title, Verdict.WARN, reason, advice)
    else:
        yield Item(title, Verdict.OK, f"Prompt and answer may have {target.context_length:,} tokens.")


def _memory(models: Sequence[ModelFacts], room: Room) -> Item:
    title = f"There is memory on {room.device}"
    needed = memory_needed(models, room.value_bytes)
    if room.free is None:
        return Item(title, Verdict.WARN, f"It needs {gib(needed)}; how much is free here is not known.")
    reason = f"It needs {gib(needed)}, and {gib(room.free)} are free."
    if needed > room.free:
        advice = "Choose a smaller pair or another device, or close other programs."
        return Item(title, Verdict.REFUSE, reason, advice)
    tight = needed > COMFORT * room.free
    return Item(title, Verdict.WARN if tight else Verdict.OK, reason + (" That is tight." if tight else ""))


def gib(count: int) -> str:
    """Bytes in words.

    >>> gib(93_000_000), gib(16 << 30)
    ('89 MiB', '16.0 GiB')
    """
    return f"{count / (1 << 20):,.0f} MiB" if count < GIB else f"{count / GIB:,.1f} GiB"
