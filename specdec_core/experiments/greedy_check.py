"""Whether greedy decoding with a draft writes what the target alone writes, token for token.

A pass over several tokens and one over a single token differ in the last bits of the logits, so
where the target's two best tokens are that close, either may come first: a tie, told as such with
the gap between the two. Any other difference would be a fault.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specdec_core.decoding.baseline import decode_plain, prefill_plain
from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.record import NoRecorder
from specdec_core.decoding.settings import RoundSettings, RuleName, RunSettings, Sampling
from specdec_core.experiments.draft_bench import COPYING
from specdec_core.experiments.drafts import DRAFTS, DraftKind
from specdec_core.models.pair import Pair
from specdec_core.text.chat import as_chat, has_template

TIE = 1e-3
"""Logits of the target that are closer than this are a tie; float32 passes differ by some 1e-5."""


@dataclass(frozen=True)
class GreedyCheck:
    """One draft held against plain decoding.

    Attributes:
        kind: key of the draft.
        tokens: how many were compared.
        accepted, tested: drafts that were kept, of those tested.
        place: number of the first token that differs, from 0; None where all are equal.
        gap: between the target's two best logits at that place; 0 where all are equal.
    """

    kind: str
    tokens: int
    accepted: int
    tested: int
    place: int | None = None
    gap: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether the texts are equal, or part at a tie."""
        return self.place is None or self.gap < TIE


def check_prompt(pair: Pair) -> tuple[int, ...]:
    """A message that copying drafts find something in, framed by the pair's chat template if it has one."""
    if has_template(pair.tokenizer):
        return pair.encode(as_chat(pair.tokenizer, COPYING[0]), framed=True)
    return pair.encode(COPYING[0])


def check_greedy(pair: Pair, prompt: Sequence[int], tokens: int) -> Iterator[GreedyCheck]:
    """Hold every draft that the pair can have against plain greedy decoding.

    Args:
        pair: the models.
        prompt: ids of the prompt.
        tokens: how many to write; an end token does not end the text.
    """
    run = RunSettings(tuple(prompt), RuleName.GREEDY, max_new_tokens=tokens)
    target = pair.target()
    with pair.runner.turn():
        prefill_plain(target, run)
        plain = [token.id for token in decode_plain(target, run, Sampling())]
    for kind in DRAFTS.values():
        if kind.missing(pair) is None:
            yield _check(pair, kind, run, plain)


def _check(pair: Pair, kind: DraftKind, run: RunSettings, plain: Sequence[int]) -> GreedyCheck:
    decoder = Decoder(pair.target(), kind.build(pair), run, NoRecorder())
    with pair.runner.turn():
        decoder.prefill()
        rounds = list(decoder.rounds(RoundSettings(kind.gamma)))
    counts = (sum(each.accepted for each in rounds), sum(each.tested for each in rounds))
    pairs = zip(decoder.emitted, plain, strict=True)
    place = next((n for n, (ours, theirs) in enumerate(pairs) if ours != theirs), None)
    gap = 0.0 if place is None else _gap(pair, [*run.prompt_ids, *plain[:place]])
    return GreedyCheck(kind.key, len(plain), *counts, place, gap)


def _gap(pair: Pair, ids: Sequence[int]) -> float:
    """Between the target's two best logits after these tokens."""
    with pair.runner.turn():
        first, second = pair.target().feed(ids, keep=1)[0].topk(2).values
    return float(first - second)
