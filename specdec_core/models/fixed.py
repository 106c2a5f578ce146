"""One pass of a model over buffers of fixed shape: what can be compiled, or captured as a graph.

Where a sequence stands is a tensor, and what is not written yet is masked, so that one graph
serves every length.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache, CacheLayerMixin

from specdec_core.decoding.cache import rewindable_cache
from specdec_core.decoding.settings import MOST_DRAFTED
from specdec_core.models.lean import LeanLlama

LONGEST = MOST_DRAFTED + 2
"""Tokens up to which a pass is compiled or captured: the drafts of a round and what was not fed yet."""

Pass = Callable[[Tensor, Tensor, Sequence[Tensor], Sequence[Tensor], int], Tensor]
"""``(ids [1, n], start [], keys, values, keep) -> [keep, V]``, of all n tokens if ``keep`` is 0.

``start`` is the number of tokens before these. Keys and values hold a buffer for each layer,
[1, heads, room, size], into which those of the n tokens are written.
"""

Shapes = Sequence[tuple[Tensor, Tensor]]
"""Keys and values of each layer for one token, [1, heads, 1, size]: in what shape, format and place."""


class Buffers:
    """Keys and values of all layers, each in a tensor of fixed shape.

    Args:
        shapes: as ``shapes_of`` gives them. room: tokens that they hold.
    """

    @torch.inference_mode()
    def __init__(self, shapes: Shapes, room: int) -> None:
        self.room = room
        self.keys, self.values = (
            [each[part].new_zeros(*each[part].shape[:-2], room, each[part].shape[-1]) for each in shapes]
            for part in (0, 1)
        )

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in (*self.keys, *self.values))

    def within(self, room: int) -> tuple[list[Tensor], list[Tensor]]:
        """Keys and values as if there were room for fewer tokens; the memory is the same."""
        keys, values = ([each[..., :room, :] for each in part] for part in (self.keys, self.values))
        return keys, values

    def take(self, other: "Buffers", count: int) -> None:
        """Copy the first ``count`` tokens of other buffers."""
        theirs = (*other.keys, *other.values)
        for mine, their in zip((*self.keys, *self.values), theirs, strict=True):
            mine[..., :count, :] = their[..., :count, :]


class FixedLayer(CacheLayerMixin):
    """Keys and values of one layer in buffers that are there already; what is not written yet is masked.

    transformers makes the mask from the number of tokens before, which is a tensor here.
    """

    is_compileable, is_sliding = True, False

    def __init__(self, keys: Tensor, values: Tensor, start: Tensor) -> None:
        super().__init__()
        self.keys, self.values, self._start = keys, values, start
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing is left to be made."""

    def update(self, key_states: Tensor, value_states: Tensor, *args, **kwargs) -> tuple[Tensor, Tensor]:
        places = self._start + torch.arange(key_states.shape[-2], device=self._start.device)
        self.keys.index_copy_(2, places, key_states)
        self.values.index_copy_(2, places, value_states)
        return self.keys, self.values

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.keys.shape[-2], 0

    def get_seq_length(self) -> Tensor:
        return self._start

    def get_max_length(self) -> int:
        return self.keys.shape[-2]


def shapes_of(passes: nn.Module | LeanLlama) -> Shapes:
    """What a model keeps of one token, from a pass over one."""
    cache = rewindable_cache(passes.config.get_text_config(), 1)
    device = next(passes.parameters()).device
    with torch.inference_mode():
        ids = torch.zeros(1, 1, dtype=torch.int64, device=device)
        passes(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=1)
    return [(layer.keys[..., :1, :], layer.values[..., :1, :]) for layer in cache.layers]


def pass_of(passes: nn.Module | LeanLlama) -> Pass:
    """A model's pass as a function of tensors alone."""

    def whole(ids: Tensor, start: Tensor, keys: list[Tensor], values: list[Tensor], keep: int) -> Tensor:
        cache = Cache(layers=_layers_of(keys, values, start))
        return passes(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=keep).logits[0]

    def lean(ids: Tensor, start: Tensor, keys: list[Tensor], values: list[Tensor], keep: int) -> Tensor:
        places = start + torch.arange(ids.shape[1])
        later = torch.arange(keys[0].shape[-2]) > places.unsqueeze(1)
        mask = torch.zeros(later.shape, dtype=keys[0].dtype).masked_fill(later, -torch.inf)
        return passes.logits(ids[0], places, mask, _layers_of(keys, values, start), keep)

    return lean if isinstance(passes, LeanLlama) else whole


def _layers_of(keys: Sequence[Tensor], values: Sequence[Tensor], start: Tensor) -> list[FixedLayer]:
    return [FixedLayer(*pair, start) for pair in zip(keys, values, strict=True)]
