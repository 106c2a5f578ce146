"""One model with the cache of one sequence: feed tokens, rewind, nothing else.

Weights are shared and read-only; a cache belongs to a run. With N tokens committed the
target's cache holds N − 1 and the draft's at most N − 1 (DESIGN, "One round"); what is
missing is fed together with the next tokens, so no pass is run only to fill a cache.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn
from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from .upload import upload


class SequenceModel(Protocol):
    """A causal language model together with the cache of one sequence.

    Attributes:
        vocab_size: V, number of logits.
        context_length: most tokens the cache may hold.
        length: tokens in the cache.
        nbytes: memory that the cache takes.
    """

    vocab_size: int
    context_length: int

    @property
    def length(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    def feed(self, ids: Sequence[int], keep: int) -> Tensor:
        """Append tokens to the sequence, in one pass.

        Args:
            ids: at least one token.
            keep: how many of them logits are wanted for, the last ones.

        Returns:
            float32 [keep, V], the logits after each of the last ``keep`` tokens.
        """
        ...

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens; an empty cache takes no memory.

        Raises:
            ValueError: the cache holds fewer.
        """
        ...


class UnsupportedCache(ValueError):
    """The model keeps a state that cannot be rewound by dropping its newest tokens."""


class CachedModel:
    """A transformers causal LM as a ``SequenceModel``.

    Args:
        module: the model, in eval mode; shared, never written to.
        logits_on: where logits are brought to, for a device that lacks what laws and draws need;
            they stay where they are made if left out.

    Raises:
        UnsupportedCache: naming the layer types that cannot be rewound, such as recurrent ones.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> config = LlamaConfig(vocab_size=8, hidden_size=16, intermediate_size=16,
        ...                      num_hidden_layers=1, num_attention_heads=2)
        >>> model = CachedModel(LlamaForCausalLM(config).eval())
        >>> model.feed([1, 2, 3], keep=2).shape, model.length
        (torch.Size([2, 8]), 3)
        >>> model.rewind(1); model.length
        1
    """

    def __init__(self, module: nn.Module, logits_on: torch.device | None = None) -> None:
        config = module.config.get_text_config()
        self.vocab_size: int = config.vocab_size
        self.context_length: int = config.max_position_embeddings
        self._module = module
        self._device = next(module.parameters()).device
        self._logits_on = logits_on
        self._cache = rewindable_cache(config, self.context_length)

    @property
    def length(self) -> int:
        return self._cache.get_seq_length()

    @torch.inference_mode()
    def feed(self, ids: Sequence[int], keep: int) -> Tensor:
        output = self._module(
            input_ids=upload(ids, self._device).unsqueeze(0),
            cache=self._cache,
            use_cache=True,
            logits_to_keep=keep,
        )
        return output.logits[0].to(self._logits_on, torch.float32)

    @property
    def nbytes(self) -> int:
        return sum(layer.nbytes for layer in self._cache.layers)

    def rewind(self, length: int) -> None:
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot rewind a cache of {self.length} tokens to {length}")
        for layer in self._cache.layers:
            layer.rewind(length)


class GrowingLayer(DynamicLayer):
    """Keys and values of one layer in a buffer that grows by doubling.

    transformers' own layer copies the whole past at every step; here a step writes its
    tokens and a rewind moves a counter, so the time of a round does not grow with the
    context by more than attention itself.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit
        self._length = 0

    def update(self, key_states: Tensor, value_states: Tensor, *args, **kwargs) -> tuple[Tensor, Tensor]:
        end = self._length + key_states.shape[-2]
        if not self.is_initialized:
            self.dtype, self.device = key_states.dtype, key_states.device
            self.keys, self.values = self._buffer(key_states, end), self._buffer(value_states, end)
            self.is_initialized = True
        elif end > self.keys.shape[-2]:
            self.keys, self.values = self._grown(self.keys, end), self._grown(self.values, end)
        self.keys[..., self._length : end, :] = key_states
        self.values[..., self._length : end, :] = value_states
        self._length = end
        return self.keys[..., :end, :], self.values[..., :end, :]

    def get_seq_length(self) -> int:
        return self._length

    def rewind(self, length: int) -> None:
        # A pass that failed half-way has filled the first layers only, hence the minimum.
        self._length = min(self._length, length)
        if self._length == 0:
            self.keys, self.values, self.is_initialized = None, None, False

    @property
    def nbytes(self) -> int:
        """Memory of the buffers; an empty layer has none."""
        # Asked by others while a round goes on, so each buffer is looked at once.
        return sum(buffer.nbytes for buffer in (self.keys, self.values) if buffer is not None)

    def crop(self, tokens_to_remove: int) -> None:
        # transformers 5 passes the number of tokens to remove, as a negative number.
        self.rewind(self._length - abs(tokens_to_remove))

    def reset(self) -> None:
        super().reset()
        self._length = 0

    def _buffer(self, like: Tensor, needed: int) -> Tensor:
        room = max(needed, min(self._limit, max(256, 2 * needed)))
        return like.new_zeros(*like.shape[:-2], room, like.shape[-1])

    def _grown(self, old: Tensor, needed: int) -> Tensor:
        grown = self._buffer(old, needed)
        grown[..., : self._length, :] = old[..., : self._length, :]
        return grown


_REWINDABLE = (DynamicLayer, DynamicSlidingWindowLayer)


def rewindable_cache(config, limit: int) -> DynamicCache:
    """A transformers cache whose layers grow in place, or a refusal by name.

    Layers with a sliding window keep all keys here. transformers' own layer drops those that
    left the window, and a rewind could not bring them back; what a token may see is decided by
    the mask alone, which the model makes from its config and the number of keys.

    Args:
        config: the model's text config.
        limit: most tokens the cache will hold.
    """
    cache = DynamicCache(config=config)
    foreign = sorted({type(layer).__name__ for layer in cache.layers if type(layer) not in _REWINDABLE})
    if foreign:
        raise UnsupportedCache(
            f"this model keeps {', '.join(foreign)}, which cannot be rewound after a rejected draft"
        )
    cache.layers = [GrowingLayer(limit) for _ in range(config.num_hidden_layers)]
    return cache
