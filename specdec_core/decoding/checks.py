"""Logits are checked when what was drawn from them is read."""

import torch
from torch import Tensor


class ModelFailure(RuntimeError):
    """A model returned logits that no distribution can be made of."""


def read(logits: Tensor, model: str, *values: Tensor, first: int = 0) -> list[list[int]]:
    """Bring whole numbers to the host, and with them whether the logits they stem from are usable.

    All of it comes at once: on a GPU the host waits for the device here and nowhere else.

    Args:
        logits: float32 [P, V]; −inf forbids a token and is fine.
        model: "target" or "draft", for the message.
        values: int64 or bool vectors on the same device.
        first: number of the first row's place in the round, from 0.

    Returns:
        The values as lists.

    Raises:
        ModelFailure: a row of logits has NaN or +inf, or allows no token; naming the model and
            the first bad place, counted from 1.

    Example:
        >>> read(torch.tensor([[0.0, 1.0]]), "target", torch.tensor([4, 5]))
        [[4, 5]]
        >>> read(torch.tensor([[0.0, 1.0], [0.0, torch.nan]]), "target")
        Traceback (most recent call last):
            ...
        specdec_core.decoding.checks.ModelFailure: the target returned NaN at place 2 of the round
    """
    usable = logits.amax(-1).isfinite()
    sizes = [len(logits), *map(len, values)]
    flat = torch.cat([usable.long(), *(each.long() for each in values)]).tolist()
    starts = [sum(sizes[:n]) for n in range(len(sizes))]
    good, *rest = [flat[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    if 0 in good:
        row = good.index(0)
        fault, place = _fault(logits[row]), first + row + 1
        raise ModelFailure(f"the {model} returned {fault} at place {place} of the round")
    return rest


def _fault(row: Tensor) -> str:
    if bool(row.isnan().any()):
        return "NaN"
    return "an infinite logit" if bool((row > 0).any()) else "no allowed token"
