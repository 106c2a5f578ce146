"""Where drafting stops paying: survival by place against what one more draft costs."""

from dataclasses import dataclass, replace

import numpy as np

from specdec_core import theory
from specdec_core.traces.survival import Survival, survival
from specdec_core.traces.trace import CostTable, Trace


@dataclass(frozen=True, eq=False)
class BreakEven:
    """Survival s_k and break-even b_k for k = 1..K, tokens E and costs D for k = 0..K.

    Attributes:
        places: survival by place, with intervals.
        tokens: float64 [K+1], E(k) = 1 + Σ_{j≤k} s_j, tokens of a round of k drafts.
        costs: float64 [K+1], D(k) = k·c + v(k), its time in tokens of plain decoding; v from the fit
            (``rising``) of the times measured.
        line: float64 [K], b_k = E(k−1)·(D(k) − D(k−1)) / D(k−1): where s_k is above it, a k-th draft pays
            by itself. It looks one step ahead only.
        measured: float64 [K], the same with the times as measured. Noise of a hundredth in t(n) moves it by
            a tenth and more, since it is made of their differences.
        best: the k with the most tokens per time, argmax E(k)/D(k), of those measured.
    """

    places: Survival
    tokens: np.ndarray
    costs: np.ndarray
    line: np.ndarray
    measured: np.ndarray
    best: int

    @property
    def speedups(self) -> np.ndarray:
        """E(k)/D(k) for k = 0..K: the speed-up over plain decoding at each draft length."""
        return self.tokens / self.costs


def break_even(trace: Trace, upto: int | None = None) -> BreakEven | None:
    """Survival, break-even line and best draft length; None without a cost table or tested drafts.

    With s = (0.8, 0.4), c = 0.2 and v = (1, 1, 1.1): E = (1, 1.8, 2.2), D = (1, 1.2, 1.5),
    b = (0.2, 0.45), and the best length is 1, since 1.8/1.2 = 1.5 and 2.2/1.5 = 1.47.
    """
    places = survival(trace, upto)
    if trace.costs is None or not len(places.tested):
        return None
    tokens, longest = theory.expected_tokens_per_place(places.rate), len(places.rate)
    measured = theory.round_costs(trace.costs.c, trace.costs.verify_cost, longest)
    costs = theory.round_costs(trace.costs.c, rising(trace.costs).verify_cost, longest)
    return BreakEven(
        places,
        tokens,
        costs,
        line=theory.break_even(tokens, costs),
        measured=theory.break_even(tokens, measured),
        best=theory.best_length(tokens, costs),
    )


def rising(costs: CostTable) -> CostTable:
    """The table with times of passes that never fall as n grows: no machine is faster at more work.

    Isotonic regression (Barlow et al. 1972), the rising sequence nearest to the times measured by least
    squares: neighbours that fall share their mean (pool adjacent violators). Times of 6, 8, 7 and 9 ms
    become 6, 7.5, 7.5 and 9. Tests and draw are put to the pass.
    """
    blocks: list[tuple[float, int]] = []
    for seconds in np.add(costs.target, costs.rest):
        mean, size = float(seconds), 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean, size = (mean * size + before * count) / (size + count), size + count
        blocks.append((mean, size))
    fitted = tuple(mean for mean, size in blocks for _ in range(size))
    return replace(costs, target=fitted, rest=(0.0,) * len(fitted))
