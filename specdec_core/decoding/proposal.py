"""The seam between the loop and whatever proposes tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from .draws import Draws
from .filters import one_hot
from .origin import Origin
from .types import DraftStop, Sampling
from .upload import upload


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


@dataclass(frozen=True)
class Vocabulary:
    """What a drafter without a model must know of the target.

    Attributes:
        size: V, number of logits.
        device: where the target's laws are, so that q is made there and never copied.
    """

    size: int
    device: torch.device = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class Proposal:
    """K proposed tokens and the laws that they were really drawn from.

    Attributes:
        ids: the tokens, K of them.
        probs: float64 [K, V], q at each place.
        logits: float32 [K, V], the draft's raw logits, for display; None where no model stands behind q.
        u: float64 [K], the uniform behind each draw. A one-hot q gives its token at any u.
        seconds: time of each step.
        stop: why no further token was proposed.
        origin: who proposed, and how the tokens were chosen.
    """

    ids: tuple[int, ...]
    probs: Tensor
    logits: Tensor | None
    u: np.ndarray
    seconds: tuple[float, ...]
    stop: DraftStop
    origin: Origin = Origin()

    @classmethod
    def nothing(cls, vocab_size: int, stop: DraftStop) -> "Proposal":
        """A proposal of no tokens: the round will be a plain step of the target."""
        empty = torch.empty(0, vocab_size)
        return cls((), empty.double(), empty, np.empty(0), (), stop)

    @classmethod
    def certain(
        cls,
        ids: Sequence[int],
        request: DraftRequest,
        vocab: Vocabulary,
        seconds: Sequence[float],
        stop: DraftStop,
        origin: Origin,
    ) -> "Proposal":
        """Tokens that were chosen, not drawn: q is one-hot, and there are no logits.

        The uniforms of these draws are recorded like any others, so that runs with another
        draft stay comparable; a one-hot q gives the same token whatever they are.
        """
        start = len(request.ids)
        u = [request.draws.draft(start + place, request.round) for place in range(len(ids))]
        probs = one_hot(upload(ids, vocab.device), vocab.size)
        return cls(tuple(ids), probs, None, np.array(u), tuple(seconds), stop, origin)


class Drafter(Protocol):
    """Proposes tokens and is told what became of them.

    Attributes:
        name: shown and recorded as the draft in force.
        length: tokens in the drafter's cache, 0 if it keeps none.
        nbytes: memory that the cache takes.
    """

    name: str

    @property
    def length(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    def prefill(self, ids: Sequence[int]) -> None:
        """Read the prompt, so that its time is not counted as drafting."""
        ...

    def propose(self, request: DraftRequest) -> Proposal:
        """Up to ``request.limit`` tokens continuing ``request.ids``."""
        ...

    def observe(self, committed: int) -> None:
        """The round is over and the sequence now has ``committed`` tokens: forget what lies beyond."""
        ...
