"""Shares of counts, and how sure they are."""

from statistics import NormalDist

import numpy as np

Z95 = NormalDist().inv_cdf(0.975)


def ratio(part: float, whole: float) -> float | None:
    """part / whole, None where nothing was counted: shown as "–", never as 0 or 100 %.

    >>> ratio(3, 4), ratio(0, 0)
    (0.75, None)
    """
    return part / whole if whole else None


def divided(part: np.ndarray | float, whole: np.ndarray | float) -> np.ndarray:
    """part / whole element by element, NaN where nothing was counted; float64.

    >>> divided(np.array([0, 3]), np.array([0, 4]))
    array([ nan, 0.75])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.asarray(part, dtype=np.float64) / whole
    return np.where(np.asarray(whole) > 0, share, np.nan)


def wilson(successes: np.ndarray | float, trials: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """95 % interval of a share (Wilson 1927), NaN where there were no trials; arrays are broadcast.

    >>> low, high = wilson(22, 28)
    >>> float(low.round(3)), float(high.round(3))
    (0.605, 0.898)
    """
    n = np.asarray(trials, dtype=np.float64)
    share = divided(successes, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (share + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
        half = Z95 / (1 + Z95**2 / n) * np.sqrt(share * (1 - share) / n + Z95**2 / (4 * n**2))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
