"""Folders of the product's own cache, which appear whole or not at all.

A folder is filled beside its place under another name and moved there when it is complete, so
a process that is killed, a full disk or a cancelled download never leave half a model behind.
A lock file keeps two processes from making the same folder twice.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout

from specdec_core.models.progress import Meter

POLL = 0.2
"""Seconds between two tries for a lock that another process holds."""


def cache_dir() -> Path:
    """Where the product keeps what it fetched: ``SPECDEC_CACHE_DIR``, or ``specdec`` in the user's cache.

    The user's cache is ``XDG_CACHE_HOME`` or else ``~/.cache``.
    """
    if chosen := os.environ.get("SPECDEC_CACHE_DIR"):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "specdec"


def free_disk() -> int:
    """Free bytes where the product's cache lies, or will lie once it is made."""
    place = cache_dir().absolute()
    return shutil.disk_usage(next(path for path in (place, *place.parents) if path.is_dir())).free


def ensure(folder: Path, fill: Callable[[Path], None], meter: Meter) -> Path:
    """The folder, made by ``fill`` unless it is there; made once however many processes ask.

    Args:
        folder: where it shall be.
        fill: given an empty folder, puts everything in it.
        meter: told of the waiting; a cancelled meter ends it.

    Raises:
        Cancelled: the work was cancelled; nothing is left behind.
        OSError: the folder cannot be written.
        Exception: whatever ``fill`` raises; nothing is left behind.
    """
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = _acquired(folder.parent / f".{folder.name}.lock", meter)
    try:
        if not folder.is_dir():
            _make(folder, fill)
    finally:
        lock.release()
    return folder


def _acquired(path: Path, meter: Meter) -> FileLock:
    lock = FileLock(path)
    while True:
        try:
            lock.acquire(timeout=POLL)
            return lock
        except Timeout:
            meter.stage("waiting for another process that fetches the same model")


def _make(folder: Path, fill: Callable[[Path], None]) -> None:
    # Under the lock nobody else works here, so what lies about was left by a process that was killed.
    for stale in folder.parent.glob(f".{folder.name}.part-*"):
        shutil.rmtree(stale, ignore_errors=True)
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.part-", dir=folder.parent))
    try:
        fill(part)
        # Temporary folders are private; a cache that a classroom shares is read by all.
        for path in (part, *part.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
