"""What one round knows about its K + 1 places once the target has read the drafts."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .draws import draw_each
from .proposal import Proposal
from .rules import Rule
from .types import Sampling
from .upload import upload


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that decides a round, and all that a record of it is made from.

    Every place is tested, and the target's own token is drawn at every place, whether the round
    gets there or not: on a GPU that costs less than to wait for the first result.

    Attributes:
        rule: the verification rule in force.
        sampling: the settings that shaped both laws.
        proposal: the drafted tokens and how they were drawn.
        ids: int64 [K], the drafted tokens.
        draft_probs: float64 [K, V], q. target_probs: float64 [K+1, V], p.
        target_logits: float32 [K+1, V].
        accept_u: float64 [K]. correct_u: float64 [K+1].
        passed: bool [K], the rule's predicate at each place.
        own_laws: float64 [K+1, V], the law of the target's own token at each place: the
            correction, had it been the first to fail; at the last place the bonus.
        own_cumulative: float64 [K+1, V], their cumulative sums.
        own: int64 [K+1], the tokens drawn from them.
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
    own_laws: Tensor
    own_cumulative: Tensor
    own: Tensor

    @property
    def drafted_probs(self) -> Tensor:
        """p at the places that have a draft; float64 [K, V]."""
        return self.target_probs[: len(self.ids)]


def weigh(
    rule: Rule,
    sampling: Sampling,
    proposal: Proposal,
    target_logits: Tensor,
    target_probs: Tensor,
    accept_u: np.ndarray,
    correct_u: np.ndarray,
) -> Evidence:
    """Test every draft and draw the target's own token at every place, as the rule has it.

    Args:
        rule: the verification rule in force.
        sampling: the settings that shaped both laws.
        proposal: K drafted tokens and the laws that they were drawn from.
        target_logits: float32 [K+1, V]. target_probs: float64 [K+1, V], the target's laws.
        accept_u: float64 [K], the uniforms of the tests.
        correct_u: float64 [K+1], those of the target's own tokens.

    Example:
        The draft took token 0, which the target does not give; token 1 is what it has left over:

        >>> from specdec_core.decoding.origin import Origin
        >>> from specdec_core.decoding.rules import RULES
        >>> from specdec_core.decoding.types import DraftStop, RuleName
        >>> law = torch.tensor([[0.0, 1.0], [0.5, 0.5]], dtype=torch.float64)
        >>> q = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
        >>> proposal = Proposal((0,), q, None, np.array([0.3]), (0.001,), DraftStop.GAMMA, Origin())
        >>> rule = RULES[RuleName.SPECULATIVE_SAMPLING]
        >>> found = weigh(rule, Sampling(), proposal, law.log(), law, np.array([0.6]), np.array([0.2, 0.7]))
        >>> found.passed.tolist(), found.own.tolist()
        ([False], [1, 1])
    """
    device, count = target_logits.device, len(proposal.ids)
    ids = upload(proposal.ids, device)
    draft_probs = proposal.probs.to(device)
    corrections = rule.replacement(draft_probs, target_probs[:count])
    own_laws = torch.cat([corrections, target_probs[count:]])
    own_cumulative = own_laws.cumsum(-1)
    return Evidence(
        rule=rule,
        sampling=sampling,
        proposal=proposal,
        ids=ids,
        draft_probs=draft_probs,
        target_probs=target_probs,
        target_logits=target_logits,
        accept_u=accept_u,
        correct_u=correct_u,
        passed=rule.accept(ids, draft_probs, target_probs, accept_u, correct_u),
        own_laws=own_laws,
        own_cumulative=own_cumulative,
        own=draw_each(own_cumulative, correct_u),
    )
