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
        log_p, log_q = _logs(seen_p), _logs(seen_q)
        return Places(
            p=_column(p[:count], drafted),
            q=_column(q, drafted),
            soft_p=_column(soft_p[:count], drafted),
            soft_q=_column(soft_q, drafted),
            draft_u=evidence.proposal.u,
            accept_u=evidence.accept_u,
            correct_u=evidence.correct_u,
            replacement=replacement.cpu().numpy().astype(np.int32),
            draft_interval=intervals(q, evidence.ids),
            replacement_interval=intervals(replacement_laws, replacement),
            overlap=_numpy(overlap(q, p[:count])),
            expected=_numpy(evidence.rule.expected(q, p[:count])),
            residual_fallback=_numpy(lacks_residual(q, p[:count])),
            target_entropy=_numpy(-(seen_p * log_p).sum(-1)),
            draft_entropy=_numpy(-(seen_q * log_q).sum(-1)),
            kl=_divergence(seen_p[:count], seen_q, log_p[:count], log_q),
            rank=_ranks(soft_p[:count], drafted),
            gap=_gap(evidence.target_logits),
            top_target=top_tokens(seen_p, seen_p, seen_q),
            top_draft=top_tokens(seen_q, seen_p, seen_q),
            top_residual=top_tokens(residual(seen_q, seen_p[:count]), seen_p, seen_q),
        )


def top_tokens(ranking: Tensor, target_probs: Tensor, draft_probs: Tensor) -> TopTokens:
    """The ``TOP`` most probable tokens of each place under ``ranking``, ties by lowest id.

    Args:
        ranking: float64 [k, V], the distributions to rank by; places beyond k rank nothing.
        target_probs: float64 [K+1, V]. draft_probs: float64 [K, V].

    Example:
        >>> p = torch.tensor([[0.2, 0.4, 0.4]], dtype=torch.float64)
        >>> top_tokens(p, p, p[:0]).ids
        array([[1, 2, 0]], dtype=int32)
    """
    places, size = len(target_probs), min(TOP, target_probs.shape[-1])
    ids, rest = np.zeros((places, size), dtype=np.int64), np.full(places, np.nan)
    p, q = np.full((places, size), np.nan), np.full((places, size), np.nan)
    if ranked := len(ranking):
        best = _best(ranking, size)
        ids[:ranked] = best.cpu().numpy()
        rest[:ranked] = _numpy((1.0 - ranking.gather(-1, best).sum(-1)).clamp_min(0.0))
        p[:ranked] = _numpy(target_probs[:ranked].gather(-1, best))
        drafted = min(ranked, len(draft_probs))
        q[:drafted] = _numpy(draft_probs[:drafted].gather(-1, best[:drafted]))
    return TopTokens(ids.astype(np.int32), p, q, rest)


def _best(ranking: Tensor, size: int) -> Tensor:
    """Ids of the ``size`` largest of each row, by −value, then id; int64 [k, size]."""
    values, ids = ranking.topk(size)
    if bool(((ranking >= values[:, -1:]).sum(-1) > size).any()) or bool((values.diff() == 0.0).any()):
        # topk promises nothing about ties; a stable sort does, but costs more.
        return ranking.argsort(dim=-1, descending=True, stable=True)[:, :size]
    return ids


def _softs(evidence: Evidence) -> tuple[Tensor, Tensor]:
    """Softmax of both models at the temperature, before filters; [K, V] and [K+1, V]."""
    if _unfiltered(evidence.sampling):
        return evidence.draft_probs, evidence.target_probs
    logits = evidence.proposal.logits.to(evidence.target_logits.device)
    return soft(logits, evidence.sampling), soft(evidence.target_logits, evidence.sampling)


def _unfiltered(sampling: Sampling) -> bool:
    return sampling == Sampling(temperature=sampling.temperature or 1.0)


def _logs(probs: Tensor) -> Tensor:
    """Natural logarithms with 0 standing for log 0, as p·log p needs; float64 as given."""
    return torch.where(probs > 0.0, probs, 1.0).log()


def _divergence(p: Tensor, q: Tensor, log_p: Tensor, log_q: Tensor) -> np.ndarray:
    """KL(p‖q) in nats of each place, infinite where q misses mass of p; float64 [K]."""
    missed = ((p > 0.0) & (q == 0.0)).any(-1)
    return _numpy((p * (log_p - log_q)).sum(-1).masked_fill(missed, torch.inf))


def _draws(laws: Tensor, u: np.ndarray) -> Tensor:
    """``draws.draw`` of each row with its own uniform; int64 [P]."""
    cumulative = laws.cumsum(-1)
    thresholds = cumulative[:, -1:] * torch.from_numpy(u).to(laws.device).unsqueeze(-1)
    return torch.searchsorted(cumulative, thresholds, right=True).squeeze(-1)


def _ranks(probs: Tensor, ids: Tensor) -> np.ndarray:
    """How many tokens stand before each id when sorted by −probability, then id; int32 [K]."""
    own = probs.gather(-1, ids)
    positions = torch.arange(probs.shape[-1], device=probs.device)
    before = (probs > own) | ((probs == own) & (positions < ids))
    return before.sum(-1).cpu().numpy().astype(np.int32)


def _gap(logits: Tensor) -> np.ndarray:
    """Difference of the two largest logits of each place; float64 [K+1]."""
    best = logits.topk(2).values.double()
    return _numpy(best[:, 0] - best[:, 1])


def _column(probs: Tensor, ids: Tensor) -> np.ndarray:
    return _numpy(probs.gather(-1, ids).squeeze(-1))


def _numpy(values: Tensor) -> np.ndarray:
    return values.cpu().numpy()
