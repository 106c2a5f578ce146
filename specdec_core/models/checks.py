"""Whether a folder holds a whole model, in a format that is opened, and what identifies it."""

import hashlib
import json
import re
from pathlib import Path

from specdec_core.models.errors import PairError

NEEDED = ("config.json", "tokenizer.json")
INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
BLOCK = 1 << 20
DIGEST = re.compile(r"[0-9a-f]{64}")


def check_folder(folder: Path) -> None:
    """Refuse a folder that lacks what a model needs.

    Raises:
        PairError: naming the folder and what is missing.
    """
    if not folder.is_dir():
        raise PairError(f"The model folder {shown_name(folder)} does not exist.")
    if missing := missing_files(folder):
        raise PairError(f"The model folder {shown_name(folder)} lacks {', '.join(missing)}.")


def shown_name(folder: Path) -> str:
    """What a folder is called in messages: its name, or the hub id of one in the hub's cache.

    >>> shown_name(Path("hub/models--Qwen--Qwen3-0.6B/snapshots/0123abc"))
    'Qwen/Qwen3-0.6B'
    """
    if folder.parent.name == "snapshots":
        return folder.parent.parent.name.removeprefix("models--").replace("--", "/")
    return folder.name


def missing_files(folder: Path) -> list[str]:
    """Names of the files that a folder in Hugging Face format lacks; every shard of its weights counts."""
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    return missing + [path.name for path in weight_files(folder) if not path.is_file()]


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a folder, in order of their names: one, or the shards that its index lists.

    Raises:
        PairError: the index cannot be read, or names files elsewhere.
    """
    index = folder / INDEX
    if (folder / SINGLE).is_file() or not index.is_file():
        return [folder / SINGLE]
    try:
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise PairError(f"{INDEX} in {shown_name(folder)} cannot be read.") from error
    if not all(isinstance(name, str) and name == Path(name).name and name.strip(".") for name in names):
        raise PairError(f"{INDEX} in {shown_name(folder)} names files outside its folder.")
    return [folder / name for name in names]


def weight_bytes(folder: Path) -> int:
    """Size of a folder's weights on the disk, in bytes."""
    return sum(path.stat().st_size for path in weight_files(folder) if path.is_file())


def gguf_file(folder: Path) -> Path | None:
    """The one GGUF file of a folder, or None if it has none.

    Raises:
        PairError: there are several, and nothing says which is meant.
    """
    files = sorted(folder.glob("*.gguf"))
    if len(files) > 1:
        raise PairError(f"{folder.name} holds {len(files)} GGUF files; leave one of them in it.")
    return files[0] if files else None


def fingerprint(folder: Path) -> str:
    """SHA-256 of the folder's weights, in hex: what identifies a model in a trace.

    Of several shards, it is the digest of their digests, one a line in order of their names.
    """
    digests = [_digest(path) for path in weight_files(folder)]
    return digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _digest(path: Path) -> str:
    # The hub's cache names each large file by its SHA-256, which huggingface_hub keeps true.
    real = path.resolve()
    if real.parent.name == "blobs" and DIGEST.fullmatch(real.name):
        return real.name
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
