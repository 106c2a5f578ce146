"""Prompt lookup decoding: what followed the last time these tokens stood here."""

from collections.abc import Sequence
from dataclasses import dataclass

from specdec_core.decoding.origin import Choice, Origin
from specdec_core.decoding.proposal import DraftRequest, Proposal, Vocabulary
from specdec_core.decoding.types import DraftStop
from specdec_core.drafting.laps import Laps


@dataclass(frozen=True)
class Match:
    """An earlier occurrence of the last tokens of a sequence.

    Attributes:
        length: how many tokens match.
        end: index of the token that followed them.
        occurrences: how often they had occurred before, the newest at ``end``.
    """

    length: int
    end: int
    occurrences: int


class NgramIndex:
    """Where each n-gram of a growing sequence last ended, and how often it has occurred.

    Reading a token takes one dictionary entry for each n, finding a match one look-up for
    each n, however long the sequence is. Only n-grams that another token follows are kept,
    so the end of the sequence never matches itself.

    Args:
        min_ngram, max_ngram: shortest and longest n-gram, 1 ≤ min ≤ max.

    Example:
        >>> index = NgramIndex(1, 3)
        >>> index.find([1, 2, 3, 9, 1, 2])
        Match(length=2, end=2, occurrences=1)
        >>> index.find([1, 2, 3, 9, 1, 2, 7]) is None
        True
    """

    def __init__(self, min_ngram: int, max_ngram: int) -> None:
        if not 1 <= min_ngram <= max_ngram:
            raise ValueError(f"n-grams from {min_ngram} to {max_ngram}: the shortest has 1 token or more")
        self._sizes = range(max_ngram, min_ngram - 1, -1)
        self._found: dict[tuple[int, ...], tuple[int, int]] = {}
        self._ends = 1

    def find(self, ids: Sequence[int]) -> Match | None:
        """The longest match of the end of ``ids``, the most recent of them.

        Args:
            ids: the sequence, which begins with what earlier calls were given.
        """
        self._read(ids)
        for size in self._sizes:
            if found := self._found.get(tuple(ids[-size:])):
                return Match(size, *found)
        return None

    def _read(self, ids: Sequence[int]) -> None:
        for end in range(self._ends, len(ids)):
            for size in self._sizes:
                if size <= end:
                    ngram = tuple(ids[end - size : end])
                    self._found[ngram] = end, self._found.get(ngram, (0, 0))[1] + 1
        self._ends = max(self._ends, len(ids))


class LookupDrafter:
    """Copies what followed the most recent earlier occurrence of the last few tokens.

    Prompt lookup decoding (Saxena 2023, github.com/apoorvumang/prompt-lookup-decoding),
    which engines call n-gram speculation. The longest suffix is tried first, in prompt and
    output alike. Where the copied stretch reaches the end of the sequence it runs on into
    the tokens just proposed, as in LZ77, so a text that repeats is proposed at full length.

    Args:
        vocab: the target's.
        min_ngram, max_ngram: fewest and most tokens that have to match.

    The proposal is certain of itself, so q is one-hot and a token is kept with probability p.
    Nothing is remembered of a proposal: only committed tokens are indexed.
    """

    length, nbytes = 0, 0

    def __init__(self, vocab: Vocabulary, *, min_ngram: int = 1, max_ngram: int = 3) -> None:
        self.name = f"prompt lookup, {max_ngram} to {min_ngram} tokens"
        self._vocab = vocab
        self._index = NgramIndex(min_ngram, max_ngram)

    def prefill(self, ids: Sequence[int]) -> None:
        self._index.find(ids)

    def propose(self, request: DraftRequest) -> Proposal:
        laps = Laps()
        match = self._index.find(request.ids)
        if match is None:
            return Proposal.nothing(self._vocab.size, DraftStop.NO_MATCH)
        drafted, stop = list[int](), DraftStop.GAMMA
        while len(drafted) < request.limit and stop is DraftStop.GAMMA:
            source = match.end + len(drafted)
            beyond = source - len(request.ids)
            drafted.append(request.ids[source] if beyond < 0 else drafted[beyond])
            stop = DraftStop.END_TOKEN if drafted[-1] in request.end_ids else stop
            laps.end()
        origin = Origin(Choice.COPIED, self.name, match.length, match.end, match.occurrences)
        return Proposal.certain(drafted, request, self._vocab, laps.seconds, stop, origin)

    def observe(self, committed: int) -> None:
        """Nothing to forget: the index holds committed tokens only."""
