"""What a run's time went into, and how it compares with the target alone.

A speed is made of clean rounds only: those that were cold, contended or stepped singly are left
out, unless a replay of the same rounds without pauses supplies their times. Reading the prompt is
in no speed. All of it holds for one machine, one number format and batch size 1
(``Trace.conditions``), which stand beside every figure. A figure is None where nothing was measured.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from specdec_core import theory
from specdec_core.decoding.types import RoundTimes
from specdec_core.traces.acceptance import mean_expected, tokens_per_round
from specdec_core.traces.shares import ratio
from specdec_core.traces.trace import Trace


def times_of(trace: Trace, index: int) -> tuple[RoundTimes, bool]:
    """The times of one round that count, and whether they may enter a speed.

    Replayed times where there are any, which always may; else the round's own.
    """
    if index < len(trace.replay):
        return trace.replay[index], True
    return trace.rounds[index].times, trace.rounds[index].flags.clean


@dataclass(frozen=True, eq=False)
class Latency:
    """Wall-clock seconds of each round by what they were spent on; arrays [R].

    Attributes:
        draft: float64, all draft steps together. steps: int64, how many there were.
        verify: float64, the one target pass. sample: float64, testing and drawing.
        other: float64, the rest of the round; making the record is in none of them.
        clean: bool, the times may enter a speed.
        replayed: bool, the times are those of the replay.
    """

    draft: np.ndarray
    steps: np.ndarray
    verify: np.ndarray
    sample: np.ndarray
    other: np.ndarray
    clean: np.ndarray
    replayed: np.ndarray

    @property
    def total(self) -> np.ndarray:
        return self.draft + self.verify + self.sample + self.other


@lru_cache(maxsize=8)
def latency(trace: Trace, upto: int | None = None) -> Latency:
    """The times of the first ``upto`` rounds; the last few are remembered, as many figures ask for them."""
    count = len(trace.rounds[:upto])
    found = [times_of(trace, index) for index in range(count)]
    times = [each for each, _ in found]
    return Latency(
        draft=np.array([sum(each.draft) for each in times], dtype=np.float64),
        steps=np.array([len(each.draft) for each in times], dtype=np.int64),
        verify=np.array([each.verify for each in times], dtype=np.float64),
        sample=np.array([each.sample for each in times], dtype=np.float64),
        other=np.array([each.other for each in times], dtype=np.float64),
        clean=np.array([clean for _, clean in found], dtype=bool),
        replayed=np.arange(count) < len(trace.replay),
    )


@dataclass(frozen=True)
class Split:
    """Mean seconds of a clean round by what they were spent on, over ``rounds`` rounds."""

    rounds: int
    draft: float
    verify: float
    sample: float
    other: float

    @property
    def total(self) -> float:
        return self.draft + self.verify + self.sample + self.other


def latency_split(trace: Trace, upto: int | None = None) -> Split | None:
    """Where the time of a clean round goes on average: Σ seconds / clean rounds, part by part.

    Rounds of 12 and 14 ms, of which 5 and 6 drafting, give draft 5.5 of 13 ms.
    """
    times = latency(trace, upto)
    rounds = int(times.clean.sum())
    if not rounds:
        return None
    parts = (times.draft, times.verify, times.sample, times.other)
    return Split(rounds, *(float(part[times.clean].mean()) for part in parts))


def time_per_token(trace: Trace, upto: int | None = None) -> float | None:
    """Seconds per emitted token: Σ time of clean rounds / Σ tokens that they emitted.

    Rounds of 12 ms with 3 tokens and 14 ms with 1 token give 26 / 4 = 6.5 ms.
    """
    times = latency(trace, upto)
    return ratio(float(times.total[times.clean].sum()), int(_tokens(trace, upto)[times.clean].sum()))


def baseline_time_per_token(trace: Trace) -> float | None:
    """Seconds per token of the target alone: Σ seconds / tokens; None if it shared the device."""
    plain = trace.baseline
    if plain is None or plain.contended:
        return None
    return ratio(float(plain.seconds.sum()), plain.seconds.size)


def inter_token_latency(trace: Trace, upto: int | None = None) -> np.ndarray:
    """Seconds that a reader waits before each token, float64 [n], over clean rounds.

    The tokens of a round arrive together: the first has waited the whole round, the others nothing.
    A round of 12 ms with 3 tokens gives 12, 0, 0. The mean is ``time_per_token``; the largest is the
    longest wait. Of the target alone it is ``trace.baseline.seconds``.
    """
    times, tokens = latency(trace, upto), _tokens(trace, upto)
    used = times.clean & (tokens > 0)
    waits = np.zeros(int(tokens[used].sum()))
    waits[np.cumsum(tokens[used]) - tokens[used]] = times.total[used]
    return waits


def time_to_first_token(trace: Trace) -> float | None:
    """Seconds from the prompt to the first token: both prompt passes and the first round, if clean."""
    if trace.prefill is None or not trace.rounds:
        return None
    times, clean = times_of(trace, 0)
    return trace.prefill.target + trace.prefill.draft + times.total if clean else None


def speedup_measured(trace: Trace, upto: int | None = None) -> float | None:
    """Time per token of the target alone / time per token of this run; 7.4 / 6.5 ms gives 1.14."""
    plain, own = baseline_time_per_token(trace), time_per_token(trace, upto)
    return None if plain is None or not own else plain / own


def speedup_model(trace: Trace, upto: int | None = None) -> float | None:
    """Speed-up by the closed form with measured α̂ and ĉ: Σ E(α̂, K_r) / Σ (K_r·ĉ + 1) over rounds r.

    Leviathan et al. 2023, Theorem 3.8, summed over rounds so that K may vary; with one K it is the
    theorem. α̂ is ``mean_expected``, ĉ the cost table's; E is Equation (1), and a pass over K + 1 tokens
    is taken to cost as much as one over a single token. α̂ = 0.75, ĉ = 0.1 and K = 4 give 3.05 / 1.4 = 2.18.
    """
    alpha, drafts = mean_expected(trace, upto), _drafts(trace, upto)
    if trace.costs is None or alpha is None:
        return None
    tokens = theory.expected_tokens(alpha, drafts)
    return float(tokens.sum() / (drafts * trace.costs.c + 1).sum())


def speedup_expected(trace: Trace, upto: int | None = None) -> float | None:
    """Speed-up by measured tokens and measured costs: Σ tokens / Σ (K_r·ĉ + v(K_r)) over rounds r.

    E / (γ·c + v(γ)) with E the measured tokens per round, summed so that K may vary: what the rounds
    should have cost in tokens of plain decoding, had they cost what the table says. 3 tokens per round
    at K = 4, ĉ = 0.15 and v(4) = 1.2 give 3 / 1.8 = 1.67.
    """
    emitted, drafts = tokens_per_round(trace, upto), _drafts(trace, upto)
    if trace.costs is None or emitted is None:
        return None
    counts, times = np.unique(drafts, return_counts=True)
    prices = counts * trace.costs.c + [trace.costs.verify_cost(int(count)) for count in counts]
    return emitted * len(drafts) / float(prices @ times)


@dataclass(frozen=True, eq=False)
class Race:
    """This run and the target alone, as milliseconds since the prompt was read against tokens.

    Each line starts at (0, 0) and holds between its points: draw it as steps, horizontal first.

    Attributes:
        run_ms, run_tokens: float64 and int64 [R+1], after each round.
        target_ms, target_tokens: float64 and int64 [n+1], after each token; one point without a baseline.
        fair: every time in it may enter a speed.
        replayed: some of the run's times are those of the replay.
    """

    run_ms: np.ndarray
    run_tokens: np.ndarray
    target_ms: np.ndarray
    target_tokens: np.ndarray
    fair: bool
    replayed: bool


def race(trace: Trace, upto: int | None = None) -> Race:
    """The two lines of the race: rounds of 12 ms with 3 tokens and 14 ms with 1 token give this run
    (0, 0), (12, 3), (26, 4). Rounds that are not clean are in it, since leaving them out would break
    the line; ``fair`` says whether there are any.
    """
    times, plain = latency(trace, upto), trace.baseline
    alone = np.empty(0) if plain is None else plain.seconds
    return Race(
        run_ms=_climb(times.total) * 1e3,
        run_tokens=_climb(_tokens(trace, upto)),
        target_ms=_climb(alone) * 1e3,
        target_tokens=np.arange(alone.size + 1),
        fair=bool(times.clean.all()) and not (plain and plain.contended),
        replayed=bool(times.replayed.any()),
    )


def when(milliseconds: np.ndarray, tokens: np.ndarray, wanted: int) -> float | None:
    """When a line of the race had ``wanted`` tokens, in milliseconds; None if it never did.

    >>> when(np.array([0.0, 12.0, 26.0]), np.array([0, 3, 4]), 2)
    12.0
    """
    place = int(np.searchsorted(tokens, wanted))
    return float(milliseconds[place]) if place < len(tokens) else None


def _tokens(trace: Trace, upto: int | None) -> np.ndarray:
    return np.array([len(item.emitted) for item in trace.rounds[:upto]], dtype=np.int64)


def _drafts(trace: Trace, upto: int | None) -> np.ndarray:
    return np.array([len(item.drafted) for item in trace.rounds[:upto]], dtype=np.int64)


def _climb(steps: np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(steps))).astype(steps.dtype)
