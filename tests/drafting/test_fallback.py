"""Prompt lookup with a model behind it: who is asked, and what the model's cache holds afterwards."""

from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.origin import Choice
from specdec_core.decoding.proposal import Vocabulary
from specdec_core.decoding.settings import RoundSettings, RunSettings
from specdec_core.drafting.fallback import FallbackDrafter
from specdec_core.drafting.lookup import LookupDrafter
from specdec_core.drafting.model import ModelDrafter
from tests.decoding.toys import ToyModel, contextual, scripted
from tests.drafting.requests import request

V = 12


def drafter(model, **sizes):
    return FallbackDrafter(LookupDrafter(Vocabulary(V), **sizes), ModelDrafter(model, "toy"))


def test_the_model_is_asked_only_where_nothing_matches():
    model = ToyModel(contextual(8, V), V)
    both = drafter(model)
    copied = both.propose(request([1, 2, 3, 1, 2]))
    assert copied.origin.choice is Choice.COPIED and model.passes == []
    drawn = both.propose(request([1, 2, 3, 4]))
    assert drawn.origin.choice is Choice.SAMPLED and drawn.origin.by == "toy"


def test_after_rounds_that_copied_the_model_catches_up_within_its_first_step():
    model = ToyModel(contextual(8, V), V)
    both = drafter(model)
    both.prefill([1, 2, 3, 1])
    both.propose(request([1, 2, 3, 1, 2], limit=3))
    both.observe(8)
    both.propose(request([1, 2, 3, 1, 2, 3, 1, 9], limit=3))
    assert model.passes == [4, 4, 1, 1]


def test_a_run_of_mixed_rounds_draws_from_the_law_of_the_committed_text():
    """Each drawn token's q is that of a fresh model which read the very same prefix."""
    text = [1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 7, 8, 9, 10, 11, 5, 6, 1, 2, 3, 4, 0, 3, 8]
    model, draft = ToyModel(scripted(text, V), V), contextual(8, V)
    both = drafter(ToyModel(draft, V), min_ngram=2)
    seen = []
    propose = both.propose
    both.propose = lambda request: seen.append((list(request.ids), propose(request))) or seen[-1][1]
    decoder = Decoder(model, both, RunSettings((1, 2, 3), max_new_tokens=len(text) - 3))
    decoder.prefill()
    rounds = list(decoder.rounds(RoundSettings(3)))
    assert decoder.ids == text
    assert {round.origin.choice for round in rounds if len(round.drafted)} == {Choice.COPIED, Choice.SAMPLED}
    for prefix, proposal in seen:
        if proposal.origin.choice is Choice.SAMPLED and proposal.ids:
            fresh = ToyModel(draft, V).feed([*prefix, *proposal.ids[:-1]], keep=len(proposal.ids))
            assert (proposal.logits == fresh).all()
