"""Closed forms of speculative decoding, each with its source and a worked example.

Notation of Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding"
(arXiv 2211.17192), whose numbering is cited as "Theorem 3.8":

- α (``alpha``): chance that a drafted token is kept, E[Σ min(p, q)] under the ratio test;
- γ (``gamma``): tokens drafted in a round;
- c: time of a draft step over that of one token of plain decoding (section 3.3);
- v(γ) (``verify``): time of verifying γ drafts over that of one token of plain decoding; the
  paper takes it to be 1.

All times are in tokens of plain decoding. To the paper that is one target pass; measured, it is
the pass with the law and the draw (``CostTable``), so that v(0) need not be exactly 1. Where a
parameter is called an array, scalars and arrays of any shape may be mixed and broadcast; scalars
in give a numpy scalar out.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

LONGEST = 64
"""The longest draft looked at when the best one is sought; a closed form has no limit of its own."""


def expected_tokens(alpha: ArrayLike, gamma: ArrayLike) -> np.ndarray:
    """Tokens that one round emits on average, Equation (1): (1 − α^(γ+1)) / (1 − α).

    Every place is kept with the same chance and independently of the others; the token that the
    target adds itself counts. At α = 1 it is γ + 1, the limit.

    Args:
        alpha: array, from 0 to 1.
        gamma: array, 0 or more.

    Raises:
        ValueError: an argument lies outside its range.

    >>> float(expected_tokens(0.8, 5).round(4)), float(expected_tokens(1.0, 5))
    (3.6893, 6.0)
    >>> expected_tokens(0.5, [0, 1, 2, 3]).tolist()
    [1.0, 1.5, 1.75, 1.875]
    """
    alpha, gamma = _rate(alpha), _length(gamma)
    miss = 1.0 - alpha
    with np.errstate(divide="ignore", invalid="ignore"):
        # expm1 and log1p keep all digits near α = 1, where both sides of the fraction vanish.
        value = -np.expm1((gamma + 1) * np.log1p(-miss)) / miss
    return np.where(miss == 0, gamma + 1, value)[()]


def tokens_distribution(alpha: float, gamma: int) -> np.ndarray:
    """Chance that a round emits 1, 2, ..., γ + 1 tokens: float64 [γ+1].

    P(n) = α^(n−1)·(1 − α) for n ≤ γ and α^γ for γ + 1, a geometric law cut off at γ + 1
    (section 3.1, above Equation (1)).

    >>> tokens_distribution(0.5, 3).tolist()
    [0.5, 0.25, 0.125, 0.125]
    """
    alpha, gamma = float(_rate(alpha)), int(_length(gamma))
    reached = alpha ** np.arange(gamma + 1)
    return np.append(reached[:-1] * (1.0 - alpha), reached[-1])


def survival(rates: ArrayLike) -> np.ndarray:
    """Chance that the drafts up to each place are all kept: s_k = Π_{i≤k} rate_i, float64 [K].

    Args:
        rates: float [K], chance that a tested draft is kept at each place.

    >>> survival([0.8, 0.5, 0.5]).tolist()
    [0.8, 0.4, 0.2]
    """
    return np.cumprod(_rate(rates))


def expected_tokens_per_place(rates: ArrayLike) -> np.ndarray:
    """Tokens per round when each place has its own rate: E(k) = 1 + Σ_{j≤k} s_j, float64 [K+1].

    Equation (1) without the assumption that all places are alike: E(0) = 1 is the target's own
    token, and each place adds its chance to be reached and kept. Equal rates give Equation (1).

    >>> expected_tokens_per_place([0.8, 0.5, 0.5]).round(12).tolist()
    [1.0, 1.8, 2.2, 2.4]
    """
    return np.concatenate(([1.0], 1.0 + np.cumsum(survival(rates))))


def speedup(alpha: ArrayLike, gamma: ArrayLike, c: ArrayLike) -> np.ndarray:
    """Factor by which wall-clock time falls, Theorem 3.8: E(γ) / (γ·c + 1).

    A pass over γ + 1 tokens is taken to cost as much as one over a single token; where it does
    not, ``speedup_at_cost`` says what remains.

    Args:
        alpha, gamma, c: arrays; c is 0 or more.

    >>> float(speedup(0.75, 7, 0.02).round(2))
    3.16
    """
    return (expected_tokens(alpha, gamma) / (_length(gamma) * _cost(c) + 1))[()]


def speedup_at_cost(tokens: ArrayLike, gamma: ArrayLike, c: ArrayLike, verify: ArrayLike) -> np.ndarray:
    """Factor by which time per token falls: E / (γ·c + v(γ)).

    Theorem 3.8 with the measured price of verifying in place of 1, and any E: measured tokens per
    round, or a closed form.

    Args:
        tokens: array, E, tokens per round.
        gamma, c: arrays.
        verify: array, v(γ).

    >>> float(speedup_at_cost(3.0, 4, 0.15, 1.2).round(4))
    1.6667
    """
    return (np.asarray(tokens, dtype=np.float64) / (_length(gamma) * _cost(c) + _cost(verify)))[()]


def improves(alpha: ArrayLike, c: ArrayLike) -> np.ndarray:
    """Whether some γ makes decoding faster: if and only if α > c.

    Corollary 3.9 shows "if"; "only if" follows from E(γ) ≤ 1 + γ·α, hence S(γ) ≤ (1 + γα) / (1 + γc).

    >>> bool(improves(0.3, 0.2)), bool(improves(0.2, 0.2))
    (True, False)
    """
    return (_rate(alpha) > _cost(c))[()]


def least_improvement(alpha: ArrayLike, c: ArrayLike) -> np.ndarray:
    """What γ = 1 gives, and the best γ at least (Corollary 3.9): (1 + α) / (1 + c).

    >>> float(least_improvement(0.8, 0.2))
    1.5
    """
    return ((1 + _rate(alpha)) / (1 + _cost(c)))[()]


def operations_factor(alpha: ArrayLike, gamma: ArrayLike, c_ops: ArrayLike = 0.0) -> np.ndarray:
    """Factor by which arithmetic operations per token grow, Theorem 3.11: (γ·ĉ + γ + 1) / E(γ).

    Args:
        alpha, gamma: arrays.
        c_ops: array, ĉ, operations of the draft per token over those of the target.

    >>> float(operations_factor(0.8, 5).round(2))
    1.63
    """
    gamma = _length(gamma)
    return ((gamma * _cost(c_ops) + gamma + 1) / expected_tokens(alpha, gamma))[()]


def best_gamma(alpha: float, c: float, longest: int = LONGEST) -> int:
    """The γ with the largest speed-up of Theorem 3.8 (section 3.5), 0 where none helps.

    Of equals the shortest. Without a price (c = 0) longer is always better, so that the answer is
    ``longest``.

    >>> best_gamma(0.8, 0.1), best_gamma(0.2, 0.3), best_gamma(0.9, 0.0, longest=16)
    (6, 0, 16)
    """
    return int(np.argmax(speedup(alpha, np.arange(longest + 1), c)))


def longer_pays(alpha: ArrayLike, gamma: ArrayLike, c: ArrayLike) -> np.ndarray:
    """Whether γ + 1 drafts are faster than γ when v = 1: α^(γ+1)·(1 + γ·c) > c·E(γ).

    It follows from Theorem 3.8 by comparing S(γ + 1) with S(γ). The first γ for which it fails
    is the best one, since S rises and then falls; with a measured v it may rise again.

    >>> bool(longer_pays(0.8, 5, 0.1)), bool(longer_pays(0.8, 6, 0.1))
    (True, False)
    """
    gain = _rate(alpha) ** (_length(gamma) + 1) * (1 + _length(gamma) * _cost(c))
    return (gain > _cost(c) * expected_tokens(alpha, gamma))[()]


def round_costs(c: float, verify: Callable[[int], float] | Sequence[float], longest: int) -> np.ndarray:
    """D(k) = k·c + v(k), the time of a round of k drafts: float64 [longest+1].

    Args:
        verify: v as a function of the number of drafts, or its values for 0, 1, ..., longest.

    >>> round_costs(0.2, [1.0, 1.0, 1.5], 2).tolist()
    [1.0, 1.2, 1.9]
    """
    counts = range(longest + 1)
    prices = [float(verify(k) if callable(verify) else verify[k]) for k in counts]
    return np.arange(longest + 1) * float(_cost(c)) + np.array(prices)


def break_even(tokens: ArrayLike, costs: ArrayLike) -> np.ndarray:
    """Survival at which one more draft neither helps nor hurts: b_k for k = 1..K, float64 [K].

    b_k = E(k−1)·(D(k) − D(k−1)) / D(k−1): a round of k drafts is faster than one of k − 1 exactly
    if s_k > b_k, because E(k) = E(k−1) + s_k. It looks one step ahead only; where v(k) has a step
    the best γ may lie behind a place that does not pay (``best_length``).

    Args:
        tokens: float [K+1], E(k) for k = 0..K.
        costs: float [K+1], D(k).

    >>> break_even([1.0, 1.8, 2.2], [1.0, 1.2, 1.5]).round(4).tolist()
    [0.2, 0.45]
    """
    tokens, costs = np.asarray(tokens, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    return tokens[:-1] * np.diff(costs) / costs[:-1]


def best_length(tokens: ArrayLike, costs: ArrayLike) -> int:
    """The number of drafts k with the most tokens per time, argmax E(k)/D(k); of equals the least.

    Args:
        tokens, costs: float [K+1], E(k) and D(k) for k = 0..K.

    >>> best_length([1.0, 1.8, 2.2], [1.0, 1.2, 1.5])
    1
    """
    return int(np.argmax(np.asarray(tokens, dtype=np.float64) / np.asarray(costs, dtype=np.float64)))


def _rate(value: ArrayLike) -> np.ndarray:
    return _within(value, 0.0, 1.0, "an acceptance rate")


def _length(value: ArrayLike) -> np.ndarray:
    return _within(value, 0.0, np.inf, "a draft length")


def _cost(value: ArrayLike) -> np.ndarray:
    return _within(value, 0.0, np.inf, "a cost")


def _within(value: ArrayLike, low: float, high: float, name: str) -> np.ndarray:
    array = np.asarray(value, dtype=np.float64)
    if not np.all((array >= low) & (array <= high)):
        span = f"from {low:g} to {high:g}" if np.isfinite(high) else f"{low:g} or more"
        raise ValueError(f"{name} must be {span}; got {value!r}")
    return array
