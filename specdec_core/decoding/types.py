"""The words of the algorithm as types: verdicts, one round and its record, and ``settings``.

Notation follows Leviathan et al. 2023 (arXiv 2211.17192): ``p`` is the target's
probability, ``q`` the draft's, γ (``gamma``) the number of tokens a round may draft,
K the number it did draft. A round looks at K + 1 *places*: one for each drafted token
and one for the bonus. Everything here is immutable and holds numpy arrays, never torch
tensors, so that a recorded round can be stored, sent and compared.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

import numpy as np

from .origin import Origin

# Settings are part of the vocabulary too: whoever speaks of rounds needs no second address for them.
from .settings import RoundSettings as RoundSettings
from .settings import RuleName as RuleName
from .settings import RunSettings as RunSettings
from .settings import Sampling as Sampling

TOP = 32
"""How many of the most probable tokens a full record keeps for each place."""


class Verdict(IntEnum):
    """What became of one drafted token."""

    ACCEPTED = 0
    REJECTED = 1
    NOT_TESTED = 2  # a draft before it was rejected
    NOT_NEEDED = 3  # the run ended before it; in no denominator


class Source(IntEnum):
    """Where one emitted token came from. There are no other sources."""

    ACCEPTED = 0  # drafted and kept
    CORRECTION = 1  # the target's token at the first place that failed
    BONUS = 2  # the target's token after all drafts were accepted


class DraftStop(StrEnum):
    """Why a round drafted no further token."""

    GAMMA = "draft length reached"
    END_TOKEN = "an end token was drafted"
    LIMIT = "the token limit leaves no room"
    CONTEXT = "the context is full"
    DRAFT_CONTEXT = "the draft's context is full"
    EMPTY = "nothing was proposed"
    NO_MATCH = "no earlier text matches"
    UNLIKELY = "no continuation was likely enough"


class EndReason(StrEnum):
    """Why a run ended."""

    END_TOKEN = "end token"
    STOP_STRING = "stop string"
    LIMIT = "token limit"
    CONTEXT = "context full"


Stop = Callable[[Sequence[int]], tuple[int, EndReason] | None]
"""Given all emitted tokens, how many of them to keep and why the run ends, or None to go on.

The count is that of the tokens up to the first at which the condition is met, that one included,
so that the run ends at the same token however many are looked at together.
"""


@dataclass(frozen=True)
class Prefill:
    """Seconds that reading the prompt took.

    Attributes:
        target, draft: seconds of each model's pass over the prompt.
        tokens: tokens read; the prompt's last one is fed with the first round.
    """

    target: float
    draft: float
    tokens: int


@dataclass(frozen=True)
class RoundTimes:
    """Wall-clock seconds of one round; all parts but ``record`` add up to ``total``.

    Attributes:
        draft: seconds of each draft step, model and draw together.
        verify: seconds of the one target pass.
        sample: seconds of testing the drafts and drawing the target's token.
        other: everything else that decoding needs.
        record: seconds of making the record: the price of looking, which no speed contains.
    """

    draft: tuple[float, ...] = ()
    verify: float = 0.0
    sample: float = 0.0
    other: float = 0.0
    record: float = 0.0

    @property
    def total(self) -> float:
        """Seconds of the round itself, its record aside."""
        return sum(self.draft) + self.verify + self.sample + self.other


@dataclass(frozen=True)
class RoundFlags:
    """Circumstances that make a round's times useless as a measure of speed.

    Attributes:
        cold: among the first rounds after loading, while kernels warm up, or the first after the
            run's caches were given back, which reads the whole sequence anew.
        contended: another run used the device at the same time or waited for it.
        single: stepped on its own by a person, so that caches went cold before it.
    """

    cold: bool = False
    contended: bool = False
    single: bool = False

    @property
    def clean(self) -> bool:
        """Whether the round's times may enter a speed."""
        return not (self.cold or self.contended or self.single)


@dataclass(frozen=True, eq=False)
class TopTokens:
    """The most probable tokens of each place under one distribution, most probable first.

    Ties are in the order of their ids. ``p`` and ``q`` are given for every listed token, so
    the residual (p − q)₊ follows. They are the law's, or the soft ones where the law is an
    argmax (greedy, temperature 0).

    No draft was made at the last place, so q is NaN there; and in the rankings by q and by the
    residual, which have nothing to rank there, so are p and rest, and the ids are 0 and mean nothing.

    Attributes:
        ids: int32 [K+1, T], T = min(TOP, V).
        p: float64 [K+1, T], the target's probability.
        q: float64 [K+1, T], the draft's.
        rest: float64 [K+1], mass of the ranking distribution left out.
    """

    ids: np.ndarray
    p: np.ndarray
    q: np.ndarray
    rest: np.ndarray


@dataclass(frozen=True, eq=False)
class Places:
    """The full record of a round's K + 1 places; rows [K] exclude the bonus place.

    Attributes:
        p, q: float64 [K], the law's probabilities of the drafted token.
        soft_p, soft_q: float64 [K], softmax at the temperature before any filter or argmax.
        draft_u, accept_u: float64 [K], the uniforms behind the draft's draw and the test.
        correct_u: float64 [K+1], the uniform behind the target's own token.
        replacement: int32 [K+1], the token the target would put here: the correction had this
            place been the first to fail, or the bonus at the last place.
        draft_interval: float64 [K, 2], [lo, hi) of the cumulative q behind the drafted token.
        replacement_interval: float64 [K+1, 2], the same for ``replacement`` in its own law.
        overlap: float64 [K], β = Σ min(p, q) (Leviathan et al., Definition 3.1 and Theorem 3.5).
        expected: float64 [K], chance that the rule in force keeps a draft drawn here.
        residual_fallback: bool [K], the residual had no mass, so p stands in for it.
        target_entropy: float64 [K+1], draft_entropy: float64 [K], in nats, of the law or, where
            that is an argmax, of the softmax.
        kl: float64 [K], KL(p‖q) in nats of the same; infinite where q misses mass of p.
        rank: int32 [K], rank of the drafted token in the soft p, 0 for the most probable.
        gap: float64 [K+1], difference of the target's two best logits before any setting.
        top_target, top_draft, top_residual: the most probable tokens by p, by q and by the residual.
    """

    p: np.ndarray
    q: np.ndarray
    soft_p: np.ndarray
    soft_q: np.ndarray
    draft_u: np.ndarray
    accept_u: np.ndarray
    correct_u: np.ndarray
    replacement: np.ndarray
    draft_interval: np.ndarray
    replacement_interval: np.ndarray
    overlap: np.ndarray
    expected: np.ndarray
    residual_fallback: np.ndarray
    target_entropy: np.ndarray
    draft_entropy: np.ndarray
    kl: np.ndarray
    rank: np.ndarray
    gap: np.ndarray
    top_target: TopTokens
    top_draft: TopTokens
    top_residual: TopTokens


@dataclass(frozen=True, eq=False)
class Round:
    """One round of speculative decoding: what was drafted, verified, tested and emitted.

    Attributes:
        index: number of the round, from 0.
        start: index in the sequence (prompt included) of the first place.
        settings: what was asked for in this round; ``RunSettings.in_force`` tells what shaped the laws.
        draft: name of the draft in force.
        origin: how its tokens were chosen.
        drafted: int32 [K], the proposed tokens.
        verdicts: int8 [K], values of ``Verdict``.
        emitted: int32 [n], the tokens this round added to the sequence, already clipped.
        sources: int8 [n], values of ``Source``.
        clipped: tokens that passed but lie after the run's end.
        draft_stop: why drafting stopped.
        end: why the run ended with this round, or None.
        times, flags: see their types.
        target_cache, draft_cache: tokens in each cache after the round.
        places: the full record, or None if the run was not recorded.
    """

    index: int
    start: int
    settings: RoundSettings
    draft: str
    drafted: np.ndarray
    verdicts: np.ndarray
    emitted: np.ndarray
    sources: np.ndarray
    clipped: int
    draft_stop: DraftStop
    end: EndReason | None
    times: RoundTimes
    flags: RoundFlags
    target_cache: int
    draft_cache: int
    places: Places | None = field(default=None, repr=False)
    origin: Origin = Origin()

    @property
    def accepted(self) -> int:
        """How many drafted tokens were kept and emitted."""
        return int(np.count_nonzero(self.verdicts == Verdict.ACCEPTED))

    @property
    def ids(self) -> np.ndarray:
        """Every token id that the round and its record mention, each once; int [n], rising."""
        parts = [self.drafted, self.emitted]
        if self.places is not None:
            tops = (self.places.top_target, self.places.top_draft, self.places.top_residual)
            parts += [self.places.replacement, *(top.ids.ravel() for top in tops)]
        return np.unique(np.concatenate(parts))

    @property
    def tested(self) -> int:
        """How many drafted tokens were accepted or rejected."""
        return int(np.count_nonzero(self.verdicts <= Verdict.REJECTED))
