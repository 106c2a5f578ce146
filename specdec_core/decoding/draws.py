"""Every random choice as one recorded uniform, counted so that it can be made again.

A draw is keyed by (seed, branch) and counted by what it decides, never by how many draws
came before it. So any round can be replayed, forked or questioned without the rounds before
it, runs with another draft length stay comparable, and a visitor's draws do not depend on
who else uses the server.

The generator is Philox4x64-10 (Salmon et al. 2011, "Parallel Random Numbers: As Easy as
1, 2, 3"), as numpy has it. A uniform is the top 53 bits of the first word of one block.
"""

import numpy as np
import torch
from torch import Tensor

from .upload import upload

_DRAFT, _ACCEPT, _CORRECT = 1, 2, 3


class Draws:
    """The uniforms of one run.

    Args:
        seed: first half of the key, 0 to 2^64 - 1.
        branch: second half of the key; a fork of a run gets its own.

    Accept and correct draws are counted by (purpose, index in the sequence): a place is
    tested or corrected at most once, and exact match uses the same correct draws as plain
    decoding, so both give the same tokens. A draft draw is counted by (index, round),
    since a draft made again after a rejection must be fresh.

    Example:
        >>> draws = Draws(seed=7)
        >>> bool(draws.accept(10, 3)[2] == draws.accept(12, 1)[0])  # counted by index alone
        True
        >>> draws.draft(10, round=0) == draws.draft(10, round=1)
        False
    """

    def __init__(self, seed: int, branch: int = 0) -> None:
        self._key = np.array([seed, branch], dtype=np.uint64)

    def draft(self, index: int, round: int) -> float:
        """The uniform behind the draft's token at ``index`` in ``round``."""
        return float(self._uniforms(_DRAFT, index, 1, round)[0])

    def accept(self, index: int, count: int) -> np.ndarray:
        """The uniforms u of the accept tests at ``index`` and after; float64 [count]."""
        return self._uniforms(_ACCEPT, index, count)

    def correct(self, index: int, count: int) -> np.ndarray:
        """The uniforms of the target's own tokens at ``index`` and after; float64 [count]."""
        return self._uniforms(_CORRECT, index, count)

    def _uniforms(self, purpose: int, index: int, count: int, round: int = 0) -> np.ndarray:
        # numpy counts up before it makes a block, so block n follows counter n; consecutive
        # indices are consecutive blocks of four words, of which the first is used.
        counter = np.array([index, round, purpose, 0], dtype=np.uint64)
        words = np.random.Philox(counter=counter, key=self._key).random_raw(4 * count)[::4]
        return (words >> np.uint64(11)) * 2.0**-53


def draw(probs: Tensor, u: float) -> int:
    """The token that the uniform ``u`` picks from a distribution, in id order.

    Args:
        probs: float64 [V], need not be normalised.
        u: uniform in [0, 1).

    Returns:
        The first id whose cumulative mass exceeds ``u`` of the total. A token without
        probability is never picked.

    Example:
        >>> probs = torch.tensor([0.5, 0.0, 0.3, 0.2], dtype=torch.float64)
        >>> [draw(probs, u) for u in (0.0, 0.49, 0.5, 0.79, 0.81)]
        [0, 0, 2, 2, 3]
    """
    cumulative = probs.cumsum(0)
    threshold = (cumulative[-1] * u).reshape(1)
    return int(torch.searchsorted(cumulative, threshold, right=True))


def draw_each(cumulative: Tensor, u: np.ndarray) -> Tensor:
    """``draw`` for each row of a batch, with a uniform of its own.

    Args:
        cumulative: float64 [P, V], cumulative sums of one distribution a row.
        u: float64 [P].

    Returns:
        int64 [P].

    Example:
        >>> draw_each(torch.tensor([[0.5, 1.0], [0.2, 1.0]], dtype=torch.float64), np.array([0.4, 0.4]))
        tensor([0, 1])
    """
    thresholds = cumulative[:, -1:] * upload(u, cumulative.device).unsqueeze(-1)
    return torch.searchsorted(cumulative, thresholds, right=True).squeeze(-1)


def intervals(probs: Tensor, cumulative: Tensor, ids: Tensor) -> Tensor:
    """The stretch [lo, hi) of the cumulative distribution that draws each token.

    Args:
        probs: float64 [P, V], one distribution a row, rows of mass above 0.
        cumulative: float64 [P, V], their cumulative sums.
        ids: int64 [P], one token a row.

    Returns:
        float64 [P, 2]; ``draw(probs[i], u) == ids[i]`` just when lo ≤ u < hi, up to rounding.

    Example:
        >>> probs = torch.tensor([[0.5, 0.25, 0.25]], dtype=torch.float64)
        >>> intervals(probs, probs.cumsum(-1), torch.tensor([1]))
        tensor([[0.5000, 0.7500]], dtype=torch.float64)
    """
    tokens = ids.unsqueeze(-1)
    high = cumulative.gather(-1, tokens)
    low = high - probs.gather(-1, tokens)
    return torch.cat([low, high], dim=-1) / cumulative[:, -1:]
