"""One drafter where it has something to propose, and another where it has not."""

from collections.abc import Sequence

from specdec_core.decoding.proposal import Drafter, DraftRequest, Proposal


class FallbackDrafter:
    """Asks a cheap drafter first and a dearer one only where the first proposes nothing.

    Meant for prompt lookup with a model behind it. The model is not told what the lookup
    proposed: what was committed meanwhile is fed together with its next step, so a round that
    copied costs the model nothing, and its cache holds committed tokens only.

    Args:
        first: proposes for nothing or next to nothing.
        second: asked where ``first`` proposes no token.
    """

    def __init__(self, first: Drafter, second: Drafter) -> None:
        self.name = f"{first.name}, else {second.name}"
        self._first, self._second = first, second

    @property
    def length(self) -> int:
        return max(self._first.length, self._second.length)

    @property
    def nbytes(self) -> int:
        return self._first.nbytes + self._second.nbytes

    def prefill(self, ids: Sequence[int]) -> None:
        self._first.prefill(ids)
        self._second.prefill(ids)

    def propose(self, request: DraftRequest) -> Proposal:
        proposal = self._first.propose(request)
        return proposal if proposal.ids else self._second.propose(request)

    def observe(self, committed: int) -> None:
        self._first.observe(committed)
        self._second.observe(committed)
