"""Checkpoints that a crash cannot spoil: written beside the old one, then renamed over it."""

import os
from pathlib import Path
from typing import Any

import torch


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint; a reader sees the old one or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    os.replace(partial, path)


def load_checkpoint(path: Path) -> dict[str, Any] | None:
    """The checkpoint at `path`, or None where there is none yet."""
    return torch.load(path, map_location="cpu", weights_only=True) if path.exists() else None
