"""Passes compiled for the processor by torch.compile, with a cache of fixed shape: an option.

Two graphs serve a model, one for a single token and one for several. In both the room of the
cache is a variable, and in the second the number of tokens too, so that a run never meets a size
that was not compiled. Longer inputs, such as a prompt, go through the same passes uncompiled.

The graphs belong to the loaded model and serve all its runs; keys and values belong to a run.

What it brings over lean passes on packed weights, milliseconds for 1, 2, 5 and 9 tokens (AMD EPYC with
AVX2, one thread, medians of passes in turns while others used the machine):

====================  ====================  ====================  =======================
model                 as it is              compiled              compiling, two graphs
====================  ====================  ====================  =======================
Folk tales            6.3, 8.8, 9.9, 11.0   5.5, 7.4, 8.8, 10.1   about a minute
Folk tales, draft     1.0, 1.5, 1.5, 1.7    1.1, 1.4, 1.5, 1.6    half a minute
SmolLM2 135M          69, 78, 102, 120      65, 73, 91, 112       three minutes
====================  ====================  ====================  =======================
"""

import os
import shutil
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from weakref import WeakValueDictionary

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache, CacheLayerMixin

from specdec_core.decoding.cache import rewindable_cache
from specdec_core.decoding.settings import MOST_DRAFTED
from specdec_core.models.errors import PairError
from specdec_core.models.lean import LeanLlama, Product, fastest
from specdec_core.models.packed import PackedLinear
from specdec_core.models.progress import Cancelled, Meter

LONGEST = MOST_DRAFTED + 2
"""Tokens up to which a pass is compiled: the drafts of a round and what was not fed yet."""

ROOM = 256
"""Tokens that a cache has room for at first; it grows by doubling."""

WARM_UP_TOKENS = (1, 2, 3, 1)


def cannot_compile(device: torch.device) -> str | None:
    """Why passes on a device cannot be compiled here, as a sentence, or None if they can."""
    if device.type != "cpu":
        return f"Passes are compiled for the processor alone, not for {device.type}."
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        return f"Compiling needs a C++ compiler; {compiler} is not installed."
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file():
        return "Compiling needs Python's header files (on Debian the package python3-dev)."
    return None


class CompiledSteps:
    """The compiled passes of one model, shared by all of its runs.

    Args:
        passes: the model on the processor, its packed layers ``opaque``.
        title: its name, for messages.

    Attributes:
        config: the model's text config.
        shapes: keys and values of each layer for one token, [1, heads, 1, size].
    """

    def __init__(self, passes: nn.Module | LeanLlama, title: str) -> None:
        self.config = passes.config.get_text_config()
        self._title, self._passes, self._pass = title, passes, _pass_of(passes)
        self._compiled = torch.compile(self._pass, fullgraph=True, isolate_recompiles=True)
        self.shapes = self._shapes(passes)

    def compile(self, meter: Meter) -> None:
        """Make the graphs, by passes of the sizes that need one. Takes from seconds to minutes.

        Raises:
            PairError: this kind of model cannot be compiled; says why.
            Cancelled: the work was cancelled; noticed between two graphs.
        """
        model = CompiledModel(self)
        for tokens in WARM_UP_TOKENS:
            what = "one token" if tokens == 1 else "several tokens"
            meter.stage(f"compiling {self._title} for passes of {what}, which may take a minute")
            try:
                model.feed([0] * tokens, keep=tokens)
            except Cancelled:
                raise
            except Exception as error:
                # What a compiler makes of somebody's model is as open as the model.
                kind = type(error).__name__
                raise PairError(f"{self._title} cannot be compiled ({kind}); run it as it is.") from error

    def reserve(self, places: int) -> None:
        """Have ready what a sequence of so many tokens needs."""
        if isinstance(self._passes, LeanLlama):
            self._passes.reserve(places)

    def run(self, ids: Tensor, start: Tensor, keys: list[Tensor], values: list[Tensor], keep: int) -> Tensor:
        """Logits of the last ``keep`` tokens, [keep, V] in the weights' format; writes keys and values.

        Args:
            ids: int64 [1, n]. start: int64 [], number of tokens before them.
            keys, values: a buffer for each layer, [1, heads, room, size].
        """
        tokens = ids.shape[1]
        if tokens > LONGEST:
            return self._pass(ids, start, keys, values, keep)
        if tokens > 1:
            torch._dynamo.mark_dynamic(ids, 1)
        return self._compiled(ids, start, keys, values, 0)[-keep:]

    def _shapes(self, passes: nn.Module | LeanLlama) -> list[tuple[Tensor, Tensor]]:
        cache = rewindable_cache(self.config, 1)
        with torch.inference_mode():
            passes(input_ids=torch.tensor([[0]]), cache=cache, use_cache=True, logits_to_keep=1)
        return [(layer.keys[..., :1, :], layer.values[..., :1, :]) for layer in cache.layers]


class CompiledModel:
    """A ``SequenceModel`` whose short passes are compiled.

    Args:
        steps: the passes. logits_on: as in ``CachedModel``.
    """

    def __init__(self, steps: CompiledSteps, logits_on: torch.device | None = None) -> None:
        self.vocab_size: int = steps.config.vocab_size
        self.context_length: int = steps.config.max_position_embeddings
        self._steps, self._logits_on = steps, logits_on
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []
        self._length = 0

    @property
    def length(self) -> int:
        return self._length

    @property
    def nbytes(self) -> int:
        return sum(buffer.nbytes for buffer in (*self._keys, *self._values))

    @torch.inference_mode()
    def feed(self, ids: Sequence[int], keep: int) -> Tensor:
        end = self._length + len(ids)
        if not self._keys or end > self._keys[0].shape[-2]:
            room = max(end, min(self.context_length, max(ROOM, 2 * end)))
            self._keys, self._values = (list(self._grown(part, room)) for part in (0, 1))
        self._steps.reserve(end)
        start = torch.tensor(self._length)
        logits = self._steps.run(torch.tensor([list(ids)]), start, self._keys, self._values, keep)
        self._length = end
        return logits.to(self._logits_on, torch.float32)

    def rewind(self, length: int) -> None:
        if not 0 <= length <= self._length:
            raise ValueError(f"cannot rewind a cache of {self._length} tokens to {length}")
        self._length = length
        if length == 0:
            self._keys, self._values = [], []

    def _grown(self, part: int, room: int) -> Iterator[Tensor]:
        """Buffers of keys (part 0) or values with that much room, what they held copied."""
        old = (self._keys, self._values)[part]
        for number, shapes in enumerate(self._steps.shapes):
            like = shapes[part]
            buffer = like.new_zeros(*like.shape[:-2], room, like.shape[-1])
            if old:
                buffer[..., : self._length, :] = old[number][..., : self._length, :]
            torch._dynamo.mark_dynamic(buffer, buffer.ndim - 2)
            yield buffer


class FixedLayer(CacheLayerMixin):
    """Keys and values of one layer in buffers that are there already; what is not written yet is masked.

    transformers makes the mask from the number of tokens before, which is a tensor here so that
    one graph serves every length.
    """

    is_compileable, is_sliding = True, False

    def __init__(self, keys: Tensor, values: Tensor, start: Tensor) -> None:
        super().__init__()
        self.keys, self.values, self._start = keys, values, start
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing is left to be made."""

    def update(self, key_states: Tensor, value_states: Tensor, *args, **kwargs) -> tuple[Tensor, Tensor]:
        places = self._start + torch.arange(key_states.shape[-2])
        self.keys.index_copy_(2, places, key_states)
        self.values.index_copy_(2, places, value_states)
        return self.keys, self.values

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.keys.shape[-2], 0

    def get_seq_length(self) -> Tensor:
        return self._start

    def get_max_length(self) -> int:
        return self.keys.shape[-2]


def _pass_of(passes: nn.Module | LeanLlama) -> Callable[..., Tensor]:
    """One pass as a function of tensors alone, which is what can be compiled; see ``CompiledSteps.run``."""

    def whole(ids: Tensor, start: Tensor, keys: list[Tensor], values: list[Tensor], keep: int) -> Tensor:
        cache = Cache(layers=_layers_of(keys, values, start))
        return passes(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=keep).logits[0]

    def lean(ids: Tensor, start: Tensor, keys: list[Tensor], values: list[Tensor], keep: int) -> Tensor:
        places = start + torch.arange(ids.shape[1])
        later = torch.arange(keys[0].shape[-2]) > places.unsqueeze(1)
        mask = torch.zeros(later.shape, dtype=keys[0].dtype).masked_fill(later, -torch.inf)
        return passes.logits(ids[0], places, mask, _layers_of(keys, values, start), keep)

    return lean if isinstance(passes, LeanLlama) else whole


def _layers_of(keys: list[Tensor], values: list[Tensor], start: Tensor) -> list[FixedLayer]:
    return [FixedLayer(*pair, start) for pair in zip(keys, values, strict=True)]


class Opaque(nn.Module):
    """A packed layer that a graph calls by its number: the compiler cannot look at packed weights."""

    def __init__(self, layer: PackedLinear) -> None:
        super().__init__()
        self.layer, self._number, self._size = layer, next(_numbers), layer._size[0]
        _layers[self._number] = layer

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        return torch.ops.specdec.packed(x, self._number, self._size)


def opaque(module: nn.Module) -> nn.Module:
    """Let a compiler see every packed layer inside a module as a whole; in place.

    Example:
        >>> x, layer = torch.randn(3, 8), PackedLinear(nn.Linear(8, 4))
        >>> with torch.inference_mode():
        ...     torch.equal(opaque(nn.Sequential(layer))(x), layer(x))
        True
    """
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is PackedLinear:
                setattr(parent, name, Opaque(child))
    return module


def traceable(weight: Tensor) -> Product:
    """The product with a weight in its fastest layout, for a lean model that is to be compiled."""
    (layer,) = opaque(nn.Sequential(fastest(weight).__self__))
    return layer.forward


_numbers = count()
_layers: WeakValueDictionary[int, PackedLinear] = WeakValueDictionary()
_library = torch.library.Library("specdec", "DEF")
_library.define("packed(Tensor x, int number, int size) -> Tensor")
_library.impl("packed", lambda x, number, size: _layers[number].forward(x), "CPU")
_library.impl("packed", lambda x, number, size: x.new_empty(*x.shape[:-1], size), "Meta")
