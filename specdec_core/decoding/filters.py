"""From logits to a law: temperature, top-k, top-p, min-p and the repetition penalty.

Speculative sampling works on the distributions that are really sampled from (Leviathan et
al. 2023, section 2.2), so the same settings shape both p and q, each place with its own
prefix, before anything else happens. The filters are batched over places and agree with
transformers' logits processors, which serve as their oracle in the tests.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from .types import Sampling


def law(logits: Tensor, sampling: Sampling, prefix: Sequence[int] = (), path: Sequence[int] = ()) -> Tensor:
    """The distribution that is sampled from at each place.

    Args:
        logits: float32 [P, V], one row a place, of consecutive places.
        sampling: what shapes them.
        prefix: tokens of the sequence before the first place.
        path: tokens at the places themselves; place i sees the first i of them.

    Returns:
        float64 [P, V], rows summing to 1. At temperature 0 each row is one-hot at the
        argmax, ties going to the lowest id.

    Example:
        >>> law(torch.tensor([[2.0, 1.0, 1.0]]).log(), Sampling(top_k=1))
        tensor([[1., 0., 0.]], dtype=torch.float64)
    """
    scores = penalised(logits, sampling.repetition_penalty, prefix, path)
    if sampling.greedy:
        return one_hot(scores.argmax(-1), scores.shape[-1])
    scores = scores.double() / sampling.temperature
    for keep in _filters(sampling):
        scores = keep(scores)
    return scores.softmax(-1)


def soft(logits: Tensor, sampling: Sampling) -> Tensor:
    """Softmax at the temperature, before filters, argmax and repetition penalty.

    Args:
        logits: float32 [P, V]. sampling: its temperature alone is looked at.

    Returns:
        float64 [P, V].

    At temperature 0 the softmax at temperature 1 stands in, for display only.

    Example:
        >>> soft(torch.tensor([[3.0, 1.0]]).log(), Sampling(temperature=0.0))
        tensor([[0.7500, 0.2500]], dtype=torch.float64)
    """
    return (logits.double() / (sampling.temperature or 1.0)).softmax(-1)


def one_hot(ids: Tensor, size: int) -> Tensor:
    """Distributions with all mass on one token each; float64 [P, size] from int64 [P]."""
    return torch.nn.functional.one_hot(ids, size).double()


def penalised(logits: Tensor, penalty: float, prefix: Sequence[int], path: Sequence[int]) -> Tensor:
    """Logits with those of tokens already seen at each place pushed down; [P, V] from [P, V].

    The penalty of Keskar et al. 2019 (arXiv 1909.05858, section 4.1): divide a positive
    logit, multiply a negative one. Place i has seen the prefix and the path before it.

    Example:
        >>> penalised(torch.tensor([[4.0, -1.0], [4.0, -1.0]]), 2.0, prefix=[0], path=[1])
        tensor([[ 2., -1.],
                [ 2., -2.]])
    """
    if penalty == 1.0:
        return logits
    seen = torch.zeros(logits.shape, dtype=torch.bool, device=logits.device)
    seen[:, list(prefix)] = True
    for place, token in enumerate(path[: len(logits) - 1]):
        seen[place + 1 :, token] = True
    return torch.where(seen, torch.where(logits > 0, logits / penalty, logits * penalty), logits)


def keep_top_k(scores: Tensor, k: int) -> Tensor:
    """Keep the k largest scores of each row, ties going to the lowest ids; others −inf.

    From float [P, V], logarithms of probabilities up to a constant, to the same shape and type,
    as with all three filters.

    Example:
        >>> keep_top_k(torch.tensor([[1.0, 3.0, 2.0, 2.0]]), 2)
        tensor([[-inf, 3., 2., -inf]])
    """
    if k >= scores.shape[-1]:
        return scores
    order = scores.argsort(dim=-1, descending=True, stable=True)
    return scores.scatter(-1, order[:, k:], -torch.inf)


def keep_top_p(scores: Tensor, top_p: float) -> Tensor:
    """Keep the fewest most probable tokens with mass of at least ``top_p``; float [P, V] to the same.

    Nucleus sampling (Holtzman et al. 2020, arXiv 1904.09751, section 3.1). The most
    probable token always stays; ties go to the lowest ids.

    Example:
        >>> keep_top_p(torch.tensor([[0.5, 0.3, 0.2]]).log(), 0.7).exp()
        tensor([[0.5000, 0.3000, 0.0000]])
    """
    order = scores.argsort(dim=-1, descending=True, stable=True)
    probs = scores.softmax(-1).gather(-1, order)
    before = probs.cumsum(-1) - probs
    drop = before >= top_p
    drop[:, 0] = False
    return scores.masked_fill(torch.zeros_like(drop).scatter(-1, order, drop), -torch.inf)


def keep_min_p(scores: Tensor, min_p: float) -> Tensor:
    """Keep tokens with at least ``min_p`` of the largest probability; float [P, V] to the same.

    Nguyen et al. 2024, arXiv 2407.01082.

    Example:
        >>> keep_min_p(torch.tensor([[0.6, 0.3, 0.1]]).log(), 0.4).exp()
        tensor([[0.6000, 0.3000, 0.0000]])
    """
    probs = scores.softmax(-1)
    return scores.masked_fill(probs < min_p * probs.amax(-1, keepdim=True), -torch.inf)


def _filters(sampling: Sampling) -> Iterator[Callable[[Tensor], Tensor]]:
    """The filters that are on, in the order in which transformers applies them."""
    if sampling.top_k:
        yield lambda scores: keep_top_k(scores, sampling.top_k)
    if sampling.top_p < 1.0:
        yield lambda scores: keep_top_p(scores, sampling.top_p)
    if sampling.min_p > 0.0:
        yield lambda scores: keep_min_p(scores, sampling.min_p)
