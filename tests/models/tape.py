"""A stand-in for a CUDA graph on the processor: it repeats operations just as they were captured."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only
from transformers.utils import import_utils


class HostRead(RuntimeError):
    """Work that is captured asked for a value, which is not computed yet."""


class Tape(TorchDispatchMode):
    """Notes every operation with its arguments; control flow and numbers are frozen as in a graph."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[tuple] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        # Numbers, and sizes that depend on them, are what the host has to wait for: CUDA refuses those.
        if not isinstance(made, Tensor | tuple | list) or function is torch.ops.aten.nonzero.default:
            raise HostRead(str(function))
        self._calls.append((function, args, kwargs or {}, made))
        return made

    def repeat(self, result: Tensor) -> Tensor:
        """Do it all again on what the tensors hold now; the result lies where it lay the first time."""
        new: dict[int, Tensor] = {}

        def current(each: Tensor) -> Tensor:
            return new.get(id(each), each)

        for function, args, kwargs, made in self._calls:
            args, kwargs = tree_map_only(Tensor, current, (args, kwargs))
            again = function(*args, **kwargs)
            before, after = ([each] if isinstance(each, Tensor) else each for each in (made, again))
            new |= {id(old): each for old, each in zip(before, after, strict=True)}
        return result.copy_(new[id(result)])


def capture(work: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """Capture work as ``captured.CudaGraphs`` does: once to warm up, once on tape."""
    work()
    tape = Tape()
    with _told_that_it_captures(), tape:
        result = work()
    return torch.inference_mode()(lambda: tape.repeat(result))


@contextmanager
def _told_that_it_captures() -> Iterator[None]:
    """transformers asks CUDA whether a capture goes on, and then reads nothing on the host."""
    asked = import_utils.is_cuda_stream_capturing
    import_utils.is_cuda_stream_capturing = lambda: True
    try:
        yield
    finally:
        import_utils.is_cuda_stream_capturing = asked
