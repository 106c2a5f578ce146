"""The places of several rounds as if they were one round's.

Every number of a record belongs to one place and is computed from that place alone. So rounds can
be recorded together: the operations are as many as for a single round, and at a small vocabulary
it is their number that costs.

The order of places is what makes this fit: first the drafted places of all rounds, n = ΣK of them,
then the last place of each of the R rounds. As in a single round, whatever has a row for each place
begins with the n rows that belong to drafts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor

from .evidence import Evidence
from .proposal import Proposal
from .types import Places, TopTokens


def stacked(rounds: Sequence[Evidence]) -> Evidence:
    """The evidence of rounds that were made alike, as one with n drafts and n + R places.

    Args:
        rounds: at least one; ``alike`` tells which belong together.

    Example:
        One round drafted token 1, the other tokens 0 and 1; 5 places in all:

        >>> from specdec_core.decoding.evidence import weigh
        >>> from specdec_core.decoding.rules import RULES
        >>> from specdec_core.decoding.types import DraftStop, RuleName, Sampling
        >>> def made(*ids):
        ...     q = torch.full((len(ids), 2), 0.5, dtype=torch.float64)
        ...     p = torch.full((len(ids) + 1, 2), 0.5, dtype=torch.float64)
        ...     u = np.zeros(len(ids) + 1)
        ...     proposal = Proposal(ids, q, q.log(), u[1:], (), DraftStop.GAMMA)
        ...     return weigh(RULES[RuleName.GREEDY], Sampling(), proposal, p.log(), p, u[1:], u)
        >>> both = stacked([made(1), made(0, 1)])
        >>> both.ids.tolist(), len(both.target_probs)
        ([1, 0, 1], 5)
    """
    if len(rounds) == 1:
        return rounds[0]
    draft_probs = torch.cat([each.draft_probs for each in rounds])
    return replace(
        rounds[0],
        proposal=_proposals([each.proposal for each in rounds], draft_probs),
        ids=torch.cat([each.ids for each in rounds]),
        draft_probs=draft_probs,
        target_probs=_last_places_last([each.target_probs for each in rounds]),
        target_logits=_last_places_last([each.target_logits for each in rounds]),
        accept_u=np.concatenate([each.accept_u for each in rounds]),
        correct_u=_last_of_each_last([each.correct_u for each in rounds]),
        passed=torch.cat([each.passed for each in rounds]),
        own_laws=_last_places_last([each.own_laws for each in rounds]),
        own_cumulative=_last_places_last([each.own_cumulative for each in rounds]),
        own=_last_places_last([each.own for each in rounds]),
    )


def alike(evidence: Evidence) -> tuple[object, ...]:
    """What rounds must share to be recorded together: one way to their laws."""
    proposal = evidence.proposal
    return evidence.rule, evidence.sampling, proposal.origin.one_hot, proposal.logits is None


def unstacked(places: Places, drafted: Sequence[int]) -> Iterator[Places]:
    """The record of each round, cut from that of all.

    Args:
        places: n drafts and n + R places, in the order of ``stacked``.
        drafted: K of each round, R numbers that add up to n.
    """
    if len(drafted) == 1:
        yield places
        return
    ends = list(accumulate(drafted))
    for number, (count, end) in enumerate(zip(drafted, ends, strict=True)):
        own = np.append(np.arange(end - count, end), ends[-1] + number)
        yield _taken(places, slice(end - count, end), own, ends[-1])


def _taken(places: Places, drafts: slice, all_places: np.ndarray, total: int) -> Places:
    """One round's rows of every column: its drafts' of those that have a row a draft, else its places'."""
    columns = {each.name: getattr(places, each.name) for each in fields(Places)}
    return Places(
        **{
            name: _of_places(column, all_places)
            if isinstance(column, TopTokens)
            else column[drafts if len(column) == total else all_places]
            for name, column in columns.items()
        }
    )


def _of_places(top: TopTokens, places: np.ndarray) -> TopTokens:
    return TopTokens(top.ids[places], top.p[places], top.q[places], top.rest[places])


def _proposals(rounds: Sequence[Proposal], probs: Tensor) -> Proposal:
    """All drafted tokens as one proposal; times and reasons to stop stay with the rounds."""
    # A proposal of nothing is made on the processor, wherever the models are.
    logits = [each.logits for each in rounds if each.ids and each.logits is not None]
    return replace(
        rounds[0],
        ids=sum((each.ids for each in rounds), ()),
        probs=probs,
        logits=torch.cat(logits) if logits else None,
        u=np.concatenate([each.u for each in rounds]),
        seconds=(),
    )


def _last_places_last(parts: Sequence[Tensor]) -> Tensor:
    return torch.cat([*(part[:-1] for part in parts), *(part[-1:] for part in parts)])


def _last_of_each_last(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([*(part[:-1] for part in parts), *(part[-1:] for part in parts)])
