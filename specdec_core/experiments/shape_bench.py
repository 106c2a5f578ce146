"""What a device makes of larger pairs: time by size of pass, waits for the device, speed-ups.

Everything but whether a draft is kept is what a real pair would do: the drafter's steps, the
one pass of the target, laws, tests, draws and rewinding, in the decoder that the app runs.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from specdec_core import theory
from specdec_core.decoding.baseline import decode_plain, prefill_plain
from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.record import NoRecorder
from specdec_core.decoding.types import RoundSettings, RunSettings, Sampling
from specdec_core.drafting.model import ModelDrafter
from specdec_core.experiments.costs import CostBench
from specdec_core.experiments.shapes import ON_CPU, ON_GPU, ShapedPair, forced, sequence
from specdec_core.models.compiled import cannot_compile
from specdec_core.models.device_clock import clock_for
from specdec_core.models.errors import PairError
from specdec_core.models.machine import default_dtype, format_words
from specdec_core.models.runner import Runner
from specdec_core.traces.trace import CostTable

SIZES = tuple(range(1, 17))
ACCEPTANCES = (0.5, 0.7, 0.9)
MOST = 15
"""Longest draft that is looked at."""
PROMPT = tuple(range(2, 66))
RUN = RunSettings(PROMPT, max_new_tokens=48)
WAITING_ROUNDS, WAITING_GAMMA = 4, 4


@dataclass(frozen=True)
class ForcedRun:
    """Speculation at one acceptance rate, at the draft length that its costs make best.

    Attributes:
        acceptance: chance of each tested draft to be kept.
        gamma: the draft length.
        tokens_per_round: as it came out.
        measured: tokens per second over those of plain decoding.
        predicted: tokens_per_round / (γ·c + v(γ)).
    """

    acceptance: float
    gamma: int
    tokens_per_round: float
    measured: float
    predicted: float


@dataclass(frozen=True)
class ShapeResult:
    """What was measured of one pair.

    Attributes:
        title, parameters: of the pair; weights of target and draft.
        dtype: number format of the weights, and whether passes are compiled.
        costs: t(n) for 1 to 16 tokens, and the draft step.
        waits: times that the host waits for the device in a round of ``waits_gamma`` drafts; None
            on a device that does not work behind the host.
        runs: one for each acceptance rate.
    """

    title: str
    parameters: tuple[int, int]
    dtype: str
    costs: CostTable
    waits: float | None
    waits_gamma: int
    runs: tuple[ForcedRun, ...]


def bench_shapes(
    device: torch.device, dtype: torch.dtype | None = None, *, compiled: bool = False
) -> Iterator[ShapeResult]:
    """Measure every shaped pair that is meant for this kind of device, one at a time.

    Args:
        device: where they run.
        dtype: number format of their weights; the device's default if left out.
        compiled: whether their passes are compiled first, which takes minutes on a processor.

    Raises:
        PairError: passes cannot be compiled here; says why.
    """
    if compiled and (reason := cannot_compile(device)):
        raise PairError(reason)
    for pair in ON_GPU if device.type == "cuda" else ON_CPU:
        yield bench_shape(pair, device, dtype or default_dtype(device), compiled=compiled)


@torch.inference_mode()
def bench_shape(
    pair: ShapedPair, device: torch.device, dtype: torch.dtype, *, compiled: bool = False
) -> ShapeResult:
    """Measure one pair; its weights are made before and freed after."""
    stand = _Stand(pair, device, dtype, compiled)
    costs = stand.costs()
    return ShapeResult(
        title=pair.title,
        parameters=(pair.target.parameters(pair.vocab_size), pair.draft.parameters(pair.vocab_size)),
        dtype=format_words(dtype, compiled),
        costs=costs,
        waits=stand.waits() if device.type == "cuda" else None,
        waits_gamma=WAITING_GAMMA,
        runs=tuple(stand.forced(acceptance, costs) for acceptance in ACCEPTANCES),
    )


class _Stand:
    """The two models of a pair, used for one measurement after the other."""

    def __init__(self, pair: ShapedPair, device: torch.device, dtype: torch.dtype, compiled: bool) -> None:
        self._target, self._draft = (
            sequence(shape, pair.vocab_size, device, dtype, compiled=compiled)
            for shape in (pair.target, pair.draft)
        )
        self._clock = clock_for(device)

    def costs(self) -> CostTable:
        self._forget()
        bench = CostBench(self._target, self._drafter(), runner=Runner(), clock=self._clock)
        return bench.measure(SIZES, context=len(PROMPT))

    def forced(self, acceptance: float, costs: CostTable) -> ForcedRun:
        tokens = theory.expected_tokens(acceptance, range(MOST + 1))
        best = theory.best_length(tokens, theory.round_costs(costs.c, costs.verify_cost, MOST))
        gamma = max(best, 1)  # where drafting never pays, one draft shows by how much
        plain = self._seconds_per_token()
        rounds = list(self._decoder(acceptance).rounds(RoundSettings(gamma)))
        made, spent = sum(len(item.emitted) for item in rounds), sum(item.times.total for item in rounds)
        per_round = made / len(rounds)
        predicted = theory.speedup_at_cost(per_round, gamma, costs.c, costs.verify_cost(gamma))
        return ForcedRun(acceptance, gamma, per_round, plain * made / spent, float(predicted))

    def waits(self) -> float:
        """How often the host waits for the device in a round, by torch's own count."""
        decoder = self._decoder(acceptance=0.7)
        decoder.step(RoundSettings(WAITING_GAMMA))
        with _counted_waits() as seen:
            for _ in range(WAITING_ROUNDS):
                decoder.step(RoundSettings(WAITING_GAMMA))
        return len(seen) / WAITING_ROUNDS

    def _seconds_per_token(self) -> float:
        self._forget()
        prefill_plain(self._target, RUN, self._clock)
        made = list(decode_plain(self._target, RUN, Sampling()))
        return sum(token.seconds for token in made) / len(made)

    def _decoder(self, acceptance: float) -> Decoder:
        self._forget()
        decoder = Decoder(
            self._target, self._drafter(), RUN, NoRecorder(), clock=self._clock, rule=forced(acceptance)
        )
        decoder.prefill()
        return decoder

    def _drafter(self) -> ModelDrafter:
        return ModelDrafter(self._draft, "draft")

    def _forget(self) -> None:
        self._target.rewind(0)
        self._draft.rewind(0)


@contextmanager
def _counted_waits() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield seen
        finally:
            torch.cuda.set_sync_debug_mode("default")
