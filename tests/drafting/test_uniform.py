"""The uniform draft: every token may come, and it is drawn from the law it hands over."""

import torch

from specdec_core.decoding.proposal import Vocabulary
from specdec_core.decoding.settings import Sampling
from specdec_core.decoding.types import DraftStop
from specdec_core.drafting.uniform import UniformDrafter
from tests.drafting.requests import request

V = 7


def test_q_is_uniform_whatever_the_settings():
    for sampling in (Sampling(), Sampling(0.0), Sampling(0.3, top_k=1)):
        proposal = UniformDrafter(Vocabulary(V)).propose(request([1], sampling=sampling))
        assert torch.equal(proposal.probs, torch.full((4, V), 1 / V, dtype=torch.float64))


def test_every_token_is_drawn_equally_often():
    drafter = UniformDrafter(Vocabulary(V))
    drawn = [drafter.propose(request([1], 1, seed=seed)).ids[0] for seed in range(700)]
    counts = torch.bincount(torch.tensor(drawn), minlength=V)
    assert (counts > 60).all() and (counts < 140).all()


def test_each_token_is_the_one_its_uniform_picks():
    proposal = UniformDrafter(Vocabulary(V)).propose(request([1, 2], 6))
    assert proposal.ids == tuple(int(u * V) for u in proposal.u)


def test_drafting_stops_after_an_end_token():
    proposal = UniformDrafter(Vocabulary(V)).propose(request([1], 8, end_ids=range(V)))
    assert len(proposal.ids) == 1 and proposal.stop is DraftStop.END_TOKEN
