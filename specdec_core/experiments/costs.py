"""What a target pass over n tokens and one draft step cost on this machine."""

from collections.abc import Sequence
from statistics import median
from time import perf_counter

from specdec_core.decoding.draws import Draws
from specdec_core.decoding.proposal import DraftRequest
from specdec_core.decoding.types import Sampling
from specdec_core.drafting.model import ModelDrafter
from specdec_core.models.pair import Pair
from specdec_core.traces.trace import CostTable

TOKENS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 17)
"""Sizes of the passes that are measured; between them the cost is interpolated."""

CONTEXT = 96
"""Tokens in the caches meanwhile: about the middle of a usual run."""

REPEATS = 11
DRAFTED = 4
"""Draft steps in each repeat."""


def measure_costs(
    pair: Pair, *, tokens: Sequence[int] = TOKENS, context: int = CONTEXT, repeats: int = REPEATS
) -> CostTable:
    """Time target passes over n tokens and draft steps, interleaved, and take medians.

    Interleaving spreads a disturbance of the machine over all sizes instead of spoiling one.
    A draft step is measured as in a round, draw and record of the draw included. The device
    is held for one repeat at a time, so that others wait no longer than for a few rounds.

    Args:
        pair: the models.
        tokens: rising numbers of tokens in a pass; 1 is always measured.
        context: tokens in the caches before a pass; less where the models hold less.
        repeats: how many passes of each size.

    Returns:
        Medians in seconds.
    """
    sizes = tuple(sorted({1, *tokens}))
    bench = _Bench(pair, min(context, pair.info.target.context_length - sizes[-1] - DRAFTED - 2))
    with pair.runner.turn():
        bench.warm_up(sizes)
    for _ in range(repeats):
        with pair.runner.turn():
            bench.repeat(sizes)
    return bench.table(repeats)


class _Bench:
    """The caches and the times of one measurement."""

    def __init__(self, pair: Pair, context: int) -> None:
        self._pair, self.context = pair, context
        self._prompt = tuple(n % pair.info.vocab_size for n in range(1, context + 1))
        self._target = pair.target()
        self._drafter = ModelDrafter(pair.draft(), pair.info.draft.name)
        self._passes: dict[int, list[float]] = {}
        self._steps: list[float] = []

    def warm_up(self, sizes: Sequence[int]) -> None:
        """Fill the caches and make each pass once, unmeasured."""
        self._target.feed(self._prompt, keep=1)
        self._drafter.prefill(self._prompt[:-1])
        self.repeat(sizes)
        self._passes.clear()
        self._steps.clear()

    def repeat(self, sizes: Sequence[int]) -> None:
        """One pass of each size and the draft steps of a round."""
        for size in sizes:
            self._passes.setdefault(size, []).append(self._pass(size))
        self._steps += self._draft_steps()

    def table(self, repeats: int) -> CostTable:
        sizes = tuple(self._passes)
        times = tuple(median(self._passes[size]) for size in sizes)
        return CostTable(sizes, times, median(self._steps), self.context, repeats)

    def _pass(self, size: int) -> float:
        ids = self._prompt[:size] if size <= len(self._prompt) else self._prompt[:1] * size
        started = perf_counter()
        self._target.feed(ids, keep=size)
        seconds = perf_counter() - started
        self._target.rewind(self.context)
        return seconds

    def _draft_steps(self) -> tuple[float, ...]:
        request = DraftRequest(self._prompt, DRAFTED, Sampling(), Draws(0), 0, frozenset())
        seconds = self._drafter.propose(request).seconds
        self._drafter.observe(self.context)
        return seconds
