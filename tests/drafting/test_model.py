"""A model as the draft: what it proposes, from which law, and what its cache holds."""

import numpy as np
import pytest
import torch

from specdec_core.decoding.checks import ModelFailure
from specdec_core.decoding.draws import Draws
from specdec_core.decoding.filters import law
from specdec_core.decoding.proposal import DraftRequest
from specdec_core.decoding.types import DraftStop, Sampling
from specdec_core.drafting.model import ModelDrafter
from tests.decoding.toys import ToyModel, contextual, scripted

V = 9


def request(ids=(0, 1), limit=4, sampling=Sampling(), round=0, end_ids=frozenset()):  # noqa: B008
    return DraftRequest(ids, limit, sampling, Draws(3), round, end_ids)


def drafter(logits=None, context=64):
    return ModelDrafter(ToyModel(logits or contextual(8, V), V, context), "toy")


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.0), Sampling(0.7, top_k=3), Sampling(top_p=0.5)])
def test_every_token_was_drawn_from_the_law_that_is_handed_over(sampling):
    """B03: one distribution is both sampled from and shown."""
    proposal = drafter().propose(request(sampling=sampling))
    ids = [0, 1, *proposal.ids]
    for place, (token, u) in enumerate(zip(proposal.ids, proposal.u, strict=True)):
        row = torch.tensor(contextual(8, V)(tuple(ids[: 2 + place])), dtype=torch.float32).unsqueeze(0)
        expected = law(row, sampling)[0]
        assert torch.equal(proposal.probs[place], expected)
        cumulative = expected.cumsum(0).numpy()
        assert token == np.searchsorted(cumulative, u * cumulative[-1], side="right")


def test_a_draft_made_again_after_a_rejection_is_fresh():
    model = drafter()
    first = model.propose(request(round=0))
    model.observe(2)
    again = model.propose(request(round=1))
    assert not np.array_equal(first.u, again.u)


def test_drafting_stops_after_an_end_token():
    proposal = drafter(scripted([0, 1, 5, 7, 2], V)).propose(request(end_ids=frozenset({7})))
    assert proposal.ids == (5, 7)
    assert proposal.stop is DraftStop.END_TOKEN


def test_nothing_beyond_the_limit_is_proposed_or_timed():
    proposal = drafter().propose(request(limit=3))
    assert len(proposal.ids) == len(proposal.seconds) == len(proposal.probs) == len(proposal.u) == 3
    assert proposal.stop is DraftStop.GAMMA


def test_the_last_drafted_token_is_not_in_the_cache_and_observing_forgets_the_rejected():
    model = drafter()
    model.prefill((0,))
    model.propose(request(limit=4))
    assert model.length == 2 + 3
    model.observe(committed=4)
    assert model.length == 3


def test_a_full_context_proposes_less_and_says_so():
    proposal = drafter(context=3).propose(request(limit=4))
    assert len(proposal.ids) == 2
    assert proposal.stop is DraftStop.DRAFT_CONTEXT


def test_a_context_already_outgrown_proposes_nothing():
    model = drafter(context=3)
    model.prefill((0, 1, 2, 3, 4))
    proposal = model.propose(request(ids=(0, 1, 2, 3, 4, 5)))
    assert proposal.ids == () and proposal.probs.shape == (0, V)
    assert proposal.stop is DraftStop.DRAFT_CONTEXT


def test_unusable_logits_are_named_with_their_place():
    def failing(prefix):
        return [torch.nan] * V if len(prefix) == 3 else [0.0] * V

    with pytest.raises(ModelFailure, match="the draft returned NaN at place 2"):
        drafter(failing).propose(request())
