"""What a draft is trained for: the overlap of its law with the target's.

A token drafted from q is accepted with probability sum(min(p, q)) (Leviathan et al. 2023,
theorem 3.5), which is one minus the total variation distance. That quantity can be
descended directly, but its gradient says little while q is still far from p; so a draft
first learns by forward KL, whose gradient always pulls q over all of p.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def overlap(target_logits: Tensor, draft_logits: Tensor, temperature: float = 1.0) -> Tensor:
    """Sum of min(p, q) at each place, for logits `[..., V]`.

    Example: p = (0.5, 0.5, 0), q = (0.25, 0.25, 0.5) overlap by 0.25 + 0.25 + 0 = 0.5.
    """
    p = torch.softmax(target_logits / temperature, dim=-1)
    q = torch.softmax(draft_logits / temperature, dim=-1)
    return torch.minimum(p, q).sum(-1)


def total_variation(target_logits: Tensor, draft_logits: Tensor, temperature: float = 1.0) -> Tensor:
    """Mean probability that a draft is rejected: 1 - sum(min(p, q)), averaged over places."""
    return 1 - overlap(target_logits, draft_logits, temperature).mean()


def forward_kl(target_logits: Tensor, draft_logits: Tensor, temperature: float = 1.0) -> Tensor:
    """Mean KL(p || q) in nats over the places of logits `[..., V]`."""
    p = torch.log_softmax(target_logits / temperature, dim=-1)
    q = torch.log_softmax(draft_logits / temperature, dim=-1)
    return F.kl_div(q.flatten(0, -2), p.flatten(0, -2), reduction="batchmean", log_target=True)
