"""Linear layers laid out for a few rows at a time, so that verifying costs little more than a step.

``nn.Linear`` keeps its weights as [out, in]. On a CPU a product of a few rows with them
gathers or repacks the weights at every call, so a pass over five tokens takes 1.3 to 1.6
times as long as one over a single token. Two other layouts, made once, avoid that:

- *turned* weights, [in, out], let the kernel stream along the rows; best for a single row,
- weights *packed* by oneDNN cost a little more to call and hardly more for each further row.

Microseconds for 1, 2, 3, 5 and 9 rows in the layers of the embedded target (AMD EPYC with AVX2, two
threads, medians while nothing else ran):

===========  ==========================  ==========================  ==========================
out × in     plain                       turned                      packed
===========  ==========================  ==========================  ==========================
960 × 320    163, 267, 307, 248, 279     107, 149, 186, 172, 197     133, 130, 133, 144, 167
320 × 320    73, 109, 122, 96, 112       62, 80, 94, 67, 77          88, 85, 85, 94, 103
1,728 × 320  265, 465, 550, 440, 489     158, 229, 291, 334, 384     173, 179, 184, 205, 235
320 × 864    127, 186, 223, 186, 215     143, 189, 227, 138, 159     129, 129, 132, 148, 169
1,024 × 320  161, 270, 327, 258, 282     102, 156, 198, 192, 227     130, 133, 141, 148, 171
===========  ==========================  ==========================  ==========================

Small layers keep both layouts; where that would take much memory the packed one alone serves.

This module is the only place that knows of it. ``pack_linears`` gives transformers' own
``generate`` these layers, and ``lean`` builds the passes of plain decoding and verification
from the same ones.
"""

import torch
from torch import Tensor, nn

ROWS = 8
"""Rows of a typical product, for which oneDNN chooses its layout; other counts work too."""

LARGE = 600_000
"""Weights from which a layer is kept packed alone."""


class TurnedLinear(nn.Module):
    """``nn.Linear`` for inference with its weights stored as [in, out].

    Example:
        >>> linear = nn.Linear(320, 864)
        >>> x = torch.randn(1, 5, 320)
        >>> with torch.inference_mode():
        ...     torch.allclose(TurnedLinear(linear)(x), linear(x), atol=1e-5)
        True
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self._weight = linear.weight.detach().t().contiguous()
        self._bias = None if linear.bias is None else linear.bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        product = torch.matmul(x, self._weight)
        return product if self._bias is None else product + self._bias

    def extra_repr(self) -> str:
        return f"in_features={self._weight.shape[0]}, out_features={self._weight.shape[1]}"


class PackedLinear(nn.Module):
    """``nn.Linear`` for inference with its weights packed once by oneDNN.

    Example:
        >>> linear = nn.Linear(320, 864)
        >>> x = torch.randn(1, 5, 320)
        >>> with torch.inference_mode():
        ...     torch.allclose(PackedLinear(linear)(x), linear(x), atol=1e-5)
        True
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self._size = linear.weight.shape
        weight = linear.weight.detach().contiguous()
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight, ROWS)
        self._bias = None if linear.bias is None else linear.bias.detach().contiguous()
        # The overload itself: looking it up by its arguments would take longer than a small product.
        self._product = torch.ops.mkldnn._linear_pointwise.default

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        return self._product(x, self._packed, self._bias, "none", [], "")

    def extra_repr(self) -> str:
        return f"in_features={self._size[1]}, out_features={self._size[0]}"


class DoubleLinear(nn.Module):
    """``nn.Linear`` for inference in both layouts: turned for one row, packed for several.

    Example:
        >>> linear = nn.Linear(320, 864)
        >>> x = torch.randn(1, 5, 320)
        >>> with torch.inference_mode():
        ...     torch.allclose(DoubleLinear(linear)(x), linear(x), atol=1e-5)
        True
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self._one, self._several = TurnedLinear(linear), PackedLinear(linear)

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        single = x.numel() == x.shape[-1]
        return self._one.forward(x) if single else self._several.forward(x)


def pack_linears(module: nn.Module) -> int:
    """Give every linear layer of ``module`` the layout that suits it, in place.

    An embedding tied to the output layer keeps its weight. The module can no longer be
    trained or saved afterwards. Layers on another device or in another format than float32
    stay as they are, and so do large ones where torch has no oneDNN.

    Returns:
        How many layers were replaced.
    """
    found = [
        (parent, name, better)
        for parent in list(module.modules())
        for name, child in parent.named_children()
        if type(child) is nn.Linear and (better := layout(child))
    ]
    for parent, name, better in found:
        setattr(parent, name, better(getattr(parent, name)))
    return len(found)


def layout(linear: nn.Linear) -> type[TurnedLinear] | type[PackedLinear] | type[DoubleLinear] | None:
    """The faster stand-in for a layer, or None if it is best left alone."""
    weight = linear.weight
    if weight.device.type != "cpu" or weight.dtype is not torch.float32:
        return None
    small = weight.numel() < LARGE
    if not can_pack():
        return TurnedLinear if small else None
    return DoubleLinear if small else PackedLinear


def can_pack() -> bool:
    """Whether this build of torch offers packed weights."""
    names = ("_reorder_linear_weight", "_linear_pointwise")
    return torch.backends.mkldnn.is_available() and all(hasattr(torch.ops.mkldnn, name) for name in names)
