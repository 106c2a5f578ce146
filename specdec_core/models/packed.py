"""Linear layers laid out for a few rows at a time, so that verifying costs little more than a step.

``nn.Linear`` keeps its weights as [out, in]. On a CPU a product of a few rows with them
gathers or repacks the weights at every call, so a pass over five tokens takes 1.3 to 1.6
times as long as one over a single token. Two other layouts, made once, avoid that:

- *turned* weights, [in, out], let the kernel stream along the rows; best for small layers,
- weights *packed* by oneDNN cost a little more to call and win where the layer is large.

Microseconds of processor time for 1, 2, 5 and 9 rows (AMD EPYC with AVX2, one thread, medians):

=============  ====================  ====================  ====================
out × in       plain                 turned                packed
=============  ====================  ====================  ====================
320 × 320      53, 76, 87, 118       59, 67, 60, 92        99, 94, 88, 121
864 × 320      115, 177, 245, 253    83, 113, 169, 183     127, 141, 165, 189
320 × 864      88, 138, 173, 212     118, 163, 153, 186    124, 149, 175, 211
1,536 × 576    339, 606, 717, 826    250, 369, 738, 792    360, 403, 491, 589
576 × 1,536    265, 375, 613, 640    350, 455, 731, 645    393, 341, 501, 591
=============  ====================  ====================  ====================

This module is the only place that knows of it. ``pack_linears`` gives transformers' own
``generate`` these layers, and ``lean`` builds the passes of plain decoding and verification
from the same two.
"""

import torch
from torch import Tensor, nn

ROWS = 8
"""Rows of a typical product, for which oneDNN chooses its layout; other counts work too."""

LARGE = 400_000
"""Weights from which packing beats turning (see the table above)."""


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


def layout(linear: nn.Linear) -> type[TurnedLinear] | type[PackedLinear] | None:
    """The faster stand-in for a layer, or None if it is best left alone."""
    weight = linear.weight
    if weight.device.type != "cpu" or weight.dtype is not torch.float32:
        return None
    if weight.numel() < LARGE:
        return TurnedLinear
    return PackedLinear if can_pack() else None


def can_pack() -> bool:
    """Whether this build of torch offers packed weights."""
    names = ("_reorder_linear_weight", "_linear_pointwise")
    return torch.backends.mkldnn.is_available() and all(hasattr(torch.ops.mkldnn, name) for name in names)
