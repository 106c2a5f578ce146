"""From the evidence of one round to its record.

The decoder hands every round's evidence to a recorder: ``FullRecorder`` keeps what the
explorer shows, ``NoRecorder`` keeps nothing, for benchmarks. A record costs a few percent
of a round, so everything is computed for all places at once.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from .draws import intervals
from .filters import soft
from .proposal import Proposal
from .rules import Rule, lacks_residual, overlap, residual
from .types import TOP, Places, Sampling, TopTokens


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that one round knows about its K + 1 places.

    Attributes:
        rule: the verification rule in force.
        sampling: the settings that shaped both laws.
        proposal: the drafted tokens and how they were drawn.
        ids: int64 [K], the drafted tokens.
        draft_probs: float64 [K, V], q. target_probs: float64 [K+1, V], p.
        target_logits: float32 [K+1, V].
        accept_u: float64 [K]. correct_u: float64 [K+1].
        passed: bool [K], the rule's predicate at each place, tested or not.
    """

    rule: Rule
    sampling: Sampling
    proposal: Proposal
    ids: Tensor
    draft_probs: Tensor
    target_probs: Tensor
    target_logits: Tensor
    accept_u: np.ndarray
    correct_u: np.ndarray
    passed: Tensor

    def replacement_law(self, place: int) -> Tensor:
        """The law of the target's own token at one place; float64 [V]."""
        if place == len(self.ids):
            return self.target_probs[place]
        row = slice(place, place + 1)
        return self.rule.replacement(self.draft_probs[row], self.target_probs[row])[0]


class Recorder(Protocol):
    """Makes a record of a round's evidence, or none."""

    def record(self, evidence: Evidence) -> Places | None: ...


class NoRecorder:
    """Keeps nothing."""

    def record(self, evidence: Evidence) -> None:
        return None


class FullRecorder:
    """Keeps what ``Places`` describes."""

    def record(self, evidence: Evidence) -> Places:
        count = len(evidence.ids)
        q, p = evidence.draft_probs, evidence.target_probs
        drafted = evidence.ids.unsqueeze(-1)
        soft_q, soft_p = _softs(evidence)
        # An argmax law is one-hot; what a reader wants to see then is the softmax behind it.
        seen_q, seen_p = (soft_q, soft_p) if evidence.sampling.temperature == 0.0 else (q, p)
        replacement_laws = torch.cat([evidence.rule.replacement(q, p[:count]), p[count:]])
        replacement = _draws(replacement_laws, evidence.correct_u)
        target_entropy = torch.special.entr(seen_p).sum(-1)
        top_target, top_draft, top_residual = _tops(seen_p, seen_q)
        return Places(
            p=_column(p[:count], drafted),
            q=_column(q, drafted),
            soft_p=_column(soft_p[:count], drafted),
            soft_q=_column(soft_q, drafted),
            draft_u=evidence.proposal.u,
            accept_u=evidence.accept_u,
            correct_u=evidence.correct_u,
            replacement=_numpy(replacement).astype(np.int32),
            draft_interval=intervals(q, evidence.ids),
            replacement_interval=intervals(replacement_laws, replacement),
            overlap=_numpy(overlap(q, p[:count])),
            expected=_numpy(evidence.rule.expected(q, p[:count])),
            residual_fallback=_numpy(lacks_residual(q, p[:count])),
            target_entropy=_numpy(target_entropy),
            draft_entropy=_numpy(torch.special.entr(seen_q).sum(-1)),
            kl=_numpy(-target_entropy[:count] - torch.xlogy(seen_p[:count], seen_q).sum(-1)),
            rank=_ranks(soft_p[:count], drafted),
            gap=_gap(evidence.target_logits),
            top_target=top_target,
            top_draft=top_draft,
            top_residual=top_residual,
        )


def _tops(p: Tensor, q: Tensor) -> tuple[TopTokens, TopTokens, TopTokens]:
    """The most probable tokens by p, by q and by the residual, ranked in one go.

    Args:
        p: float64 [K+1, V]. q: float64 [K, V].
    """
    # No draft was made at the last place: its row in the other two rankings is blanked below.
    last = p[-1:]
    rankings = torch.stack([p, torch.cat([q, last]), torch.cat([residual(q, p[:-1]), last])])
    known_q = torch.cat([q, torch.full_like(last, torch.nan)])
    best = most_probable(rankings, min(TOP, p.shape[-1]))
    ids = _numpy(best).astype(np.int32)
    target = _numpy(p.expand_as(rankings).gather(-1, best))
    draft = _numpy(known_q.expand_as(rankings).gather(-1, best))
    rest = _numpy((1.0 - rankings.gather(-1, best).sum(-1)).clamp_min(0.0))
    ids[1:, -1], target[1:, -1], rest[1:, -1] = 0, np.nan, np.nan
    by_target, by_draft, by_residual = map(TopTokens, ids, target, draft, rest)
    return by_target, by_draft, by_residual


def most_probable(probs: Tensor, size: int) -> Tensor:
    """Ids of the ``size`` largest entries of each row, by −value, then id.

    Args:
        probs: float64 [..., V].
        size: at most V.

    Returns:
        int64 [..., size].

    Example:
        >>> most_probable(torch.tensor([[0.1, 0.3, 0.3, 0.3]]), 2)
        tensor([[1, 2]])
    """
    values, ids = probs.topk(min(size + 1, probs.shape[-1]))
    tied = (values[..., 1:] == values[..., :-1]).any(-1)
    # topk promises nothing about ties; a stable sort does, but costs more.
    if bool(tied.any()):
        ids[tied] = probs[tied].argsort(dim=-1, descending=True, stable=True)[:, : ids.shape[-1]]
    return ids[..., :size]


def _softs(evidence: Evidence) -> tuple[Tensor, Tensor]:
    """Softmax of both models at the temperature, before filters; [K, V] and [K+1, V]."""
    if _unfiltered(evidence.sampling):
        return evidence.draft_probs, evidence.target_probs
    logits = evidence.proposal.logits.to(evidence.target_logits.device)
    return soft(logits, evidence.sampling), soft(evidence.target_logits, evidence.sampling)


def _unfiltered(sampling: Sampling) -> bool:
    return sampling == Sampling(temperature=sampling.temperature or 1.0)


def _draws(laws: Tensor, u: np.ndarray) -> Tensor:
    """``draws.draw`` of each row with its own uniform; int64 [P]."""
    cumulative = laws.cumsum(-1)
    thresholds = cumulative[:, -1:] * torch.from_numpy(u).to(laws.device).unsqueeze(-1)
    return torch.searchsorted(cumulative, thresholds, right=True).squeeze(-1)


def _ranks(probs: Tensor, ids: Tensor) -> np.ndarray:
    """How many tokens stand before each id when sorted by −probability, then id; int32 [K]."""
    own = probs.gather(-1, ids)
    before = (probs > own).sum(-1)
    ties = (probs == own).sum(-1)
    for row in (ties > 1).nonzero().flatten().tolist():
        before[row] += (probs[row, : int(ids[row])] == own[row]).sum()
    return _numpy(before).astype(np.int32)


def _gap(logits: Tensor) -> np.ndarray:
    """Difference of the two largest logits of each place; float64 [K+1]."""
    best = logits.topk(2).values.double()
    return _numpy(best[:, 0] - best[:, 1])


def _column(probs: Tensor, ids: Tensor) -> np.ndarray:
    return _numpy(probs.gather(-1, ids).squeeze(-1))


def _numpy(values: Tensor) -> np.ndarray:
    return values.cpu().numpy()
