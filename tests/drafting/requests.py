"""Requests as the decoder makes them, for tests of drafters alone."""

from specdec_core.decoding.draws import Draws
from specdec_core.decoding.proposal import DraftRequest
from specdec_core.decoding.settings import Sampling


def request(ids, limit=4, *, sampling=Sampling(), round=0, end_ids=frozenset(), seed=3):  # noqa: B008
    return DraftRequest(ids, limit, sampling, Draws(seed), round, frozenset(end_ids))
