"""What a benchmark's raw times say: medians, paired ratios with intervals, predictions, goals.

A ratio compares two runs of the same prompt in the same repetition, made moments apart, and is
then summed up by the median over all such pairs. So a slow minute of the machine enters both
sides, and one disturbed run moves nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import comb
from statistics import median
from typing import Any

from specdec_core.theory import expected_tokens, speedup_at_cost
from specdec_core.traces.trace import Machine, PairInfo

from .bench_plan import BENCH_VERSION, DRAFTING, BenchResult, Job, Measurement, Mode, Way, jobs


@dataclass(frozen=True)
class Ratio:
    """A median over runs or pairs of runs and an interval for it.

    Attributes:
        median, low, high: see ``median_interval``.
        pairs: how many.
    """

    median: float
    low: float
    high: float
    pairs: int


@dataclass(frozen=True)
class Row:
    """One way at one draft length, summed up.

    Attributes:
        speed: median of new tokens per second, reading the prompt included.
        versus_plain: speed over that of ``Way.PLAIN``.
        versus_assisted: speed over that of ``Way.ASSISTED`` at the same draft length.
        tokens_per_pass: E, new tokens over target passes, all runs together.
        alpha: estimate of the acceptance rate α: mean β over tested places when sampling,
            kept of tested when greedy.
        measured: as ``versus_plain``, without the reading of the prompt on either side.
        predicted: E / (γ·c + v(γ)) with E as measured.
        predicted_closed: the same with E = (1 − α^(γ+1)) / (1 − α)
            (Leviathan et al. 2023, equation 1).
    """

    job: Job
    speed: float
    versus_plain: Ratio
    versus_assisted: Ratio | None = None
    tokens_per_pass: float | None = None
    alpha: float | None = None
    measured: Ratio | None = None
    predicted: float | None = None
    predicted_closed: float | None = None


@dataclass(frozen=True)
class Goal:
    """One thing the decoder should reach.

    Attributes:
        text: what should hold.
        value: what was measured.
        wanted: the bound.
        least: the value must be at least the bound; otherwise at most.
        where: what the value belongs to.
    """

    text: str
    value: float
    wanted: float
    least: bool
    where: str

    @property
    def met(self) -> bool:
        return self.value >= self.wanted if self.least else self.value <= self.wanted


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float, float]:
    """Median of independent values and an interval that holds the true one.

    The interval runs from the k-th smallest to the k-th largest value, with the largest k whose
    coverage 1 − 2·P(Binomial(n, ½) < k) is at least ``confidence``; it assumes no distribution
    (Conover 1999, section 3.2). Under six values no interval reaches 95 %: the range stands in.

    Example:
        >>> median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
        (5.0, 2.0, 8.0)
    """
    ordered, n = sorted(values), len(values)
    k, below = 1, 1 / 2**n  # P(Binomial(n, ½) < k)
    while k < n - k and below + comb(n, k) / 2**n <= (1 - confidence) / 2:
        below += comb(n, k) / 2**n
        k += 1
    return median(ordered), ordered[k - 1], ordered[n - k]


def whole_speed(run: Measurement) -> float:
    """Tokens per second of the whole run."""
    return run.tokens / run.seconds


def decode_speed(run: Measurement) -> float:
    """Tokens per second after the prompt was read; only for this project's own loops."""
    return run.tokens / (run.seconds - run.prefill)


def paired_ratio(
    result: BenchResult, job: Job, other: Job, speed: Callable[[Measurement], float] = whole_speed
) -> Ratio:
    """Speed of one job over that of another, paired by prompt and repetition."""
    ratios = _ratios(result, job, other, speed)
    return Ratio(*median_interval(ratios), len(ratios))


def _ratios(
    result: BenchResult, job: Job, other: Job, speed: Callable[[Measurement], float]
) -> list[float]:
    ours, theirs = _by_pair(result, job), _by_pair(result, other)
    return [speed(ours[pair]) / speed(theirs[pair]) for pair in ours]


def _by_pair(result: BenchResult, job: Job) -> dict[tuple[int, int], Measurement]:
    return {(run.prompt, run.repeat): run for run in result.measurements if run.job == job}


def rows(result: BenchResult) -> list[Row]:
    """One row for each way and draft length, in the order of ``jobs``."""
    return [_row(result, job) for job in jobs(result.settings.gammas)]


def _row(result: BenchResult, job: Job) -> Row:
    plain, assisted = Job(Way.PLAIN, job.mode), Job(Way.ASSISTED, job.mode, job.gamma)
    speed = median(whole_speed(run) for run in _by_pair(result, job).values())
    against_assisted = paired_ratio(result, job, assisted) if job.way in DRAFTING else None
    base = {
        "job": job,
        "speed": speed,
        "versus_plain": paired_ratio(result, job, plain),
        "versus_assisted": against_assisted,
    }
    if job.way not in (Way.SPECULATIVE, Way.RECORDED):
        return Row(**base)
    return Row(**base, **_prediction(result, job), measured=paired_ratio(result, job, plain, decode_speed))


def _prediction(result: BenchResult, job: Job) -> dict[str, float]:
    runs = _by_pair(result, job).values()
    expected = sum(run.tokens for run in runs) / sum(run.passes for run in runs)
    alpha = _alpha(result, job)
    c, verify = result.costs.c, result.costs.verify_cost(job.gamma)
    closed = expected_tokens(alpha, job.gamma)
    return {
        "tokens_per_pass": expected,
        "alpha": alpha,
        "predicted": float(speedup_at_cost(expected, job.gamma, c, verify)),
        "predicted_closed": float(speedup_at_cost(closed, job.gamma, c, verify)),
    }


def _alpha(result: BenchResult, job: Job) -> float:
    # Recorded and unrecorded runs have the same seeds and so the same rounds.
    runs = _by_pair(result, Job(Way.RECORDED, job.mode, job.gamma)).values()
    agreed = sum(run.overlap if job.mode is Mode.SAMPLED else run.accepted for run in runs)
    return agreed / sum(run.tested for run in runs)


def recording_share(result: BenchResult) -> Ratio:
    """Share of a recorded run's rounds that went into records, by the clock around the recorder.

    What recording costs a run as a whole, caches that it cools included, is to be seen in the rows of
    ``Way.RECORDED`` beside those of ``Way.SPECULATIVE``; there it drowns in the differences between runs.
    """
    runs = [run for run in result.measurements if run.job.way is Way.RECORDED]
    shares = [run.record / (run.record + _decoding(run)) for run in runs]
    return Ratio(*median_interval(shares), len(shares))


def _decoding(run: Measurement) -> float:
    """Seconds of a run's rounds, records aside."""
    return run.draft + run.verify + run.sample + run.other


def best(ours: Sequence[Row], mode: Mode) -> Row:
    """The fastest draft length in one mode."""
    return max((row for row in ours if row.job.mode is mode), key=lambda row: row.versus_plain.median)


def goals(result: BenchResult) -> list[Goal]:
    """What the decoder should reach; where several draft lengths count, the worst one is judged."""
    ours = [row for row in rows(result) if row.job.way is Way.SPECULATIVE]
    slowest = min(ours, key=lambda row: row.versus_assisted.median)
    farthest = max(ours, key=prediction_error)
    assisted, error = slowest.versus_assisted.median, prediction_error(farthest)
    return [
        Goal("times transformers' assisted generation", assisted, 1.15, True, f"worst: {where(slowest.job)}"),
        *(_speed_goal(best(ours, mode)) for mode in Mode),
        Goal("share of a round spent recording", recording_share(result).median, 0.05, False, "all runs"),
        Goal("prediction off the measured speed-up by", error, 0.10, False, f"worst: {where(farthest.job)}"),
    ]


def _speed_goal(row: Row) -> Goal:
    return Goal("times plain decoding", row.versus_plain.median, 1.4, True, f"best: {where(row.job)}")


def prediction_error(row: Row) -> float:
    """How far the prediction from the measured E lies from the measured speed-up, relative to it."""
    return abs(row.predicted / row.measured.median - 1)


def where(job: Job) -> str:
    return f"{job.mode}, γ = {job.gamma}"


def to_json(result: BenchResult, pair: PairInfo, machine: Machine) -> dict[str, Any]:
    """Everything measured and derived as plain values; ``measurements`` are the raw runs."""
    return {
        "version": BENCH_VERSION,
        "pair": asdict(pair),
        "machine": asdict(machine),
        "settings": asdict(result.settings),
        "costs": {**asdict(result.costs), "c": result.costs.c},
        "recording": asdict(recording_share(result)),
        "measurements": [asdict(run) for run in result.measurements],
        "rows": [asdict(row) for row in rows(result)],
        "goals": [{**asdict(goal), "met": goal.met} for goal in goals(result)],
    }
