"""Verification rules: when a drafted token is kept, and what the target says instead.

A rule is three pure functions. ``accept`` tests every place at once, tested or not, so that
the loop, the record and the display share one predicate. ``replacement`` gives the law of
the target's own token at each place: the correction had that place been the first to fail,
and at the last place the bonus. ``expected`` gives the chance that a draft is kept. Places are K
drafted tokens and one more.

All three rules leave the output exactly the target's: the ratio test in distribution
(Leviathan et al. 2023, Theorem 3.5 and appendix A.1), exact match token for token with
plain sampling from the same draws, greedy token for token with plain greedy decoding.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .draws import draw_each
from .filters import one_hot
from .types import RuleName
from .upload import upload

Accept = Callable[[Tensor, Tensor, Tensor, np.ndarray, np.ndarray], Tensor]
Replacement = Callable[[Tensor, Tensor], Tensor]
Expected = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Rule:
    """One way to verify drafts.

    Attributes:
        name: what it is called on screen and in records.
        accept: (ids int64 [K], draft_probs [K, V], target_probs [K+1, V], accept_u [K],
            correct_u [K+1]) -> bool [K], whether each place passes its test.
        replacement: (draft_probs [k, V], target_probs [k, V]) -> float64 [k, V], the law of
            the correction at each of k drafted places. A bonus is always drawn from p.
        expected: (draft_probs [K, V], target_probs [K, V]) -> float64 [K], chance that a
            token drawn from the draft passes.
    """

    name: RuleName
    accept: Accept
    replacement: Replacement
    expected: Expected


def ratio_accept(
    ids: Tensor, draft_probs: Tensor, target_probs: Tensor, accept_u: np.ndarray, correct_u: np.ndarray
) -> Tensor:
    """Keep while u·q < p: probability min(1, p/q) (Leviathan et al. 2023, algorithm 1).

    Multiplying by q instead of dividing by it needs no guard at q = 0, and the strict test
    never keeps a token that the target gives no probability, not even at u = 0.

    Example:
        >>> q = torch.tensor([[0.5, 0.5]], dtype=torch.float64)
        >>> p = torch.tensor([[0.2, 0.8], [0.5, 0.5]], dtype=torch.float64)
        >>> [bool(ratio_accept(torch.tensor([0]), q, p, np.array([u]), np.zeros(2))) for u in (0.39, 0.41)]
        [True, False]
    """
    q = draft_probs.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    p = target_probs[: len(ids)].gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    return upload(accept_u, q.device) * q < p


def residual(draft_probs: Tensor, target_probs: Tensor) -> Tensor:
    """What the target has left over, (p − q)₊ renormalised (Leviathan et al. 2023, section 2.3).

    Where p and q agree there is no mass left; p stands in, so that a draw is always possible.
    ``lacks_residual`` tells which rows those are.

    Example:
        >>> q = torch.tensor([[0.5, 0.3, 0.2]], dtype=torch.float64)
        >>> p = torch.tensor([[0.2, 0.4, 0.4]], dtype=torch.float64)
        >>> residual(q, p)
        tensor([[0.0000, 0.3333, 0.6667]], dtype=torch.float64)
    """
    left = (target_probs - draft_probs).clamp_min(0.0)
    mass = left.sum(-1, keepdim=True)
    return torch.where(mass > 0.0, left / mass, target_probs)


def lacks_residual(draft_probs: Tensor, target_probs: Tensor) -> Tensor:
    """Whether p exceeds q nowhere, so that the residual falls back to p; bool [K]."""
    return ~(target_probs > draft_probs).any(-1)


def overlap(draft_probs: Tensor, target_probs: Tensor) -> Tensor:
    """β = Σ min(p, q) = 1 − TV(p, q) of each place (Leviathan et al. 2023, Theorem 3.5); [K].

    Example:
        >>> overlap(torch.tensor([[0.5, 0.5]]), torch.tensor([[0.2, 0.8]]))
        tensor([0.7000])
    """
    return torch.minimum(draft_probs, target_probs).sum(-1)


def exact_match_accept(
    ids: Tensor, draft_probs: Tensor, target_probs: Tensor, accept_u: np.ndarray, correct_u: np.ndarray
) -> Tensor:
    """Draw the target's own token at each place and keep the draft while it is the same.

    Lossless at any temperature and simpler than the ratio test, but it keeps less: Σ p·q
    instead of Σ min(p, q). What llama.cpp and mlx-lm do.

    Example:
        >>> p = torch.tensor([[0.2, 0.8], [0.5, 0.5]], dtype=torch.float64)
        >>> bool(exact_match_accept(torch.tensor([1]), p[:1], p, np.zeros(1), np.array([0.3, 0.0])))
        True
    """
    return ids == draw_each(target_probs[: len(ids)].cumsum(-1), correct_u[: len(ids)])


def greedy_accept(
    ids: Tensor, draft_probs: Tensor, target_probs: Tensor, accept_u: np.ndarray, correct_u: np.ndarray
) -> Tensor:
    """Keep while the draft is the target's most probable token, ties going to the lowest id.

    Example:
        >>> p = torch.tensor([[0.2, 0.8], [0.5, 0.5]], dtype=torch.float64)
        >>> bool(greedy_accept(torch.tensor([0]), p[:1], p, np.zeros(1), np.zeros(2)))
        False
    """
    return ids == target_probs[: len(ids)].argmax(-1)


def target_law(draft_probs: Tensor, target_probs: Tensor) -> Tensor:
    """The correction is the target's own token: its law is p, whatever the draft proposed."""
    return target_probs


def target_argmax(draft_probs: Tensor, target_probs: Tensor) -> Tensor:
    """The correction is the target's most probable token; one-hot float64 [K, V]."""
    return one_hot(target_probs.argmax(-1), target_probs.shape[-1])


def match_chance(draft_probs: Tensor, target_probs: Tensor) -> Tensor:
    """Chance Σ p·q that independent draws from both agree; float64 [K]."""
    return (draft_probs * target_probs).sum(-1)


def argmax_chance(draft_probs: Tensor, target_probs: Tensor) -> Tensor:
    """Probability that the draft gives to the target's most probable token; float64 [K]."""
    return draft_probs.gather(-1, target_probs.argmax(-1, keepdim=True)).squeeze(-1)


RULES: dict[RuleName, Rule] = {
    rule.name: rule
    for rule in (
        Rule(RuleName.SPECULATIVE_SAMPLING, ratio_accept, residual, overlap),
        Rule(RuleName.GREEDY, greedy_accept, target_argmax, argmax_chance),
        Rule(RuleName.EXACT_MATCH, exact_match_accept, target_law, match_chance),
    )
}
"""What each verification rule does, by its name."""
