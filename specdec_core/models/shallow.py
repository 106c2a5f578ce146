"""The target with some of its layers left out, as a draft that needs no weights of its own.

Early exit reads the answer after the first n layers through the final norm and output
layer (LayerSkip, Elhoushi et al. 2024, arXiv 2404.16710, section 4.3); layer skip leaves
out layers in the middle (Draft & Verify, Zhang et al. 2023, arXiv 2309.08168). Both models
were trained for it there; an ordinary target was not, and then few of the drafts are kept.

The layers that stay are the target's own, weights and packing included. Only the thin
objects around them are copied, so that they count their places in a smaller cache.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace

from torch import nn
from transformers import PreTrainedConfig

from specdec_core.models.lean import LeanLlama
from specdec_core.models.pair import LoadedModel


def early_exit(depth: int) -> tuple[int, ...]:
    """The first ``depth`` layers.

    Example:
        >>> early_exit(3)
        (0, 1, 2)
    """
    return tuple(range(depth))


def skipping(layers: int, skipped: int) -> tuple[int, ...]:
    """All layers but ``skipped`` of them, spread evenly between the first and the last.

    Example:
        >>> skipping(layers=8, skipped=3)
        (0, 1, 3, 5, 7)
    """
    inner = layers - 2
    left_out = {1 + (2 * n + 1) * inner // (2 * skipped) for n in range(skipped)}
    return tuple(layer for layer in range(layers) if layer not in left_out)


def shallow(model: LoadedModel, layers: Sequence[int]) -> LoadedModel:
    """A loaded model that runs only these of its layers; it costs no memory worth naming.

    Args:
        model: the model as loaded.
        layers: rising indices of the layers to run.

    Raises:
        ValueError: the layers cannot be found in this kind of model.
    """
    info = replace(model.info, layers=len(layers))
    return replace(model, passes=only_layers(model.passes, layers), steps=None, info=info)


def only_layers(passes: "nn.Module | LeanLlama", layers: Sequence[int]) -> "nn.Module | LeanLlama":
    """A model that runs these layers of another one, sharing all weights with it.

    Args:
        passes: a transformers causal LM, or its lean stand-in.
        layers: rising indices of the layers to run.

    Raises:
        ValueError: the layers cannot be found in this kind of model.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> config = LlamaConfig(vocab_size=8, hidden_size=16, intermediate_size=16,
        ...                      num_hidden_layers=4, num_attention_heads=2)
        >>> shallow = only_layers(LlamaForCausalLM(config), early_exit(3))
        >>> shallow.config.num_hidden_layers, len(shallow.model.layers)
        (3, 3)
    """
    if isinstance(passes, LeanLlama):
        return passes.only(layers)
    base_name, name, blocks = _find_blocks(passes)
    config = _thinned(passes.config, layers)
    kept = nn.ModuleList(_numbered(blocks[layer], place) for place, layer in enumerate(layers))
    base = _with(getattr(passes, base_name), config=config, **{name: kept})
    return _with(passes, config=config, **{base_name: base})


def can_leave_out_layers(passes: "nn.Module | LeanLlama") -> bool:
    """Whether ``only_layers`` knows how this kind of model keeps its layers."""
    if hasattr(passes, "hf_device_map"):
        return False  # spread over devices by hooks that know the whole model alone
    try:
        return isinstance(passes, LeanLlama) or bool(_find_blocks(passes))
    except ValueError:
        return False


def _find_blocks(module: nn.Module) -> tuple[str, str, nn.ModuleList]:
    """The names of the base model and of its list of layers, and that list."""
    base_name = module.base_model_prefix
    count = module.config.get_text_config().num_hidden_layers
    for name, child in getattr(module, base_name, nn.Module()).named_children():
        if isinstance(child, nn.ModuleList) and len(child) == count:
            return base_name, name, child
    raise ValueError(f"the layers of a {type(module).__name__} cannot be told apart")


def _thinned(config: PreTrainedConfig, layers: Sequence[int]) -> PreTrainedConfig:
    """The config of a model with these layers alone."""
    thin = copy.deepcopy(config)
    text = thin.get_text_config()
    kinds = getattr(text, "layer_types", None)
    text.num_hidden_layers = len(layers)
    if kinds:
        text.layer_types = [kinds[layer] for layer in layers]
    return thin


def _numbered(block: nn.Module, place: int) -> nn.Module:
    """A layer that writes to another place in the cache; its weights are those of ``block``."""
    children = {name: _numbered(child, place) for name, child in block.named_children()}
    counted = {"layer_idx": place} if hasattr(block, "layer_idx") else {}
    return _with(block, **children, **counted) if _counts(block) else block


def _counts(block: nn.Module) -> bool:
    """Whether a module, or one inside it, knows its place among the layers."""
    return any(hasattr(module, "layer_idx") for module in block.modules())


def _with(module: nn.Module, **changes: object) -> nn.Module:
    """A copy of a module that shares everything with it but what is changed."""
    twin = copy.copy(module)
    twin._modules = dict(module._modules)
    for name, value in changes.items():
        setattr(twin, name, value)
    return twin
