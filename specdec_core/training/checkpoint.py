"""Checkpoints of a training."""

from pathlib import Path
from typing import Any

import torch

from specdec_core.training.whole import replacing


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint; a reader sees the old one or the new one, never half of it."""
    with replacing(path) as partial:
        torch.save(state, partial)


def load_checkpoint(path: Path) -> dict[str, Any] | None:
    """The checkpoint at `path`, or None where there is none yet."""
    return torch.load(path, map_location="cpu", weights_only=True) if path.exists() else None
