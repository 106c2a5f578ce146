"""Logits are checked before anything is drawn from them."""

from torch import Tensor


class ModelFailure(RuntimeError):
    """A model returned logits that no distribution can be made of."""


def check_logits(logits: Tensor, model: str, first: int = 0) -> None:
    """Refuse logits with NaN or +inf, or of a place where no token is allowed.

    Args:
        logits: float32 [P, V]; −inf forbids a token and is fine.
        model: "target" or "draft", for the message.
        first: number of the first row's place in the round, from 0.

    Raises:
        ModelFailure: naming the model and the first bad place, counted from 1.

    Example:
        >>> import torch
        >>> check_logits(torch.tensor([[0.0, 1.0], [0.0, torch.nan]]), "target")
        Traceback (most recent call last):
            ...
        specdec_core.decoding.checks.ModelFailure: the target returned NaN at place 2 of the round
    """
    usable = logits.amax(-1).isfinite()
    if bool(usable.all()):
        return
    row = int((~usable).nonzero()[0])
    raise ModelFailure(f"the {model} returned {_fault(logits[row])} at place {first + row + 1} of the round")


def _fault(row: Tensor) -> str:
    if bool(row.isnan().any()):
        return "NaN"
    return "an infinite logit" if bool((row > 0).any()) else "no allowed token"
