"""Rounds and traces made by hand, for tests that need a record but no model.

``make_round("AAR.")`` is a round of four drafts, the first two kept, the third rejected and
the fourth not tested. The record agrees with itself: probabilities, intervals, uniforms and
verdicts fit together, and the emitted tokens spell a small tale. Everything is a pure
function of the arguments.
"""

from collections.abc import Sequence

import numpy as np

from specdec_core.decoding.types import (
    DraftStop,
    EndReason,
    Prefill,
    Round,
    RoundFlags,
    RoundSettings,
    RoundTimes,
    RunSettings,
    Sampling,
    Source,
    Verdict,
)
from specdec_core.traces.trace import CostTable, Framing, Machine, ModelInfo, PairInfo, PlainRun, Trace
from tests.traces import laws
from tests.traces.laws import END_ID, PIECES, PROMPT, STORY, VOCAB

VERDICTS = {"A": Verdict.ACCEPTED, "R": Verdict.REJECTED, ".": Verdict.NOT_TESTED, "-": Verdict.NOT_NEEDED}
OUTCOMES = ("AAAA", "AR..", "R...", "AAAR", "AA", "", "AAR.", "AAAA")
"""A run that shows everything: bonuses, early and late rejections, short rounds, nothing drafted."""
CLEAN = RoundFlags()
PLAIN = Sampling()


def make_round(
    outcome: str = "AAR.",
    *,
    index: int = 0,
    start: int = len(PROMPT),
    gamma: int | None = None,
    rule: str = "speculative sampling",
    sampling: Sampling = PLAIN,
    end: EndReason | None = None,
    bonus: bool | None = None,
    clipped: int = 0,
    times: RoundTimes | None = None,
    flags: RoundFlags = CLEAN,
    record: bool = True,
    seed: int = 0,
) -> Round:
    """One round whose drafts fared as ``outcome`` says.

    Args:
        outcome: a letter for each drafted token: ``A`` accepted, ``R`` rejected, ``.`` not
            tested, ``-`` not needed; "" drafts nothing.
        gamma: draft length asked for; by default the number of letters.
        end: why the run ends with this round; with ``END_TOKEN`` the last emitted token is it.
        bonus: whether a bonus follows accepted drafts; by default only while the run goes on,
            and always if nothing was drafted.
        clipped: how many of the drafts that are not needed had passed the test.
        times: seconds; by default those of a small pair on two processor threads.
        record: whether ``places`` is filled; the emitted tokens are the same.
        seed: together with ``index`` the source of everything random.
    """
    assert end or "-" not in outcome, "drafts are not needed only where the run ends"
    rng = np.random.default_rng([seed, index])
    verdicts = np.array([VERDICTS[letter] for letter in outcome], dtype=np.int8)
    sources = _sources(outcome, (end is None or not outcome) if bonus is None else bonus)
    wishes = [STORY[(start + i) % len(STORY)] for i in range(len(outcome) + 1)]
    if end is EndReason.END_TOKEN:
        wishes[len(sources) - 1] = END_ID
    if record:
        drafted, places = laws.places(verdicts, wishes, sampling, rule, rng)
        own = places.replacement
    else:
        (drafted, own), places = laws.tokens(verdicts, wishes, rng), None
    kept = outcome.count("A")
    emitted = [*drafted[:kept], *own[kept : len(sources)]]
    cache = start + len(emitted) - 1
    return Round(
        index=index,
        start=start,
        settings=RoundSettings(gamma=len(outcome) if gamma is None else gamma, sampling=sampling),
        draft="draft",
        drafted=drafted,
        verdicts=verdicts,
        emitted=np.array(emitted, dtype=np.int32),
        sources=np.array(sources, dtype=np.int8),
        clipped=clipped,
        draft_stop=DraftStop.GAMMA if gamma in (None, len(outcome)) else DraftStop.LIMIT,
        end=end,
        times=times or _times(len(outcome), rng),
        flags=flags,
        target_cache=cache,
        draft_cache=min(cache, start + max(len(outcome) - 2, 0)),
        places=places,
    )


def make_trace(
    outcomes: Sequence[str] = OUTCOMES,
    *,
    rule: str = "speculative sampling",
    sampling: Sampling = PLAIN,
    end: EndReason | None = None,
    flags: Sequence[RoundFlags] = (),
    times: Sequence[RoundTimes] = (),
    gamma: int | None = None,
    baseline: bool = True,
    costs: bool = True,
    replay: int = 0,
    record: bool = True,
    seed: int = 0,
    name: str = "",
) -> Trace:
    """A run whose rounds fared as ``outcomes`` say, one string a round (see ``make_round``).

    Args:
        rule, sampling: of the run, and of every round.
        end: why the run ended with the last round, or None while it goes on.
        flags, times: of the first rounds; the others are clean and take the usual time.
        gamma: draft length asked for in every round; by default what each round drafted.
        baseline, costs: whether plain decoding and a cost table were measured.
        replay: how many rounds were replayed.
    """
    limit = max(64, sum(len(outcome) + 1 for outcome in outcomes))
    trace = Trace(
        pair=make_pair(),
        machine=make_machine(),
        run=RunSettings(PROMPT, rule=rule, seed=seed, max_new_tokens=limit, end_ids=frozenset({END_ID})),
        prompt="Once upon a time",
        framing=Framing(chat=True, system="Be brief.", stop_strings=("\n\n", "🐺")),
        pieces={id_: PIECES[id_] for id_ in STORY},
        prefill=Prefill(target=0.021, draft=0.004, tokens=len(PROMPT) - 1),
        baseline=make_baseline(sampling=sampling) if baseline else None,
        costs=make_costs() if costs else None,
        created="2026-11-30T17:00:00+00:00",
        name=name,
    )
    for index, outcome in enumerate(outcomes):
        item = make_round(
            outcome,
            index=index,
            start=len(PROMPT) + len(trace.emitted),
            gamma=gamma,
            rule=rule,
            sampling=sampling,
            end=end if index == len(outcomes) - 1 else None,
            times=times[index] if index < len(times) else None,
            flags=flags[index] if index < len(flags) else CLEAN,
            record=record,
            seed=seed,
        )
        trace = trace.append(item, {id_: PIECES[id_] for id_ in item.ids.tolist()})
    rng = np.random.default_rng(seed)
    return trace.with_(replay=tuple(_times(len(item.drafted), rng) for item in trace.rounds[:replay]))


def make_pair() -> PairInfo:
    """A pair as the explorer ships one, over the factory's vocabulary."""
    target = ModelInfo("Tale target", 8_300_000, 6, 1024, "a1" * 32)
    draft = ModelInfo("Tale draft", 480_000, 1, 1024, "b2" * 32)
    return PairInfo("embedded", "Folk tales", target, draft, VOCAB, "float32", "Apache-2.0")


def make_machine() -> Machine:
    return Machine("AMD EPYC 9B14", "cpu", 2, "2.13.0", "5.24.0", "3.11.7", "Linux 6.1")


def make_costs() -> CostTable:
    """c = 0.16 and v(γ) from 1 to 1.45."""
    passes = (0.0066, 0.0069, 0.0073, 0.008, 0.00975)
    rest = (0.0004,) * len(passes)
    return CostTable((1, 2, 3, 5, 9), passes, rest, plain=0.007, draft=0.00112, context=128, repeats=15)


def make_baseline(tokens: int = 24, *, sampling: Sampling = PLAIN, contended: bool = False) -> PlainRun:
    """The target alone at about 7.4 ms a token."""
    ids = np.array([STORY[(len(PROMPT) + i) % len(STORY)] for i in range(tokens)], dtype=np.int32)
    seconds = 0.0074 + 0.0002 * np.random.default_rng(5).standard_normal(tokens)
    return PlainRun(sampling, ids, seconds, prefill=0.021, contended=contended)


def _sources(outcome: str, bonus: bool) -> list[Source]:
    """Sources of the tokens that pass: the accepted drafts, then at most one of the target's own."""
    sources = [Source.ACCEPTED] * outcome.count("A")
    if "R" in outcome:
        return [*sources, Source.CORRECTION]
    return [*sources, Source.BONUS] if bonus and "-" not in outcome else sources


def _times(drafts: int, rng: np.random.Generator) -> RoundTimes:
    jitter = rng.uniform(0.95, 1.1, drafts + 3)
    return RoundTimes(
        draft=tuple((0.0012 * jitter[:drafts]).tolist()),
        verify=float((0.007 + 0.0004 * drafts) * jitter[-3]),
        sample=float(0.0004 * jitter[-2]),
        other=float(0.0003 * jitter[-1]),
        record=0.0005,
    )
