"""From a folder in Hugging Face format to a module and its tokenizer: local files, safetensors, no code."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from specdec_core.models.checks import check_folder, shown_name, weight_bytes
from specdec_core.models.errors import PairError
from specdec_core.models.machine import free_memory, gpus
from specdec_core.models.placement import placement
from specdec_core.models.progress import Cancelled, Meter
from specdec_core.models.weights_progress import counted

LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}

POLL = 0.05
"""Seconds between two looks at whether one who waits has given up."""

_reading = threading.Lock()

T = TypeVar("T")


@contextmanager
def turn_to_read(meter: Meter) -> Iterator[None]:
    """Hold this while weights go into memory: one at a time, so that what is free can be relied on.

    Raises:
        Cancelled: the work was cancelled while it waited.
    """
    while not _reading.acquire(timeout=POLL):
        meter.stage("waiting for other weights to be read")
    try:
        yield
    finally:
        _reading.release()


def read_module(
    folder: Path, dtype: torch.dtype, device: torch.device | str = "cpu", meter: Meter | None = None
) -> PreTrainedModel:
    """The model of a folder, in eval mode, with weights that need no gradient.

    Args:
        folder: in Hugging Face format, with safetensors.
        dtype: number format of the weights in memory.
        device: where they lie; ``cuda`` without a number means wherever on the GPUs there is room.
        meter: told of the bytes; a cancelled meter ends the work.

    Raises:
        PairError: the folder lacks a file, or cannot be read.
        Cancelled: the work was cancelled.
    """
    check_folder(folder)
    meter, size = meter or Meter(), weight_bytes(folder)
    meter.stage(f"reading the weights of {shown_name(folder)}", size)
    place = torch.device(device)
    spread = _spread(folder, dtype) if place == torch.device("cuda") else {"": place}
    with counted(meter, size), _told(folder):
        onto = {"device_map": spread} if len(spread) > 1 else {}
        module = AutoModelForCausalLM.from_pretrained(
            folder, use_safetensors=True, dtype=dtype, **onto, **LOCAL
        )
    module.eval().requires_grad_(False)
    return module if onto else module.to(spread[""])


def _spread(folder: Path, dtype: torch.dtype) -> dict[str, int]:
    """Which GPU each part of the model goes to; ``{"": number}`` if all of it goes to one."""
    free = {device.index: free_memory(device) for device in gpus()}
    return placement(read_config(folder), dtype, free)


def read_config(folder: Path) -> PreTrainedConfig:
    """The configuration of a folder's model; fails as ``read_module`` does."""
    with _told(folder):
        return AutoConfig.from_pretrained(folder, **LOCAL)


def read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a folder; fails as ``read_module`` does. The last few stay at hand."""
    stamp = _told_once(folder, lambda: (folder / "tokenizer.json").stat().st_mtime_ns)
    return _tokenizer(folder, stamp)


@lru_cache(maxsize=4)
def _tokenizer(folder: Path, _stamp: int) -> PreTrainedTokenizerBase:
    return _told_once(folder, lambda: AutoTokenizer.from_pretrained(folder, **LOCAL))


def _told_once(folder: Path, read: Callable[[], T]) -> T:
    with _told(folder):
        return read()


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """Whatever goes wrong inside, in one line."""
    try:
        yield
    except (Cancelled, PairError):
        raise
    except Exception as error:
        # transformers raises whatever the file at fault makes it raise; all of it means the same here.
        reason = str(error).strip().split("\n")[0].replace(str(folder), shown_name(folder))
        raise PairError(f"The model in {shown_name(folder)} cannot be read: {reason}") from error
