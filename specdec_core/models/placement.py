"""Where the parts of a model lie when several GPUs share the work: whole on one if it fits, else spread."""

from collections.abc import Mapping

import torch
from transformers import AutoModelForCausalLM, PreTrainedConfig

from specdec_core.models.errors import PairError

SHARE = 0.85
"""Of a GPU's free memory that weights may take; the rest is for caches and for working."""


def placement(config: PreTrainedConfig, dtype: torch.dtype, free: Mapping[int, int]) -> dict[str, int]:
    """A device map as accelerate and transformers use it: GPU by name of the part.

    A model that fits on one GPU lies on the first that holds it, since every step from one to the
    next takes time in each pass. Otherwise its layers fill one GPU after the other, in their order.

    Args:
        config: of the model, which is laid out without weights.
        dtype: number format of the weights.
        free: bytes by number of the GPU.

    Raises:
        PairError: all of them together are too small.

    Example:
        >>> from transformers import LlamaConfig
        >>> config = LlamaConfig(vocab_size=8, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        ...                      num_attention_heads=2)
        >>> placement(config, torch.float32, {0: 100, 1: 100_000})
        {'': 1}
    """
    with torch.device("meta"):
        module = AutoModelForCausalLM.from_config(config, dtype=dtype)
    module.tie_weights()
    room = {gpu: int(SHARE * count) for gpu, count in free.items()}
    needed = sum(weight.nbytes for weight in module.parameters())
    holders = [gpu for gpu, count in room.items() if needed <= count]
    if holders:
        return {"": holders[0]}
    from accelerate import infer_auto_device_map  # only now: few machines need it, and it takes its time

    found = infer_auto_device_map(module, max_memory=room, no_split_module_classes=_whole(module))
    if set(found.values()) - set(free):
        gibs = sum(room.values()) / (1 << 30)
        raise PairError(f"It needs {needed / (1 << 30):.1f} GiB, and all GPUs together hold {gibs:.1f} GiB.")
    return found


def _whole(module: torch.nn.Module) -> list[str]:
    """Kinds of layers that stay on one GPU."""
    return sorted(module._no_split_modules or ())
