"""Suffix matching: among all earlier occurrences, the continuation seen most often."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from specdec_core.decoding.origin import Choice, Origin
from specdec_core.decoding.proposal import DraftRequest, Proposal, Vocabulary
from specdec_core.decoding.types import DraftStop
from specdec_core.drafting.laps import Laps


@dataclass(frozen=True)
class Continuation:
    """What earlier text suggests after one matching suffix.

    Attributes:
        tokens: the suggested tokens.
        score: expected number of them that come true, Σ D over the path, where D is the product
            of the shares that each token has among its alternatives.
        matched: tokens of the suffix.
        start: index of the first token at its most recent occurrence.
        occurrences: earlier occurrences of the suffix.
        seconds: time of each token; that of finding the match is in the first one.
    """

    tokens: list[int]
    score: float
    matched: int
    start: int
    occurrences: int
    seconds: list[float]


class SuffixDrafter:
    """Proposes the most frequent continuation of the best matching suffix.

    SuffixDecoding (Oliaro et al. 2024, arXiv 2411.04975) for one text. Each
    suffix that has occurred before, up to ``max_match`` tokens, gives one path: at each
    step the token seen most often there, while its estimated probability D, the product of
    the shares count / Σ counts of its siblings, stays at ``min_share`` or above, and for
    ``factor`` times as many tokens as matched. The path with the largest Σ D is proposed.

    A suffix tree holds, at each node, the set of places where a path occurs. Over one text of
    a few thousand tokens those sets are quickly found by scanning: every longer suffix and
    every further token narrows the set before it. So no tree is kept, and none has to be
    undone.

    Args:
        vocab: the target's.
        max_match: longest suffix looked for.
        factor: proposed tokens per matched token, α in the paper.
        min_share: smallest D of a proposed token.
    """

    length, nbytes = 0, 0

    def __init__(
        self, vocab: Vocabulary, *, max_match: int = 24, factor: float = 2.0, min_share: float = 0.1
    ) -> None:
        self.name = f"suffix matching, up to {max_match} tokens"
        self._vocab, self._max_match = vocab, max_match
        self._factor, self._min_share = factor, min_share
        self._text = array("q")

    def prefill(self, ids: Sequence[int]) -> None:
        self._read(ids)

    def propose(self, request: DraftRequest) -> Proposal:
        started = perf_counter()
        self._read(request.ids)
        text = np.array(self._text)
        paths = [self._follow(text, ends, size, request) for size, ends in self._suffixes(text)]
        best = max(paths, key=lambda path: (path.score, path.matched), default=None)
        if best is None or not best.tokens:
            return Proposal.nothing(self._vocab.size, DraftStop.UNLIKELY if best else DraftStop.NO_MATCH)
        searching = perf_counter() - started - sum(best.seconds)
        seconds = [searching + best.seconds[0], *best.seconds[1:]]
        origin = Origin(Choice.COPIED, self.name, best.matched, best.start, best.occurrences)
        stop = _stop(best.tokens, request)
        return Proposal.certain(best.tokens, request, self._vocab, seconds, stop, origin)

    def observe(self, committed: int) -> None:
        """Nothing to forget: only committed tokens are read."""

    def _read(self, ids: Sequence[int]) -> None:
        self._text.extend(ids[len(self._text) :])

    def _suffixes(self, text: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Each set of places where a suffix has occurred, with the longest suffix that has it.

        A place is the index of the token that followed; sets are narrowed by one more token at a
        time, and a suffix that occurs wherever a longer one does has nothing to add to it.
        """
        last = len(text) - 1
        ends = np.flatnonzero(text[:last] == text[last]) + 1
        for size in range(1, self._max_match + 1):
            if not len(ends):
                return
            longer = ends[ends > size] if size < self._max_match else ends[:0]
            longer = longer[text[longer - size - 1] == text[last - size]]
            if len(longer) < len(ends):
                yield size, ends
            ends = longer

    def _follow(
        self, text: np.ndarray, ends: np.ndarray, size: int, request: DraftRequest
    ) -> Continuation:
        """The most frequent path from a set of places on, while it is likely enough."""
        budget = min(request.limit, max(1, int(self._factor * size)))
        tokens, share, score, places, laps = list[int](), 1.0, 0.0, ends, Laps()
        while len(tokens) < budget and len(places := places[places < len(text)]):
            following = text[places]
            token, count = _most_frequent(following)
            share *= count / len(places)
            if share < self._min_share:
                break
            tokens.append(token)
            score += share
            places = places[following == token] + 1
            laps.end()
            if token in request.end_ids:
                break
        first = ends[text[ends] == tokens[0]] if tokens else ends
        return Continuation(tokens, score, size, int(first[-1]), len(ends), laps.seconds)


def _most_frequent(tokens: np.ndarray) -> tuple[int, int]:
    """The token that occurs most often and how often; of equals the one that came last.

    Example:
        >>> _most_frequent(np.array([4, 7, 7, 4, 2]))
        (4, 2)
    """
    # Reversed, so that the first of equals is the one that came last.
    values, first, counts = np.unique(tokens[::-1], return_index=True, return_counts=True)
    best = np.lexsort((first, -counts))[0]
    return int(values[best]), int(counts[best])


def _stop(tokens: Sequence[int], request: DraftRequest) -> DraftStop:
    if tokens[-1] in request.end_ids:
        return DraftStop.END_TOKEN
    return DraftStop.GAMMA if len(tokens) == request.limit else DraftStop.UNLIKELY
