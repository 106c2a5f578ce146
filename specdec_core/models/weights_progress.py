"""Progress, and an end on request, while transformers reads weights.

transformers has one hook for the whole process in place of its progress bars, and a bar of its
own where it reads GGUF. Both are replaced once, and then serve each thread that loads with a
meter of its own; what other threads show stays as it was.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from transformers import modeling_gguf_pytorch_utils as gguf_reading
from transformers.utils import logging

from specdec_core.models.progress import Meter

SAFETENSORS, GGUF, WRITING = (
    "Loading weights",
    "Converting and de-quantizing GGUF tensors...",
    "Writing model shards",
)
"""How transformers describes its loops over a model's tensors."""

_thread = threading.local()
_installing = threading.Lock()
_installed = False


@contextmanager
def counted(meter: Meter, total: int, loop: str = SAFETENSORS) -> Iterator[None]:
    """Let ``meter`` follow the weights that this thread loads inside the ``with`` block.

    Args:
        meter: its present stage is filled; once cancelled, loading ends with ``Cancelled``.
        total: bytes of the files.
        loop: which of transformers' loops takes the time.
    """
    _install()
    _thread.followed = meter, total, loop
    try:
        yield
    finally:
        _thread.followed = None


def _install() -> None:
    global _installed
    with _installing:
        if not _installed:
            _installed = True
            theirs, bar = logging.set_tqdm_hook(None), gguf_reading.tqdm
            default = theirs or (lambda factory, args, options: factory(*args, **options))
            logging.set_tqdm_hook(lambda *call: _bar(default, *call))
            gguf_reading.tqdm = lambda *args, **options: _bar(default, bar, args, options)


def _bar(default: Callable, factory: Callable, args: tuple, options: dict[str, Any]) -> Any:
    followed = getattr(_thread, "followed", None)
    if followed is None:
        return default(factory, args, options)
    meter, total, loop = followed
    if args and options.get("desc") == loop:
        return _counting(list(args[0]), meter, total)
    return logging.EmptyTqdm(*args, **options)


def _counting(items: list, meter: Meter, total: int) -> Iterable:
    # Tensors differ in size, yet one layer's are like the next one's: the share is near enough.
    for number, item in enumerate(items):
        meter.reach(total * number // len(items))
        yield item
    meter.reach(total)
