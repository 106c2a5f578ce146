"""What is there to run models with: devices, libraries, folders, models, and why anything is not."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import torch

from specdec_core.models import hub
from specdec_core.models.access import allowed_patterns, folder_names, models_dir
from specdec_core.models.cached_folder import cache_dir, free_disk
from specdec_core.models.checklist import gib
from specdec_core.models.errors import PairError
from specdec_core.models.machine import (
    default_dtype,
    device_name,
    devices,
    free_memory,
    processor_name,
    usable_cores,
)
from specdec_core.models.packed import can_pack
from specdec_core.models.registry import PAIRS
from specdec_core.models.sources import on_this_machine
from specdec_core.models.specs import ModelRef, PairSpec, in_words

LIBRARIES = {
    "torch": "",
    "transformers": "",
    "tokenizers": "",
    "safetensors": "",
    "huggingface_hub": "models from the hub cannot be fetched",
    "accelerate": "GGUF files cannot be opened, and no model can be spread over several GPUs",
    "gguf": "GGUF files cannot be opened",
    "streamlit": "the app cannot start; the command line works",
    "pip": "packages with models cannot be fetched",
}
"""Libraries, and what does not work without them; "" for those that everything needs."""


@dataclass(frozen=True)
class Finding:
    """One line of the inventory.

    Attributes:
        what: the thing.
        there: whether it is there, or fits.
        words: how it is, or why it is not there and what to do.
    """

    what: str
    there: bool
    words: str


@dataclass(frozen=True)
class Inventory:
    """Everything that was found, by subject."""

    devices: tuple[Finding, ...]
    libraries: tuple[Finding, ...]
    folders: tuple[Finding, ...]
    models: tuple[Finding, ...]
    pairs: tuple[Finding, ...]


def take_inventory() -> Inventory:
    """Look at this machine. Nothing is fetched; the hub is asked once whether it answers."""
    online = hub.answers()
    models = {model.name: model for spec in PAIRS.values() for model in spec.models}
    own = (Finding(f"folder:{name}", True, "in SPECDEC_MODELS_DIR") for name in folder_names())
    return Inventory(
        devices=tuple(_devices()),
        libraries=tuple(map(_library, LIBRARIES)),
        folders=tuple(_folders(online)),
        models=(*(_model(model, online) for model in models.values()), *own),
        pairs=tuple(_pair(spec, online) for spec in PAIRS.values()),
    )


def _devices() -> Iterator[Finding]:
    for device in devices():
        free = free_memory(device)
        name = device_name(device)
        if device.type == "cpu":
            packed = "weights packed by oneDNN" if can_pack() else "no oneDNN, so weights are not packed"
            name = f"cpu, {processor_name()}, {usable_cores()} cores, {packed}"
        memory = "free memory unknown" if free is None else f"{gib(free)} free"
        dtype = str(default_dtype(device)).removeprefix("torch.")
        yield Finding(name, True, f"{memory}; weights in {dtype}")
    if not torch.cuda.is_available():
        yield Finding("cuda", False, _no_cuda())
    if not torch.backends.mps.is_available():
        why = "no Apple GPU here" if not torch.backends.mps.is_built() else "this macOS offers none"
        yield Finding("mps", False, why)


def _no_cuda() -> str:
    if torch.version.cuda is None:
        return f"this torch ({torch.__version__}) was built without CUDA; install the build with it for a GPU"
    return "torch was built with it, but finds no NVIDIA GPU or no driver"


def _library(name: str) -> Finding:
    try:
        return Finding(name, True, version(name))
    except PackageNotFoundError:
        lost = LIBRARIES[name] or "nothing works without it"
        return Finding(name, False, f"not installed: {lost}")


def _folders(online: bool) -> Iterator[Finding]:
    yield Finding("cache", True, f"{cache_dir()}, {gib(free_disk())} of disk free")
    own = models_dir()
    if own is None:
        yield Finding("SPECDEC_MODELS_DIR", False, "not set; set it to a folder with models of your own")
    else:
        yield Finding(
            "SPECDEC_MODELS_DIR", own.is_dir(), f"{own}" + ("" if own.is_dir() else " does not exist")
        )
    patterns = allowed_patterns()
    limited = "everything" if patterns is None else ", ".join(patterns) or "only what comes with the project"
    yield Finding("allowed models", True, limited)
    yield Finding(
        "hub", online, "answers" if online else "does not answer; only what is on this machine can run"
    )
    token = (
        "set; it is sent to the hub only"
        if os.environ.get("HF_TOKEN")
        else "not set; needed for gated models"
    )
    yield Finding("HF_TOKEN", bool(os.environ.get("HF_TOKEN")), token)


def _model(model: ModelRef, online: bool) -> Finding:
    size = f"{in_words(model.parameters)} parameters, " if model.parameters else ""
    reason = _missing(model, online)
    return Finding(model.name, not reason, size + (reason or on_this_machine(model).source.value))


def _missing(model: ModelRef, online: bool) -> str:
    """Why a model is not on this machine, and what to do; "" if it is."""
    try:
        if on_this_machine(model):
            return ""
    except PairError as error:
        return str(error)
    if online and model.gated and not os.environ.get("HF_TOKEN"):
        return "gated: accept its terms on the hub and set HF_TOKEN"
    if online or model.package:
        return f"not here yet: python -m specdec_core fetch {model.name}"
    return "not here, and the hub does not answer: put its folder into SPECDEC_MODELS_DIR"


def _pair(spec: PairSpec, online: bool) -> Finding:
    missing = {model.name: reason for model in spec.models if (reason := _missing(model, online))}
    reasons = [f"{', '.join(missing)}: see above"] if missing else []
    free = free_memory(devices()[0])
    if spec.memory and free is not None and spec.memory > free:
        reasons.append(f"needs {gib(spec.memory)} of memory, {gib(free)} are free")
    fits = f"runs here, needs {gib(spec.memory)}" if spec.memory else "runs here"
    return Finding(spec.key, not reasons, "; ".join(reasons) or fits)
