"""What the round view is sent: compact rounds, words included, as plain JSON values.

The browser keeps the rounds of a run, so each is sent once; verdicts, labels and numbers are
worked out here and only drawn there. Of each place go the eight most telling tokens; the
rest of what was recorded is fetched when the reader opens the place.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from specdec_core.decoding.types import Round, RoundTimes, RuleName, Source, Verdict
from specdec_core.text.display import running_text
from specdec_core.traces import metrics
from specdec_core.traces.trace import Trace
from specdec_core.ui import place_words as words
from specdec_core.ui.place_tokens import Json, known_tokens, label_of, number, rule_of, tokens

TOP_SENT = 8
"""Tokens of each place that go with a round."""

BEFORE = 12
"""Tokens before a round that may hold the beginning of its first character; four bytes make one."""

BUSY = 1.2
"""A pass over one token that took so many times what passes over several take was disturbed."""

LAST_PLACE = {"bonus": 4, "none": 5}
"""Codes of the last place beside those of ``Verdict``: a bonus was emitted, or none."""


def run_id(trace: Trace) -> str:
    """Names a run, so that the browser never mixes the rounds of two."""
    draft = trace.pair.draft
    models = (trace.pair.target.fingerprint, draft.fingerprint if draft else "")
    facts = (*models, trace.run, trace.created, trace.name)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def head(trace: Trace) -> Json:
    """What holds for the whole run: the prompt as text and the words of the rule."""
    pieces = [trace.pieces.get(id_, b"") for id_ in trace.run.prompt_ids]
    return {
        "prompt": "".join(running_text(pieces)) if any(pieces) else trace.prompt,
        "rule": trace.run.rule,
        "sentence": _sentence(trace.run.rule),
        "conditions": ("recorded on " if trace.name else "") + trace.conditions,
        "vocabulary": trace.pair.vocab_size,
    }


def one_token_alone(trace: Trace) -> str | None:
    """Time of a target pass over a single token: of the target alone as timed beside this run, else of costs.

    None if the rounds' own passes over several tokens took clearly less: it was then measured while
    the machine was busy with something else.
    """
    plain = trace.baseline
    if plain is not None and len(plain.seconds) and not plain.contended:
        alone = float(np.median(plain.seconds))
    elif trace.costs is not None:
        alone = trace.costs.target[0]
    else:
        return None
    passes = metrics.latency(trace).verify
    busy = len(passes) and alone > BUSY * float(np.median(passes))
    return None if busy else _milliseconds(alone)


def compact_rounds(trace: Trace, base: int) -> list[Json]:
    """Rounds ``base`` onwards of a trace as the browser keeps them."""
    return _from_the_start(trace) if base == 0 else _compact(trace, base)


@lru_cache(maxsize=2)
def _from_the_start(trace: Trace) -> list[Json]:
    """All rounds, remembered: every visitor begins with the same recorded trace."""
    return _compact(trace, 0)


def _compact(trace: Trace, base: int) -> list[Json]:
    texts, counts = _texts(trace, base), _survivors(trace.rounds, base)
    return [_round(trace, *each) for each in zip(trace.rounds[base:], texts, counts, strict=True)]


def replayed_times(trace: Trace, base: int) -> list[Json]:
    """Times of rounds ``base`` onwards as the background replay measured them."""
    return [times_words(times, "replayed without pauses") for times in trace.replay[base:]]


def times_words(times: RoundTimes, note: str | None) -> Json:
    """The times of one round in words: each draft step, all of them, and the one target pass."""
    drafted, places = len(times.draft), len(times.draft) + 1
    steps = "1 step" if drafted == 1 else f"{drafted} steps"
    draft = f"Draft guesses one token at a time: {steps}, {_milliseconds(sum(times.draft))}"
    checks = f"Target checks all {places} places in one pass" if drafted else "Target reads on in one pass"
    return {
        "steps": [_milliseconds(seconds) for seconds in times.draft],
        "draft": draft if drafted else "Draft guesses nothing in this round",
        "verify": f"{checks}: {_milliseconds(times.verify)}",
        "note": note,
    }


def detail(trace: Trace, round_index: int, place: int) -> Json | None:
    """All tokens recorded for one place, or None where there is no such place."""
    if not 0 <= round_index < len(trace.rounds):
        return None
    item = trace.rounds[round_index]
    if item.places is None or not 0 <= place <= len(item.drafted):
        return None
    return {"round": round_index, "place": place, **tokens(trace, item, place, None)}


def _round(trace: Trace, item: Round, texts: list[str], survivors: list[list[int]]) -> Json:
    sources = [Source(int(source)) for source in item.sources]
    emitted = zip(texts, item.emitted, sources, strict=True)
    places = [_place(trace, item, place) for place in range(len(item.drafted) + 1)]
    end = item.end.value if item.end else None
    summary = words.emitted_words(sources, item.clipped, end)
    in_force = trace.run.in_force(item.settings.sampling)
    return {
        "i": item.index,
        "k": len(item.drafted),
        "set": words.settings_words(item.settings.gamma, in_force, rule_of(trace, item)),
        "choice": words.OWN_CHOICE.get(rule_of(trace, item)),
        "places": places,
        "out": [[text, label_of(trace, id_), int(source), int(id_)] for text, id_, source in emitted],
        "times": times_words(item.times, _flag_words(item)),
        "how": item.origin.words if item.origin.one_hot and len(item.drafted) else None,
        "stop": words.stop_words(item.settings.gamma, len(item.drafted), item.draft_stop),
        "sum": summary,
        "say": f"Round {item.index + 1}. {summary}",
        "surv": survivors,
    }


def _place(trace: Trace, item: Round, place: int) -> Json:
    """One place of a round: its card, its tokens and how the target's own token was drawn."""
    common = tokens(trace, item, place, TOP_SENT) if item.places is not None else {"top": [], "rest": None}
    if place == len(item.drafted):
        return {**_last_place(trace, item), **common}
    drafted = _drafted(trace, item, place)
    rule = rule_of(trace, item)
    choice = rule in words.OWN_CHOICE
    card = words.choice_words(drafted, rule) if choice else words.ratio_words(drafted)
    return {
        "id": int(item.drafted[place]),
        "t": drafted.label,
        "v": int(drafted.verdict),
        "p": None if choice else number(drafted.p),
        "q": None if choice else number(drafted.q),
        "u": None if choice else number(drafted.u),
        **card,
        "say": words.said(drafted, rule),
        "head": words.title(drafted),
        **common,
    }


def _drafted(trace: Trace, item: Round, place: int) -> words.Drafted:
    full = item.places
    return words.Drafted(
        place=place + 1,
        label=label_of(trace, item.drafted[place]),
        verdict=Verdict(int(item.verdicts[place])),
        p=None if full is None else float(full.p[place]),
        q=None if full is None else float(full.q[place]),
        u=None if full is None else float(full.accept_u[place]),
        own=None if full is None else label_of(trace, full.replacement[place]),
    )


def _last_place(trace: Trace, item: Round) -> Json:
    count, full = len(item.drafted), item.places
    bonus = Source.BONUS in item.sources
    own = None if full is None else int(full.replacement[count])
    text = None if own is None else label_of(trace, own)
    ended = not bonus and Verdict.REJECTED not in item.verdicts
    test = words.last_place_words(count, bonus, ended, text)
    probability = None if own is None else known_tokens(trace, item, count)[own][0]
    return {
        "id": own if bonus else None,
        "t": text if bonus else None,
        "v": LAST_PLACE["bonus" if bonus else "none"],
        "p": None, "q": None, "u": None,
        "qs": None,
        "ps": words.percent(probability) if bonus and rule_of(trace, item) not in words.OWN_CHOICE else None,
        "test": test, "why": None,
        "us": None,
        "own": text if bonus else None,
        "say": f"place {count + 1}, {test}",
        "head": f"Place {count + 1}: “{text}” ★" if bonus else f"Place {count + 1}, after the drafts",
    }  # fmt: skip


def _texts(trace: Trace, base: int) -> list[list[str]]:
    """Running text of each round's tokens; a character split between rounds goes to the later."""
    before = [*trace.run.prompt_ids[-BEFORE:]]
    for item in trace.rounds[max(base - BEFORE, 0) : base]:
        before += item.emitted.tolist()
    before = before[-BEFORE:]
    rounds = trace.rounds[base:]
    ids = before + [id_ for item in rounds for id_ in item.emitted.tolist()]
    texts = iter(running_text([trace.pieces.get(id_, b"") for id_ in ids])[len(before) :])
    return [[next(texts) for _ in item.emitted] for item in rounds]


def _survivors(rounds: Sequence[Round], base: int) -> list[list[list[int]]]:
    """After each round from ``base`` on, for each place: rounds that came through it, and that drafted it."""
    through, tried = _survived(rounds[:base])
    out = []
    for item in rounds[base:]:
        for place, verdict in enumerate(item.verdicts.tolist()):
            if place == len(tried):
                through.append(0)
                tried.append(0)
            through[place] += int(verdict == Verdict.ACCEPTED)
            tried[place] += int(verdict != Verdict.NOT_NEEDED)
        out.append([list(pair) for pair in zip(through, tried, strict=True)])
    return out


def _survived(rounds: Sequence[Round]) -> tuple[list[int], list[int]]:
    """What ``_survivors`` counts, for all of these rounds at once: a step must not take them singly."""
    verdicts = [item.verdicts for item in rounds if len(item.verdicts)]
    if not verdicts:
        return [], []
    every = np.concatenate(verdicts)
    places = np.concatenate([np.arange(len(each)) for each in verdicts])
    most = int(places.max()) + 1
    through = np.bincount(places[every == Verdict.ACCEPTED], minlength=most)
    tried = np.bincount(places[every != Verdict.NOT_NEEDED], minlength=most)
    return through.tolist(), tried.tolist()


def _flag_words(item: Round) -> str | None:
    reasons = {
        "stepped singly": item.flags.single,
        "still warming up": item.flags.cold,
        "device shared with another run or with measuring": item.flags.contended,
    }
    found = [reason for reason, holds in reasons.items() if holds]
    return f"{', '.join(found)}: not counted in speeds" if found else None


def _sentence(rule: RuleName) -> str:
    wrong = "only not the target's own choice" if rule in words.OWN_CHOICE else "only over-proposed"
    return f"Every round ends in one token from the target itself; rejected does not mean wrong, {wrong}."


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds < 0.1 else f"{1000 * seconds:.0f} ms"
