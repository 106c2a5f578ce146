"""The target in lower precision, as a draft: half or a quarter of the bytes to read for each token.

A step of decoding reads all weights once, so with fewer bytes it takes less time, and it says
nearly the same: self-speculation by quantisation (as in QSpec, Zhao et al. 2024, arXiv
2410.11305). The copy is read from the target's own files, made once for all sessions, and
freed with the target.

- *bfloat16*: weights and activations; products add up in float32.
- *int8*: weights rounded to 8 bits with one scale for each output (symmetric absmax, as in
  LLM.int8(), Dettmers et al. 2022, arXiv 2208.07339, section 2), activations in bfloat16.

SmolLM2 135M on two cores (AMD EPYC, AVX2), milliseconds a token at 60 tokens of context and
mean Σ min(p, q) along a greedy answer:

============================  =====  ====================
weights, passes               step   Σ min(p, q)
============================  =====  ====================
float32, transformers         52     1 (the target)
bfloat16, transformers        48     0.98
bfloat16, lean                31     0.98
int8, transformers            42     0.96
int8, lean                    30     0.96
============================  =====  ====================

Hence a Llama on the CPU is lowered in its lean form (``lean``), and others in transformers'.

A processor without bfloat16 arithmetic multiplies a single row fast and several rows slowly
(576 × 1,536, AVX2, one thread: 0.17 ms for 1 row, 36 ms for 200), so blocks of rows, such as
a prompt, go through float32 there: the same weights, with sums no less exact (5.8 ms).
"""

from dataclasses import replace
from functools import cache
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from specdec_core.models.lean import LeanLlama, Product, can_be_lean
from specdec_core.models.machine import free_memory
from specdec_core.models.pair import LoadedModel
from specdec_core.models.progress import Meter
from specdec_core.models.reading import read_module, turn_to_read

FORMATS = ("bfloat16", "int8")
"""The formats that a target can be lowered to."""

FEW = 2
"""Rows up to which a product in bfloat16 is not slower than one that goes through float32."""

ALIGNED = 16
"""torch's int8 product reads inputs in strips of this many; others give wrong results."""

ROOM = 1.1
"""Memory asked for, as a share of what the copy takes while it is read."""

WARM_UP_TOKENS = (4, 2, 1, 1)

_made: WeakKeyDictionary[LoadedModel, dict[str, LoadedModel]] = WeakKeyDictionary()


def lowered(model: LoadedModel, format_: str, meter: Meter | None = None) -> LoadedModel:
    """The model in a lower precision; made by the first who asks, shared with all others.

    Takes as long as loading the model did, and needs a half or a quarter of a float32
    model's memory beside it.

    Args:
        model: the model as loaded; its folder is read again.
        format_: one of ``FORMATS``.
        meter: told of stages and bytes, from whatever thread this runs in; a cancelled meter
            ends the work. Others who wait for the same copy then make it themselves.

    Raises:
        ValueError: this model cannot be lowered to that format here; says why.
        PairError: the folder can no longer be read.
        Cancelled: the work was cancelled; nothing is left half done.
    """
    if reason := cannot_lower(model, format_):
        raise ValueError(reason)
    if is_lowered(model, format_):
        return _made[model][format_]
    meter = meter or Meter()
    with turn_to_read(meter):
        copies = _made.setdefault(model, {})
        if format_ not in copies:
            copies[format_] = _make(model, format_, meter)
        return copies[format_]


def is_lowered(model: LoadedModel, format_: str) -> bool:
    """Whether the copy is there, so that asking for it takes no time."""
    return format_ in _made.get(model, {})


def cannot_lower(model: LoadedModel, format_: str) -> str | None:
    """Why a model cannot be lowered to a format here, as a sentence, or None if it can."""
    devices = {parameter.device for parameter in model.module.parameters()}
    if len(devices) > 1:
        return "The target lies on several devices; a lowered copy needs one."
    (device,) = devices
    if format_ == "bfloat16" and model.module.dtype is not torch.float32:
        name = str(model.module.dtype).removeprefix("torch.")
        return f"The target runs in {name} already; bfloat16 would not be lower."
    if format_ == "int8" and not multiplies_int8(device.type):
        return f"This build of torch has no product with int8 weights on {device.type}."
    return None if is_lowered(model, format_) else _lacks_memory(model, device)


def _lacks_memory(model: LoadedModel, device: torch.device) -> str | None:
    needed, free = int(ROOM * 2 * model.info.parameters), free_memory(device)
    if free is None or needed <= free:
        return None
    return f"A copy of the target takes {needed / 1e9:.1f} GB for a moment; {free / 1e9:.1f} GB are free."


@cache
def multiplies_int8(device_type: str) -> bool:
    """Whether torch multiplies bfloat16 rows with int8 weights on such a device, tried once."""
    weight = torch.ones(ALIGNED, ALIGNED, dtype=torch.int8, device=device_type)
    ones = torch.ones(ALIGNED, dtype=torch.bfloat16, device=device_type)
    try:
        product = torch._weight_int8pack_mm(ones.unsqueeze(0), weight, ones)
    except (RuntimeError, AttributeError, NotImplementedError):
        return False
    return bool((product == ALIGNED).all())


class HalfLinear(nn.Module):
    """A linear layer in bfloat16 that goes through float32 where a processor is slow otherwise.

    Args:
        weight: bfloat16 [out, in]. bias: bfloat16 [out], or None.

    Example:
        >>> half = HalfLinear(torch.eye(2, dtype=torch.bfloat16), None)
        >>> half(torch.ones(3, 2, dtype=torch.bfloat16))[0]
        tensor([1., 1.], dtype=torch.bfloat16)
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.register_buffer("weight", weight.detach())
        self.register_buffer("bias", None if bias is None else bias.detach())

    def forward(self, x: Tensor) -> Tensor:
        """bfloat16 [..., in] -> [..., out]."""
        if x.numel() // x.shape[-1] <= FEW:
            return F.linear(x, self.weight, self.bias)
        bias = None if self.bias is None else self.bias.float()
        return F.linear(x.float(), self.weight.float(), bias).to(x.dtype)


class Int8Linear(nn.Module):
    """A linear layer with int8 weights and one scale for each output.

    Args:
        weight: [out, in] in any float format; ``in`` is a multiple of ``ALIGNED``.
        bias: [out], or None.

    Example:
        >>> weight = torch.randn(8, 32)
        >>> x = torch.randn(1, 32, dtype=torch.bfloat16)
        >>> torch.allclose(Int8Linear(weight, None)(x).float(), x.float() @ weight.t(), atol=0.2)
        True
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        steps = (weight.detach().float().abs().amax(dim=1) / 127.0).clamp_min(1e-12)
        rounded = (weight.detach().float() / steps.unsqueeze(1)).round().to(torch.int8)
        self.register_buffer("weight", rounded)
        self.register_buffer("steps", steps.to(torch.bfloat16))
        self.register_buffer("bias", None if bias is None else bias.detach().to(torch.bfloat16))

    def forward(self, x: Tensor) -> Tensor:
        """bfloat16 [..., in] -> [..., out]."""
        rows = x.reshape(-1, x.shape[-1])
        product = torch._weight_int8pack_mm(rows, self.weight, self.steps)
        product = product.view(*x.shape[:-1], -1)
        return product if self.bias is None else product + self.bias


def lower_linears(module: nn.Module, format_: str, meter: Meter | None = None) -> int:
    """Replace the linear layers of a bfloat16 module, in place, by those of a format.

    GPT-2's ``Conv1D`` counts as linear. Layers whose inputs are not a multiple of
    ``ALIGNED`` stay in bfloat16.

    Args:
        module: the model. format_: one of ``FORMATS``.
        meter: told of the bytes of each layer that is done.

    Returns:
        How many layers were replaced.
    """
    replaced, meter = 0, meter or Meter()
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if type(child) in (nn.Linear, Conv1D):
                meter.add(child.weight.nbytes)
                if layer := _layer(child, format_):
                    setattr(parent, name, layer)
                    replaced += 1
    return replaced


def _layer(child: "nn.Linear | Conv1D", format_: str) -> nn.Module | None:
    weight = child.weight if isinstance(child, nn.Linear) else child.weight.t().contiguous()
    return _lower(weight, child.bias, format_)


def _lower(weight: Tensor, bias: Tensor | None, format_: str) -> nn.Module | None:
    """The layer for a bfloat16 weight [out, in]; None where torch's own does as well."""
    if format_ == "int8" and weight.shape[1] % ALIGNED == 0:
        return Int8Linear(weight, bias)
    return None if _multiplies_blocks(weight.device) else HalfLinear(weight, bias)


def _multiplies_blocks(device: torch.device) -> bool:
    """Whether several rows in bfloat16 are multiplied fast there."""
    if device.type != "cpu":
        return True
    return torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()


def _make(model: LoadedModel, format_: str, meter: Meter) -> LoadedModel:
    """The model read again in bfloat16, its linear layers replaced and the first passes made."""
    module = read_module(model.folder, torch.bfloat16, model.device, meter)
    meter.stage(f"lowering {model.info.name} to {format_}", sum(each.nbytes for each in module.parameters()))
    passes: nn.Module | LeanLlama = module
    if can_be_lean(module):
        passes = LeanLlama(module, lambda weight: _product(weight, format_, meter))
        module.to("meta")  # what is used lies in the lean model now
    else:
        lower_linears(module, format_, meter)
    info = replace(model.info, name=f"{model.info.name} in {format_}")
    copy = replace(model, module=module, passes=passes, steps=None, info=info)
    meter.stage(f"warming up {info.name}")
    sequence = copy.sequence()
    for count in WARM_UP_TOKENS:
        meter.check()
        sequence.feed([0] * count, keep=1)
    return copy


def _product(weight: Tensor, format_: str, meter: Meter) -> Product:
    meter.add(weight.nbytes)
    layer = _lower(weight, None, format_)
    return layer.forward if layer else lambda x: F.linear(x, weight)
