"""Linear layers whose weights oneDNN has packed once, so that verifying costs little more than a step.

On a CPU a product of a few rows with a weight matrix repacks the weights at every call, so
a pass over five tokens takes 1.3 to 1.6 times as long as one over a single token. With the
weights packed in advance both take nearly the same time, which is what speculative decoding
lives on. This module is the only place that knows of it; elsewhere nothing changes.
"""

import torch
from torch import Tensor, nn

ROWS = 8
"""Rows of a typical product, for which oneDNN chooses the layout; others work too."""

SMALLEST = 90_000
"""Weights below which the call costs more than the packing saves (measured, see README)."""


class PackedLinear(nn.Module):
    """``nn.Linear`` for inference on the CPU in float32, with weights packed once.

    Args:
        linear: the layer to replace; its own weight stays as it is, for whoever shares it.

    Example:
        >>> linear = nn.Linear(320, 864, bias=False)
        >>> x = torch.randn(1, 5, 320)
        >>> with torch.inference_mode():
        ...     torch.allclose(PackedLinear(linear)(x), linear(x), atol=1e-5)
        True
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        weight = linear.weight.detach().contiguous()
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight, ROWS)
        self._bias = None if linear.bias is None else linear.bias.detach().contiguous()

    def forward(self, x: Tensor) -> Tensor:
        """[..., in_features] -> [..., out_features]."""
        return torch.ops.mkldnn._linear_pointwise(x, self._packed, self._bias, "none", [], "")

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, packed"


def pack_linears(module: nn.Module) -> int:
    """Replace, in place, every linear layer of ``module`` for which packing pays.

    An embedding tied to the output layer keeps its weight. The module can no longer be
    trained or saved afterwards. Elsewhere than on a CPU in float32 with oneDNN nothing is done.

    Returns:
        How many layers were replaced.
    """
    if not can_pack():
        return 0
    found = [
        (parent, name, child)
        for parent in list(module.modules())
        for name, child in parent.named_children()
        if type(child) is nn.Linear and pays(child)
    ]
    for parent, name, child in found:
        setattr(parent, name, PackedLinear(child))
    return len(found)


def can_pack() -> bool:
    """Whether this build of torch offers packed weights."""
    names = ("_reorder_linear_weight", "_linear_pointwise")
    return torch.backends.mkldnn.is_available() and all(hasattr(torch.ops.mkldnn, name) for name in names)


def pays(linear: nn.Linear) -> bool:
    """Whether a layer is of the kind and size that gains from packing."""
    weight = linear.weight
    return weight.device.type == "cpu" and weight.dtype is torch.float32 and weight.numel() >= SMALLEST
