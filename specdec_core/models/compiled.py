"""Passes compiled for the processor by torch.compile, with a cache of fixed shape: an option.

On a GPU the same passes are captured as CUDA graphs instead; see ``captured``.

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
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from weakref import WeakValueDictionary

import torch
from torch import Tensor, nn

from specdec_core.models.errors import PairError
from specdec_core.models.fixed import LONGEST, Buffers, pass_of, shapes_of
from specdec_core.models.lean import LeanLlama, Product, fastest
from specdec_core.models.packed import PackedLinear
from specdec_core.models.progress import Cancelled, Meter

ROOM = 256
"""Tokens that a cache has room for at first; it grows by doubling."""

WARM_UP_TOKENS = (1, 2, 3, 1)


def cannot_compile(device: torch.device) -> str | None:
    """Why passes on a device cannot be compiled here, as a sentence, or None if they can."""
    if device.type == "cuda":
        return None  # CUDA graphs need no compiler
    if device.type != "cpu":
        return f"Passes are compiled for the processor and for CUDA, not for {device.type}."
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
        shapes: what it keeps of one token.
    """

    def __init__(self, passes: nn.Module | LeanLlama, title: str) -> None:
        self.config = passes.config.get_text_config()
        self._title, self._passes, self._pass = title, passes, pass_of(passes)
        self._compiled = torch.compile(self._pass, fullgraph=True, isolate_recompiles=True)
        self.shapes = shapes_of(passes)

    def sequence(self, logits_on: torch.device | None = None) -> "CompiledModel":
        """The model with an empty cache; ``logits_on`` as in ``CachedModel``."""
        return CompiledModel(self, logits_on)

    def compile(self, meter: Meter) -> None:
        """Make the graphs, by passes of the sizes that need one. Takes from seconds to minutes.

        Raises:
            PairError: this kind of model cannot be compiled; says why.
            Cancelled: the work was cancelled; noticed between two graphs.
        """
        model = self.sequence()
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
            for table in self._passes.reserve(places):
                torch._dynamo.mark_dynamic(table, 0)  # longer tables must not be compiled for anew

    def run(self, ids: Sequence[int], start: int, buffers: Buffers, keep: int) -> Tensor:
        """Logits of the last ``keep`` tokens, [keep, V] in the weights' format; writes keys and values.

        Args:
            ids: n tokens. start: number of tokens before them.
            buffers: keys and values, whose room is marked as a variable.
        """
        fed, keys, values = torch.tensor([ids]), buffers.keys, buffers.values
        if len(ids) > LONGEST:
            return self._pass(fed, torch.tensor(start), keys, values, keep)
        if len(ids) > 1:
            torch._dynamo.mark_dynamic(fed, 1)
        return self._compiled(fed, torch.tensor(start), keys, values, 0)[-keep:]


class CompiledModel:
    """A ``SequenceModel`` whose short passes are compiled.

    Args:
        steps: the passes. logits_on: as in ``CachedModel``.
    """

    def __init__(self, steps: CompiledSteps, logits_on: torch.device | None = None) -> None:
        self.vocab_size: int = steps.config.vocab_size
        self.context_length: int = steps.config.max_position_embeddings
        self._steps, self._logits_on = steps, logits_on
        self._buffers: Buffers | None = None
        self._length = 0

    @property
    def length(self) -> int:
        return self._length

    @property
    def nbytes(self) -> int:
        buffers = self._buffers
        return buffers.nbytes if buffers else 0

    @torch.inference_mode()
    def feed(self, ids: Sequence[int], keep: int) -> Tensor:
        end = self._length + len(ids)
        if self._buffers is None or end > self._buffers.room:
            self._buffers = self._grown(max(end, min(self.context_length, max(ROOM, 2 * end))))
        self._steps.reserve(end)
        logits = self._steps.run(list(ids), self._length, self._buffers, keep)
        self._length = end
        return logits.to(self._logits_on, torch.float32)

    def rewind(self, length: int) -> None:
        if not 0 <= length <= self._length:
            raise ValueError(f"cannot rewind a cache of {self._length} tokens to {length}")
        self._length = length
        if length == 0:
            self._buffers = None

    def _grown(self, room: int) -> Buffers:
        """Buffers with that much room, what was held so far copied."""
        made = Buffers(self._steps.shapes, room)
        if self._buffers:
            made.take(self._buffers, self._length)
        for buffer in (*made.keys, *made.values):
            torch._dynamo.mark_dynamic(buffer, buffer.ndim - 2)
        return made


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
