"""What became of the drafts: counts and the ratios made of them.

Three acceptances are kept apart, because engines mean different ones by "acceptance rate":

- kept of tested = accepted / tested: what the rule did with the drafts that it looked at;
- kept of drafted = accepted / drafted: what vLLM, llama.cpp and TensorRT-LLM call the draft
  acceptance rate; it falls with γ by arithmetic alone, because drafts after a rejection count;
- overlap β = Σ min(p, q) of one place (Leviathan et al. 2023, Definition 3.1 and Theorem 3.5),
  whose mean estimates α.

A draft that was not needed, because the run ended before it, is in none of the denominators.
Every function looks at the first ``upto`` rounds of a trace, or all; a ratio is None where nothing
was counted. The examples speak of three rounds of γ = 4: four drafts kept and a bonus; one kept,
the second rejected and corrected, two not tested; one kept, with which the run ended, three not
needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from specdec_core.decoding.types import Round, Source, Verdict
from specdec_core.traces.shares import divided, ratio, wilson
from specdec_core.traces.trace import Trace


@dataclass(frozen=True)
class Counts:
    """Everything that is counted, kept as counts.

    In the example: rounds 3, drafted 9, tested 7, accepted 6, rejected 1, not_tested 2,
    not_needed 3, emitted 8, corrections 1, bonuses 1, clipped 0.

    Attributes:
        rounds: rounds, each with exactly one target pass.
        drafted: tokens proposed, without those not needed; tested + not_tested.
        tested: drafts accepted or rejected.
        accepted: drafts kept and emitted.
        not_tested: drafts after a rejection.
        not_needed: drafts after the end of the run.
        emitted: tokens added to the text: accepted + corrections + bonuses.
        corrections, bonuses: tokens that the target added itself.
        clipped: tokens that passed but lie after the end of the run.
    """

    rounds: int
    drafted: int
    tested: int
    accepted: int
    not_tested: int
    not_needed: int
    emitted: int
    corrections: int
    bonuses: int
    clipped: int

    @property
    def rejected(self) -> int:
        return self.tested - self.accepted

    @property
    def target_passes(self) -> int:
        """Passes of the target over drafts; the pass over the prompt is not one of them."""
        return self.rounds


@lru_cache(maxsize=8)
def counts(trace: Trace, upto: int | None = None) -> Counts:
    """Count the verdicts and sources of the first ``upto`` rounds; the last few counts are remembered."""
    rounds = trace.rounds[:upto]
    verdicts = np.bincount(_joined([item.verdicts for item in rounds]), minlength=len(Verdict))
    sources = np.bincount(_joined([item.sources for item in rounds]), minlength=len(Source))
    accepted, rejected, not_tested, not_needed = (int(verdicts[verdict]) for verdict in Verdict)
    return Counts(
        rounds=len(rounds),
        drafted=accepted + rejected + not_tested,
        tested=accepted + rejected,
        accepted=accepted,
        not_tested=not_tested,
        not_needed=not_needed,
        emitted=int(sources.sum()),
        corrections=int(sources[Source.CORRECTION]),
        bonuses=int(sources[Source.BONUS]),
        clipped=sum(item.clipped for item in rounds),
    )


def kept_of_tested(trace: Trace, upto: int | None = None) -> float | None:
    """accepted / tested; in the example 6 / 7. An estimate of α for runs without a record.

    Under equal, independent places it is the maximum-likelihood estimate of α, since a round is
    tested until its first failure (a geometric law cut off at γ).
    """
    found = counts(trace, upto)
    return ratio(found.accepted, found.tested)


def kept_of_drafted(trace: Trace, upto: int | None = None) -> float | None:
    """accepted / drafted; in the example 6 / 9: drafts not tested count, drafts not needed do not."""
    found = counts(trace, upto)
    return ratio(found.accepted, found.drafted)


def tokens_per_round(trace: Trace, upto: int | None = None) -> float | None:
    """emitted / rounds, corrections and bonuses included; in the example 8 / 3.

    Leviathan et al.'s expected tokens per iteration (Equation 1), and what vLLM calls mean
    acceptance length, except that clipped tokens do not count and rounds that drafted nothing do.
    """
    found = counts(trace, upto)
    return ratio(found.emitted, found.rounds)


def most_tokens_per_round(trace: Trace, upto: int | None = None) -> float | None:
    """The most that ``tokens_per_round`` could be: the mean of γ + 1 over rounds; in the example 5."""
    rounds = trace.rounds[:upto]
    return ratio(sum(item.settings.gamma + 1 for item in rounds), len(rounds))


def mean_overlap(trace: Trace, upto: int | None = None) -> float | None:
    """Mean β = Σ min(p, q) over tested places: the estimate of α (Leviathan et al. 2023, Corollary 3.6).

    It is made of p and q themselves and so has less noise than the verdicts. Tested places with β of
    0.9, 0.6 and 0.6 give 0.7. None for a run without a record.
    """
    return _mean_at_tested(trace.rounds[:upto], "overlap")


def mean_expected(trace: Trace, upto: int | None = None) -> float | None:
    """Mean chance that the rule in force keeps a draft, over tested places.

    Σ min(p, q) under the ratio test, Σ p·q under exact match, 0 or 1 under greedy: α for the rule
    that ran. None for a run without a record.
    """
    return _mean_at_tested(trace.rounds[:upto], "expected")


def accepted_histogram(trace: Trace, upto: int | None = None) -> np.ndarray:
    """Rounds with exactly 0, 1, ... accepted drafts, int64 [largest K + 1]; in the example 0, 2, 0, 0, 1."""
    verdicts, ends = _verdicts(trace.rounds[:upto])
    accepted = np.diff(_so_far(verdicts == Verdict.ACCEPTED, ends), prepend=0)
    longest = int(np.diff(ends, prepend=0).max(initial=0))
    return np.bincount(accepted, minlength=longest + 1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Running:
    """How the acceptances developed, one entry a round; NaN where nothing was counted yet.

    Attributes:
        accepted, tested, drafted: int64 [R], counts of all rounds so far.
        kept_of_tested, kept_of_drafted: float64 [R], their ratios.
        low, high: float64 [R], 95 % Wilson interval of ``kept_of_tested``. It takes the places to be
            independent; real ones are not quite, so it is somewhat too narrow.
        overlap: float64 [R], mean β over the tested places so far.
        tokens_per_round: float64 [R], tokens so far over rounds so far.
        emitted: int64 [R], tokens of each round alone.
        most: int64 [R], γ + 1 of each round: the most tokens it could have emitted.
    """

    accepted: np.ndarray
    tested: np.ndarray
    drafted: np.ndarray
    kept_of_tested: np.ndarray
    kept_of_drafted: np.ndarray
    low: np.ndarray
    high: np.ndarray
    overlap: np.ndarray
    tokens_per_round: np.ndarray
    emitted: np.ndarray
    most: np.ndarray


def running(trace: Trace, upto: int | None = None) -> Running:
    """The acceptances after each round, for the charts; the last entry is the figure itself.

    In the example kept of tested runs 4/4, 5/6, 6/7 and kept of drafted 4/4, 5/8, 6/9.
    """
    rounds = trace.rounds[:upto]
    verdicts, ends = _verdicts(rounds)
    accepted = _so_far(verdicts == Verdict.ACCEPTED, ends)
    tested = _so_far(verdicts <= Verdict.REJECTED, ends)
    drafted = _so_far(verdicts != Verdict.NOT_NEEDED, ends)
    overlaps, known = _at_tested(rounds, "overlap")
    emitted = np.array([len(item.emitted) for item in rounds], dtype=np.int64)
    low, high = wilson(accepted, tested)
    return Running(
        accepted=accepted,
        tested=tested,
        drafted=drafted,
        kept_of_tested=divided(accepted, tested),
        kept_of_drafted=divided(accepted, drafted),
        low=low,
        high=high,
        overlap=divided(_so_far(np.where(known, overlaps, 0.0), ends), _so_far(known, ends)),
        tokens_per_round=divided(np.cumsum(emitted), np.arange(1, len(rounds) + 1)),
        emitted=emitted,
        most=np.array([item.settings.gamma + 1 for item in rounds], dtype=np.int64),
    )


def _verdicts(rounds: Sequence[Round]) -> tuple[np.ndarray, np.ndarray]:
    """The verdicts of all rounds in a row, int64 [n], and where each round ends in it, int64 [R]."""
    columns = [item.verdicts for item in rounds]
    return _joined(columns), np.cumsum([len(column) for column in columns], dtype=np.int64)


def _so_far(values: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Sums of all values up to the end of each round; [R]."""
    return np.concatenate(([0], np.cumsum(values)))[ends]


def _at_tested(rounds: Sequence[Round], column: str) -> tuple[np.ndarray, np.ndarray]:
    """A column of the record at all drafts in a row, float64 [n], and which of them were tested and
    recorded, bool [n]."""
    values = _joined(
        [
            np.full(len(item.drafted), np.nan) if item.places is None else getattr(item.places, column)
            for item in rounds
        ],
        np.float64,
    )
    return values, (_verdicts(rounds)[0] <= Verdict.REJECTED) & ~np.isnan(values)


def _mean_at_tested(rounds: Sequence[Round], column: str) -> float | None:
    values, known = _at_tested(rounds, column)
    return ratio(float(values[known].sum()), int(known.sum()))


def _joined(columns: list[np.ndarray], dtype: type = np.int64) -> np.ndarray:
    return np.concatenate(columns).astype(dtype) if columns else np.empty(0, dtype=dtype)
