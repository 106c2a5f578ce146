"""The seam between the loop and whatever proposes tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from .draws import Draws
from .types import DraftStop, Sampling


@dataclass(frozen=True)
class DraftRequest:
    """What a drafter is asked for in one round.

    Attributes:
        ids: the committed sequence, N tokens.
        limit: most tokens to propose.
        sampling: settings that shape q.
        draws: the run's uniforms; a draft draws with ``draws.draft(index, round)``.
        round: number of the round.
        end_ids: drafting stops after one of these.
    """

    ids: Sequence[int]
    limit: int
    sampling: Sampling
    draws: Draws
    round: int
    end_ids: frozenset[int]


@dataclass(frozen=True, eq=False)
class Proposal:
    """K proposed tokens and the laws that they were really drawn from.

    Attributes:
        ids: the tokens, K of them.
        probs: float64 [K, V], q at each place.
        logits: float32 [K, V], the draft's raw logits, for display.
        u: float64 [K], the uniform behind each draw.
        seconds: time of each step.
        stop: why no further token was proposed.
    """

    ids: tuple[int, ...]
    probs: Tensor
    logits: Tensor
    u: np.ndarray
    seconds: tuple[float, ...]
    stop: DraftStop

    @classmethod
    def nothing(cls, vocab_size: int, stop: DraftStop) -> "Proposal":
        """A proposal of no tokens: the round will be a plain step of the target."""
        empty = torch.empty(0, vocab_size)
        return cls((), empty.double(), empty, np.empty(0), (), stop)


class Drafter(Protocol):
    """Proposes tokens and is told what became of them.

    Attributes:
        name: shown and recorded as the draft in force.
        length: tokens in the drafter's cache, 0 if it keeps none.
    """

    name: str

    @property
    def length(self) -> int: ...

    def prefill(self, ids: Sequence[int]) -> None:
        """Read the prompt, so that its time is not counted as drafting."""
        ...

    def propose(self, request: DraftRequest) -> Proposal:
        """Up to ``request.limit`` tokens continuing ``request.ids``."""
        ...

    def observe(self, committed: int) -> None:
        """The round is over and the sequence now has ``committed`` tokens: forget what lies beyond."""
        ...
