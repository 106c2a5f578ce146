"""A language model as the draft: a smaller one, or the target itself made cheaper."""

from collections.abc import Sequence
from time import perf_counter

import numpy as np
import torch
from torch import Tensor

from specdec_core.decoding.cache import SequenceModel
from specdec_core.decoding.checks import read
from specdec_core.decoding.draws import draw_each
from specdec_core.decoding.filters import law
from specdec_core.decoding.origin import Choice, Origin
from specdec_core.decoding.proposal import DraftRequest, Proposal
from specdec_core.decoding.types import DraftStop, Sampling


class ModelDrafter:
    """Draws tokens one at a time from a model (Leviathan et al. 2023, algorithm 1).

    Args:
        model: the draft with a cache of its own.
        name: shown and recorded as the draft in force.
        choice: whether tokens are drawn from the model's law or are its argmax. Then q is
            one-hot: the law that is handed over is always the one that picked the token.

    Tokens that are committed but not in the draft's cache yet, after a round in which every
    draft was kept or one that another drafter proposed, are fed together with the next
    step, never by a pass of their own.

    Example:
        With sequence [5, 9] committed and the cache holding [5], proposing two tokens feeds
        [9], draws a token x from q, feeds [x] and draws again: the cache then holds
        [5, 9, x], and the last drafted token is not in it.
    """

    def __init__(self, model: SequenceModel, name: str, choice: Choice = Choice.SAMPLED) -> None:
        self.name = name
        self._model, self._choice = model, choice

    @property
    def length(self) -> int:
        return self._model.length

    @property
    def nbytes(self) -> int:
        return self._model.nbytes

    def prefill(self, ids: Sequence[int]) -> None:
        if ids := ids[: self._model.context_length]:
            self._model.feed(ids, keep=1)

    def propose(self, request: DraftRequest) -> Proposal:
        limit, stop = self._room(request)
        sampling, origin = self._law_settings(request.sampling)
        ids, logits, probs, draws, seconds = list(request.ids), [], [], [], []
        while len(probs) < limit:
            started = perf_counter()
            logits.append(self._model.feed(ids[self._model.length :], keep=1))
            probs.append(law(logits[-1], sampling, ids))
            draws.append(request.draws.draft(len(ids), request.round))
            drawn = draw_each(probs[-1].cumsum(-1), np.array(draws[-1:]))
            ids += read(logits[-1], "draft", drawn, first=len(probs) - 1)[0]
            seconds.append(perf_counter() - started)
            if ids[-1] in request.end_ids:
                stop = DraftStop.END_TOKEN
                break
        if not probs:
            return Proposal.nothing(self._model.vocab_size, stop)
        drafted = tuple(ids[len(request.ids) :])
        return Proposal(drafted, _rows(probs), _rows(logits), np.array(draws), tuple(seconds), stop, origin)

    def observe(self, committed: int) -> None:
        # The newest committed token is fed with the next step, so it must not be in the cache.
        self._model.rewind(min(self._model.length, committed - 1))

    def _law_settings(self, sampling: Sampling) -> tuple[Sampling, Origin]:
        """What shapes q; at temperature 0 a draw is the argmax too."""
        if self._choice is Choice.ARGMAX:
            sampling = sampling.argmax()
        choice = Choice.ARGMAX if sampling.greedy else Choice.SAMPLED
        return sampling, Origin(choice, self.name)

    def _room(self, request: DraftRequest) -> tuple[int, DraftStop]:
        """How many tokens fit the draft's context: the last one is drawn but never fed."""
        room = max(0, self._model.context_length - len(request.ids) + 1)
        return min(request.limit, room), DraftStop.GAMMA if request.limit <= room else DraftStop.DRAFT_CONTEXT


def _rows(parts: list[Tensor]) -> Tensor:
    return torch.cat(parts) if len(parts) > 1 else parts[0]
