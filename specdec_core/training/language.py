"""Learning and measuring a language model on a stream of tokens."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from specdec_core.training.batches import gather, window_starts
from specdec_core.training.loop import Loss, Place


def next_token_loss(stream: np.ndarray, seed: int) -> Loss:
    """Mean cross-entropy in nats a token over the windows of a step."""

    def loss(model: nn.Module, place: Place) -> Tensor:
        starts = window_starts(len(stream), place.window, place.batch, place.step, seed)
        ids = torch.from_numpy(gather(stream, starts, place.window + 1))
        logits = model(ids[:, :-1], use_cache=False).logits
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())

    return loss


@torch.no_grad()
def nats(model: nn.Module, stream: np.ndarray, window: int = 512) -> float:
    """Total surprise of a stream in nats, in windows whose first half is context only.

    Every token but the first is counted once, with at least half a window before it
    (less at the very front of the stream).
    """
    total, half = 0.0, window // 2
    for start in range(0, len(stream) - 1, half):
        ids = torch.from_numpy(stream[max(0, start - half) : start + half + 1])[None]
        counted = min(half, len(stream) - 1 - start)
        logits = model(ids[:, :-1], use_cache=False).logits[0, -counted:]
        total += F.cross_entropy(logits, ids[0, -counted:], reduction="sum").item()
    return total


def nats_per_character(model: nn.Module, stream: np.ndarray, characters: int) -> float:
    """Surprise per character: comparable between tokenizers, unlike nats per token."""
    value = nats(model, stream) / characters
    if not math.isfinite(value):
        raise FloatingPointError("the model's loss on held-out text is not finite")
    return value
