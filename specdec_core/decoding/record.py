"""From the evidence of rounds to their records.

The decoder hands every round's evidence to a recorder: ``FullRecorder`` keeps what the
explorer shows, ``NoRecorder`` keeps nothing, for benchmarks. A record costs a few percent
of a round, so everything is computed for all places at once, and where nobody waits for a
single round, for several rounds at once.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from .draws import intervals
from .evidence import Evidence
from .filters import soft
from .rows import alike, stacked, unstacked
from .rules import lacks_residual, overlap, residual
from .types import TOP, Places, Sampling, TopTokens

TOGETHER = 8
"""Most rounds that are recorded at once."""

VALUES = 2**18
"""Probabilities of p up to which they are: 2 MiB. Beyond, the calls cost little beside the arithmetic."""


class Recorder(Protocol):
    """Makes records of rounds, or none."""

    def together(self, evidence: Evidence) -> int:
        """How many rounds to hand over at once, if they are like this one and nobody waits for them."""
        ...

    def record(self, rounds: Sequence[Evidence]) -> Sequence[Places | None]:
        """The record of each round."""
        ...


class NoRecorder:
    """Keeps nothing."""

    def together(self, evidence: Evidence) -> int:
        return 1

    def record(self, rounds: Sequence[Evidence]) -> Sequence[None]:
        return [None] * len(rounds)


class FullRecorder:
    """Keeps what ``Places`` describes."""

    def together(self, evidence: Evidence) -> int:
        return max(1, min(TOGETHER, VALUES // evidence.target_probs.numel()))

    def record(self, rounds: Sequence[Evidence]) -> Sequence[Places]:
        groups = (list(group) for _, group in groupby(rounds, alike))
        return [places for group in groups for places in self._group(group)]

    def _group(self, rounds: Sequence[Evidence]) -> Iterator[Places]:
        return unstacked(self._places(stacked(rounds)), [len(each.ids) for each in rounds])

    def _places(self, evidence: Evidence) -> Places:
        """The record of n drafts and of all places, K and K + 1 for a single round."""
        count = len(evidence.ids)
        q, p = evidence.draft_probs, evidence.target_probs
        soft_q, soft_p = _soft_draft(evidence), _soft_target(evidence)
        # An argmax law is one-hot; what a reader wants to see then is the softmax behind it.
        hidden = evidence.sampling.greedy
        seen_q, seen_p = (soft_q, soft_p) if hidden else (q, p)
        shared = evidence.rule.replacement is residual and not hidden
        left = evidence.own_laws[:count] if shared else residual(seen_q, seen_p[:count])
        own_p, own_q = _own(p, evidence.ids), _own(q, evidence.ids)
        own_soft_p = own_p if soft_p is p else _own(soft_p, evidence.ids)
        stretches = _stretches(evidence)
        draft_entropy, target_entropy, kl = _information(seen_q, seen_p)
        beta = _numpy(overlap(q, evidence.drafted_probs))
        top_target, top_draft, top_residual = _tops(seen_p, seen_q, left)
        return Places(
            p=_column(own_p),
            q=_column(own_q),
            soft_p=_column(own_soft_p),
            soft_q=_column(own_q if soft_q is q else _own(soft_q, evidence.ids)),
            draft_u=evidence.proposal.u,
            accept_u=evidence.accept_u,
            correct_u=evidence.correct_u,
            replacement=_numpy(evidence.own).astype(np.int32),
            draft_interval=stretches[:count],
            replacement_interval=stretches[count:],
            overlap=beta,
            expected=_expected(evidence, beta),
            residual_fallback=_numpy(lacks_residual(q, evidence.drafted_probs)),
            target_entropy=target_entropy,
            draft_entropy=draft_entropy,
            kl=kl,
            rank=_ranks(soft_p[:count], own_soft_p, evidence.ids),
            gap=_gap(evidence.target_logits),
            top_target=top_target,
            top_draft=top_draft,
            top_residual=top_residual,
        )


def _stretches(evidence: Evidence) -> np.ndarray:
    """The interval behind each drafted token, then behind each of the target's own; float64 [2K+1, 2]."""
    q = evidence.draft_probs
    drafted = intervals(q, q.cumsum(-1), evidence.ids)
    own = intervals(evidence.own_laws, evidence.own_cumulative, evidence.own)
    return _numpy(torch.cat([drafted, own]))


def _expected(evidence: Evidence, beta: np.ndarray) -> np.ndarray:
    """Chance that the rule keeps a draft drawn at each place, β under the ratio test; float64 [K]."""
    if evidence.rule.expected is overlap:
        return beta
    return _numpy(evidence.rule.expected(evidence.draft_probs, evidence.drafted_probs))


def _information(q: Tensor, p: Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entropies of q and of p and the divergence KL(p‖q), in nats; float64 [K], [K+1] and [K]."""
    count, probs = len(q), torch.cat([q, p])
    logs = probs.log()
    own = _expected_logs(probs, logs)
    cross = _expected_logs(p[:count], logs[:count])
    return -own[:count], -own[count:], own[count : 2 * count] - cross


def _expected_logs(probs: Tensor, logs: Tensor) -> np.ndarray:
    """Σ probs·logs of each row, where 0·log 0 = 0 and x·log 0 = −∞; float64 [P]."""
    # 0·log 0 comes out as NaN, which the sum leaves out. Adding zero turns −0 into 0.
    return _numpy((probs * logs).nansum(-1)) + 0.0


def _tops(p: Tensor, q: Tensor, left: Tensor) -> tuple[TopTokens, TopTokens, TopTokens]:
    """The most probable tokens by p, by q and by the residual, ranked in one go.

    Args:
        p: float64 [K+1, V]. q, left: float64 [K, V], the draft's law and the residual.
    """
    count, places = len(q), len(p)
    values, best = most_probable(torch.cat([p, q, left]), min(TOP, p.shape[-1]))
    by_p, by_draft, by_left = best.split([places, count, count])
    rest = np.maximum(1.0 - _numpy(values.sum(-1)), 0.0)
    ids, ranked = _numpy(best).astype(np.int32), _numpy(values)
    of_p, of_q, of_left = slice(places), slice(places, places + count), slice(places + count, None)
    own, asked = p[:count], _numpy(q.gather(-1, by_p[:count]))
    return (
        TopTokens(ids[of_p], ranked[of_p], _padded(asked, places, np.nan), rest[of_p]),
        _at_drafts(places, ids[of_q], _numpy(own.gather(-1, by_draft)), ranked[of_q], rest[of_q]),
        _at_drafts(places, ids[of_left], *_both(own, q, by_left), rest[of_left]),
    )


def _both(p: Tensor, q: Tensor, ids: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """p and q of the same tokens."""
    return _numpy(p.gather(-1, ids)), _numpy(q.gather(-1, ids))


def _at_drafts(places: int, ids: np.ndarray, p: np.ndarray, q: np.ndarray, rest: np.ndarray) -> TopTokens:
    """A ranking of the drafted places; at a last one no draft was made, so there is none."""
    probs = (_padded(column, places, np.nan) for column in (p, q, rest))
    return TopTokens(_padded(ids, places, 0), *probs)


def _padded(rows: np.ndarray, count: int, fill: float) -> np.ndarray:
    """The rows, and after them so many of ``fill`` that there are ``count``."""
    missing = np.full_like(rows, fill, shape=(count - len(rows), *rows.shape[1:]))
    return np.concatenate([rows, missing])


def most_probable(probs: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The ``size`` largest entries of each row and their ids, by −value, then id.

    Args:
        probs: float64 [P, V].
        size: at most V.

    Returns:
        float64 [P, size] and int64 [P, size].

    Example:
        >>> most_probable(torch.tensor([[0.1, 0.3, 0.3, 0.3]]), 2)[1]
        tensor([[1, 2]])
    """
    values, ids = probs.topk(min(size + 1, probs.shape[-1]))
    # topk promises nothing about the order of equal values, nor which of them it takes.
    tied = values[:, 1:] == values[:, :-1]
    if bool(tied.any()):
        for row in tied.any(-1).nonzero().flatten().tolist():
            ids[row] = _lowest_first(probs[row], values[row, -1], ids.shape[-1])
    return values[:, :size], ids[:, :size]


def _lowest_first(probs: Tensor, least: Tensor, size: int) -> Tensor:
    """The ids of all values above ``least``, then so many of that value that there are ``size``.

    Most of a one-hot law is tied at 0; sorting all of a large vocabulary would take longer than a pass.
    """
    above, level = (probs > least).nonzero().flatten(), (probs == least).nonzero().flatten()
    order = probs[above].argsort(descending=True, stable=True)
    return torch.cat([above[order], level])[:size]


def _soft_target(evidence: Evidence) -> Tensor:
    """Softmax of the target at the temperature, before filters; float64 [K+1, V]."""
    if _unfiltered(evidence.sampling):
        return evidence.target_probs
    return soft(evidence.target_logits, evidence.sampling)


def _soft_draft(evidence: Evidence) -> Tensor:
    """The draft's softmax, [K, V]: its law if that is a softmax already, or if no logits stand behind it."""
    proposal = evidence.proposal
    drawn = _unfiltered(evidence.sampling) and not proposal.origin.one_hot
    if proposal.logits is None or drawn:
        return evidence.draft_probs
    return soft(proposal.logits.to(evidence.target_logits.device), evidence.sampling)


def _unfiltered(sampling: Sampling) -> bool:
    return sampling == Sampling(temperature=sampling.temperature or 1.0)


def _own(probs: Tensor, ids: Tensor) -> Tensor:
    """Each place's probability of its drafted token; float64 [K, 1]."""
    return probs[: len(ids)].gather(-1, ids.unsqueeze(-1))


def _ranks(probs: Tensor, own: Tensor, ids: Tensor) -> np.ndarray:
    """How many tokens stand before each id when sorted by −probability, then id; int32 [K]."""
    lower = torch.arange(probs.shape[-1], device=ids.device) < ids.unsqueeze(-1)
    before = torch.where(lower, probs >= own, probs > own)
    return _numpy(before.sum(-1)).astype(np.int32)


def _gap(logits: Tensor) -> np.ndarray:
    """Difference of the two largest logits of each place; float64 [K+1]."""
    best = _numpy(logits.topk(2).values).astype(np.float64)
    return best[:, 0] - best[:, 1]


def _column(values: Tensor) -> np.ndarray:
    return _numpy(values.squeeze(-1))


def _numpy(values: Tensor) -> np.ndarray:
    return values.cpu().numpy()
