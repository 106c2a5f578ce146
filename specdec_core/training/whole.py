"""Files that a crash cannot spoil: written beside the old one, then renamed over it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write what shall stand at ``path`` once the block has ended without an error.

    A reader sees the old file or the new one, never half of it. The folder is made if need be.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "report.txt"
        >>> with replacing(path) as partial:
        ...     _ = partial.write_text("done")
        ...     path.exists()
        False
        >>> path.read_text()
        'done'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    yield partial
    os.replace(partial, path)


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8 as a whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
