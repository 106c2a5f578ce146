"""The poorest draft there is: any token, all equally likely."""

from collections.abc import Sequence

import numpy as np
import torch

from specdec_core.decoding.draws import draw
from specdec_core.decoding.origin import Choice, Origin
from specdec_core.decoding.proposal import DraftRequest, Proposal, Vocabulary
from specdec_core.decoding.types import DraftStop
from specdec_core.drafting.laps import Laps


class UniformDrafter:
    """Draws each token from the uniform distribution over the vocabulary.

    It knows nothing and costs nothing: the lower end of what a draft can be. The output is
    the target's all the same, since the ratio test is exact for any q (Leviathan et al.
    2023, appendix A.1); a token is kept with probability Σ min(p, 1/V). Sampling settings
    do not shape this q, so it is drawn from as it stands.

    Args:
        vocab: the target's.
    """

    name = "uniform"
    length, nbytes = 0, 0

    def __init__(self, vocab: Vocabulary) -> None:
        self._vocab = vocab

    def prefill(self, ids: Sequence[int]) -> None:
        """Nothing to read."""

    def propose(self, request: DraftRequest) -> Proposal:
        laps, start = Laps(), len(request.ids)
        row = torch.full((self._vocab.size,), 1.0 / self._vocab.size, dtype=torch.float64)
        drafted, draws, stop = list[int](), list[float](), DraftStop.GAMMA
        while len(drafted) < request.limit and stop is DraftStop.GAMMA:
            draws.append(request.draws.draft(start + len(drafted), request.round))
            drafted.append(draw(row, draws[-1]))
            stop = DraftStop.END_TOKEN if drafted[-1] in request.end_ids else stop
            laps.end()
        probs = row.to(self._vocab.device).expand(len(drafted), -1)
        logits = torch.zeros(probs.shape, device=self._vocab.device)
        origin = Origin(Choice.SAMPLED, self.name)
        return Proposal(tuple(drafted), probs, logits, np.array(draws), tuple(laps.seconds), stop, origin)

    def observe(self, committed: int) -> None:
        """Nothing to forget."""
