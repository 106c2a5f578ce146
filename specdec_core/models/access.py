"""Which models a person may name: hub ids and folders, checked before anything is opened.

Names come from address bars and text fields, so they are taken apart here and nowhere else.
A folder must lie inside ``SPECDEC_MODELS_DIR`` after all symbolic links are followed, with
every file in it. On a public server ``SPECDEC_ALLOWED_MODELS`` lists what visitors may use.
"""

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from specdec_core.models.errors import PairError
from specdec_core.models.specs import ModelRef

PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
HUB_ID = re.compile(rf"{PART}(?:/{PART})?")
MOST_FILES = 10_000
FOLDER = re.compile(rf"{PART}(?:/{PART}){{0,3}}")


def models_dir() -> Path | None:
    """The folder with a person's own models, ``SPECDEC_MODELS_DIR``; None if it is not set."""
    chosen = os.environ.get("SPECDEC_MODELS_DIR")
    return Path(chosen).expanduser().resolve() if chosen else None


def allowed_patterns() -> tuple[str, ...] | None:
    """The patterns of ``SPECDEC_ALLOWED_MODELS``, split at commas; None if everything is allowed."""
    listed = os.environ.get("SPECDEC_ALLOWED_MODELS")
    if listed is None:
        return None
    return tuple(filter(None, (pattern.strip() for pattern in listed.split(","))))


def check_allowed(model: ModelRef) -> None:
    """Refuse a model that this server does not offer.

    Models that ship with the project are always offered.

    Raises:
        PairError: naming the model.
    """
    patterns = allowed_patterns()
    if patterns is None or model.shipped:
        return
    names = {model.name, model.hub_id or model.name}
    if not any(fnmatchcase(name, pattern) for name in names for pattern in patterns):
        raise PairError(f"This server does not offer {model.title}.")


def hub_model(hub_id: str) -> ModelRef:
    """A model by its hub id, such as ``Qwen/Qwen3-0.6B``.

    Raises:
        PairError: the text is no hub id.

    Example:
        >>> hub_model("Qwen/Qwen3-0.6B").title
        'Qwen3-0.6B'
        >>> hub_model("../secrets")
        Traceback (most recent call last):
        ...
        specdec_core.models.errors.PairError: '../secrets' is no hub id. One looks like Qwen/Qwen3-0.6B.
    """
    odd = ".." in hub_id or "--" in hub_id or hub_id.endswith((".git", ".", "-"))
    if odd or not HUB_ID.fullmatch(hub_id):
        raise PairError(f"{hub_id[:100]!r} is no hub id. One looks like Qwen/Qwen3-0.6B.")
    return ModelRef(name=hub_id, title=hub_id.rpartition("/")[2], hub_id=hub_id)


def folder_model(name: str) -> ModelRef:
    """A model by its folder's name inside ``SPECDEC_MODELS_DIR``.

    Raises:
        PairError: the variable is not set, there is no such folder, or it leads out of the models folder.
    """
    root = models_dir()
    if root is None:
        raise PairError("SPECDEC_MODELS_DIR is not set, so there are no folders to choose from.")
    if not FOLDER.fullmatch(name) or ".." in name:
        raise PairError(f"{name[:100]!r} is no name of a model's folder.")
    folder = root / name
    check_inside(folder, root)
    return ModelRef(name=name, title=folder.name, folder=folder)


def check_inside(folder: Path, root: Path) -> None:
    """Refuse a folder that is not there, or that reaches out of ``root`` by itself or with a file.

    Raises:
        PairError: naming the folder, and nothing of what lies outside.
    """
    if not folder.is_dir():
        raise PairError(f"There is no folder {folder.name} among the models.")
    for count, path in enumerate(_everything_in(folder)):
        if count > MOST_FILES:
            raise PairError(f"{folder.name} holds more than {MOST_FILES:,} files; it is not opened.")
        if not _lies_in(path, root):
            raise PairError(f"{path.name} in {folder.name} leads out of the models folder; it is not opened.")


def _everything_in(folder: Path) -> Iterator[Path]:
    """The folder and all that lies in it at any depth; links are named, not followed."""
    yield folder
    for place, folders, files in os.walk(folder):
        yield from (Path(place, name) for name in (*folders, *files))


def _lies_in(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # links that lead to each other for ever
        return False


def folder_names() -> list[str]:
    """Names of the folders inside ``SPECDEC_MODELS_DIR`` that hold a model, sorted."""
    root = models_dir()
    if root is None or not root.is_dir():
        return []
    found = {path.parent for level in ("*", "*/*") for path in root.glob(f"{level}/config.json")}
    found |= {path.parent for level in ("*", "*/*") for path in root.glob(f"{level}/*.gguf")}
    names = sorted(path.relative_to(root).as_posix() for path in found)
    return [name for name in names if FOLDER.fullmatch(name) and ".." not in name]
