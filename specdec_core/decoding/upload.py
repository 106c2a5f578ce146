"""Bringing a few numbers to where the models compute, without waiting until they are there."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def upload(values: np.ndarray | Sequence[int], device: torch.device) -> Tensor:
    """The values as a tensor on a device, int64 where they are whole numbers in a list.

    The host goes on at once: numbers as few as these are copied before the call returns, and the
    device reads them in the order of its work. An ordinary copy would make it wait for all of that.

    Example:
        >>> upload([3, 1], torch.device("cpu"))
        tensor([3, 1])
    """
    whole = not isinstance(values, np.ndarray)
    host = torch.tensor(values, dtype=torch.int64) if whole else torch.from_numpy(values)
    return host.to(device, non_blocking=True)
