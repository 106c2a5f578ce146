"""How long a training runs and what the learning rate is at each point of it.

A run is planned as a share of its budget, so that it always anneals to its end, whether
the budget is counted in tokens (reproducible) or in seconds (finishes on time).
"""

import math
from dataclasses import dataclass

WARM_UP = 0.02
DECAY = 0.5


@dataclass(frozen=True)
class Budget:
    """Tokens, seconds or both; whichever runs out first ends the run.

    Raises:
        ValueError: neither is given, or one of them is not above 0 and finite.
    """

    tokens: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        given = [limit for limit in (self.tokens, self.seconds) if limit is not None]
        if not given or not all(0 < limit < math.inf for limit in given):
            raise ValueError("a budget needs tokens or seconds, more than none and an end")

    def progress(self, tokens: int, seconds: float) -> float:
        """The share of the budget that is spent, from 0 to 1."""
        shares = [spent / limit for spent, limit in ((tokens, self.tokens), (seconds, self.seconds)) if limit]
        return min(1.0, max(shares))


def learning_rate_factor(progress: float, warm_up: float = WARM_UP, decay: float = DECAY) -> float:
    """A trapezoid: a short rise, a plateau, then a straight fall to almost nothing."""
    rise = min(1.0, (progress + 1e-3) / warm_up)
    fall = min(1.0, (1.0 - progress) / decay)
    return max(0.01, min(rise, fall))
