"""Where drafting stops paying: survival by place against what one more draft costs."""

from dataclasses import dataclass

import numpy as np

from specdec_core import theory
from specdec_core.traces.survival import Survival, survival
from specdec_core.traces.trace import Trace


@dataclass(frozen=True, eq=False)
class BreakEven:
    """Survival s_k and break-even b_k for k = 1..K, tokens E and costs D for k = 0..K.

    Attributes:
        places: survival by place, with intervals.
        tokens: float64 [K+1], E(k) = 1 + Σ_{j≤k} s_j, tokens of a round of k drafts.
        costs: float64 [K+1], D(k) = k·c + v(k), its time in tokens of plain decoding.
        line: float64 [K], b_k = E(k−1)·(D(k) − D(k−1)) / D(k−1): where s_k is above it, a k-th draft pays
            by itself. It looks one step ahead only.
        best: the k with the most tokens per time, argmax E(k)/D(k), of those measured.
    """

    places: Survival
    tokens: np.ndarray
    costs: np.ndarray
    line: np.ndarray
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
    tokens = theory.expected_tokens_per_place(places.rate)
    costs = theory.round_costs(trace.costs.c, trace.costs.verify_cost, len(places.rate))
    line, best = theory.break_even(tokens, costs), theory.best_length(tokens, costs)
    return BreakEven(places, tokens, costs, line, best)
