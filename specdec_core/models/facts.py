"""What the checklist needs to know of a model, read from its config and tokenizer alone."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import count
from pathlib import Path
from threading import get_ident
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_module_registration_hook
from transformers import AutoModelForCausalLM, PreTrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_MASKED_LM_MAPPING

from specdec_core.decoding.cache import UnsupportedCache, rewindable_cache
from specdec_core.models.errors import PairError
from specdec_core.models.reading import read_config, read_tokenizer
from specdec_core.models.vocabulary import Vocabulary, vocabulary_of

MOST = (
    (("layers", "n_layer"), 1_000),
    (("experts",), 10_000),
    (("position", "n_ctx"), 100_000_000),
    (("size", "heads", "n_head", "head_dim", "n_embd", "n_inner", "d_model"), 10_000_000),
)
"""Parts of the names that configs give to sizes, and the most that a model may have of each."""

GREATEST = 20_000_000
"""The most that any whole number may be which transformers knows, whatever it is called."""

MODULES = 200_000
"""The most parts of a model, each layer of each expert in each block being one; the largest have half."""


@dataclass(frozen=True)
class ModelFacts:
    """One model, before its weights are read.

    Attributes:
        name: what people call it.
        kind: transformers' name of its architecture.
        own_code: classes that its config wants to take from code beside it.
        native: whether transformers knows the architecture and can write text with it.
        parameters: number of weights, tied ones counted once.
        cache_values: numbers that the cache keeps for each token.
        context_length: longest sequence it accepts, in tokens.
        end_ids: tokens that end a text.
        vocabulary: what its ids stand for.
        state: why its cache cannot be rewound; "" if it can.
    """

    name: str
    kind: str
    own_code: tuple[str, ...]
    native: bool
    parameters: int
    cache_values: int
    context_length: int
    end_ids: frozenset[int]
    vocabulary: Vocabulary
    state: str = ""


def read_facts(folder: Path, name: str) -> ModelFacts:
    """The facts of a folder in Hugging Face format; its weights need not be there.

    Raises:
        PairError: config or tokenizer cannot be read, or the model needs code that comes with it.
    """
    kind, own_code = _declared(folder, name)
    if kind not in CONFIG_MAPPING:
        raise PairError(
            f"{name} is of a kind that transformers does not know ({kind or 'none given'})"
            + (" and wants to bring its own code, which is never run." if own_code else ".")
        )
    config = read_config(folder)
    text = config.get_text_config()
    end_ids = end_ids_of(config, _generation(folder), tokenizer := read_tokenizer(folder))
    native = _writes(config)
    context = int(getattr(text, "max_position_embeddings", 0) or 0)
    return ModelFacts(
        name=name,
        kind=kind,
        own_code=own_code,
        native=native,
        parameters=_parameters(config) if native else 0,
        cache_values=_cache_values(text),
        context_length=context,
        end_ids=end_ids,
        vocabulary=vocabulary_of(name, tokenizer, text.vocab_size, end_ids),
        state=_state(text, context),
    )


def end_ids_of(config: Any, generation: Any, tokenizer: Any) -> frozenset[int]:
    """Every token that a model's own settings or its tokenizer call an end of text.

    Args:
        config, generation: settings with an attribute ``eos_token_id``: an id, several, or None.
        tokenizer: the model's tokenizer.
    """
    found: set[int] = set()
    for settings in (config, generation, tokenizer):
        ids = getattr(settings, "eos_token_id", None)
        if ids is not None:
            found.update(ids if isinstance(ids, list | tuple) else [ids])
    return frozenset(found)


def _declared(folder: Path, name: str) -> tuple[str, tuple[str, ...]]:
    """The kind that a config names, and the classes that it wants to bring along."""
    try:
        content = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        found = str(content.get("model_type", "")), tuple(sorted(content.get("auto_map") or ()))
        known = _known_names(found[0]) if found[0] in CONFIG_MAPPING else frozenset()
        odd = next(_odd_sizes(content, known), None)
    except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise PairError(f"The config.json of {folder.name} cannot be read.") from error
    if odd:
        raise PairError(f"{name} is no model that can run here: its {odd}.")
    return found


def _odd_sizes(content: Any, known: frozenset[str] | None) -> Iterator[str]:
    """Numbers of a config that no model has: nothing may be made of such a size, not even to count it.

    Args:
        content: the config or a part of it.
        known: names that transformers reads; None where it may read all of them.
    """
    if isinstance(content, list):
        content = dict(enumerate(content))
    for key, value in content.items() if isinstance(content, dict) else ():
        if _is_odd(str(key), value, known is None or key in known):
            yield f"{key} is {value}"[:100]
        yield from _odd_sizes(value, None)


def _is_odd(key: str, value: Any, known: bool) -> bool:
    most = next((most for words, most in MOST if any(word in key for word in words)), None)
    if most and type(value) in (int, float):
        return not -1 <= value <= most
    free = not known or "theta" in key  # a theta is a base of frequencies
    return type(value) is int and not free and abs(value) > GREATEST


def _known_names(kind: str) -> frozenset[str]:
    """What transformers reads from the config of a kind of model."""
    found = CONFIG_MAPPING[kind]
    return frozenset({each.name for each in fields(found)} | set(found.attribute_map))


@dataclass(frozen=True)
class _Generation:
    eos_token_id: Any = None


def _generation(folder: Path) -> _Generation:
    try:
        content = json.loads((folder / "generation_config.json").read_text(encoding="utf-8"))
        return _Generation(content.get("eos_token_id"))
    except (OSError, ValueError, AttributeError):
        return _Generation()


def _writes(config: PreTrainedConfig) -> bool:
    """Whether transformers writes text with this model, each token from those before it alone."""
    encodes = type(config) in MODEL_FOR_MASKED_LM_MAPPING and not getattr(config, "is_decoder", False)
    return type(config) in MODEL_FOR_CAUSAL_LM_MAPPING and not config.is_encoder_decoder and not encodes


def _parameters(config: PreTrainedConfig) -> int:
    """Counted on a model without memory behind it."""
    with torch.device("meta"), _few_modules():
        return AutoModelForCausalLM.from_config(config, trust_remote_code=False).num_parameters()


@contextmanager
def _few_modules() -> Iterator[None]:
    """Stop this thread from making more modules than any model has, by whatever numbers it is told to."""
    maker, counted = get_ident(), count(1)

    def note(parent: nn.Module, name: str, child: nn.Module | None) -> None:
        if get_ident() == maker and next(counted) > MODULES:
            raise PairError(f"It would have more than {MODULES:,} parts; no model that can run here has.")

    handle = register_module_module_registration_hook(note)
    try:
        yield
    finally:
        handle.remove()


def _cache_values(config: PreTrainedConfig) -> int:
    """Keys and values of one token in all layers."""
    layers, heads = (_number(config, name) for name in ("num_hidden_layers", "num_attention_heads"))
    groups = _number(config, "num_key_value_heads") or heads
    size = _number(config, "head_dim") or (_number(config, "hidden_size") // heads if heads else 0)
    return 2 * layers * groups * size


def _number(config: PreTrainedConfig, name: str) -> int:
    """One number of a config; the largest where it differs from layer to layer, 0 where there is none."""
    try:
        return int(getattr(config, name, None) or 0)
    except RuntimeError:  # what transformers raises where each layer has a value of its own
        return max(int(getattr(layer, name, None) or 0) for layer in config.per_layer_config)


def _state(config: PreTrainedConfig, context: int) -> str:
    try:
        rewindable_cache(config, max(1, context))
    except UnsupportedCache as error:
        return str(error)
    except Exception as error:
        # transformers makes some kinds of cache only for configs of their own form.
        return f"transformers has no cache of the usual kind for this model ({type(error).__name__})"
    return ""
