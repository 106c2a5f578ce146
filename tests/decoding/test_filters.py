"""Our filters against transformers' logits processors, and at their ends."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from specdec_core.decoding.filters import law, soft
from specdec_core.decoding.types import Sampling


def oracle(logits: torch.Tensor, sampling: Sampling, ids: list[int]) -> torch.Tensor:
    """The law by transformers' processors, in float64, in the order generate() applies them."""
    scores, ids = logits.double(), torch.tensor([ids] * len(logits))
    if sampling.repetition_penalty != 1.0:
        scores = RepetitionPenaltyLogitsProcessor(sampling.repetition_penalty)(ids, scores)
    scores = TemperatureLogitsWarper(float(sampling.temperature))(ids, scores)
    if sampling.top_k:
        scores = TopKLogitsWarper(sampling.top_k)(ids, scores)
    if sampling.top_p < 1.0:
        scores = TopPLogitsWarper(sampling.top_p)(ids, scores)
    if sampling.min_p > 0.0:
        scores = MinPLogitsWarper(sampling.min_p)(ids, scores)
    return scores.softmax(-1)


samplings = st.builds(
    Sampling,
    temperature=st.sampled_from([0.3, 0.7, 1.0, 1.9]),
    top_k=st.sampled_from([0, 1, 3, 20, 500]),
    top_p=st.sampled_from([0.05, 0.5, 0.9, 1.0]),
    min_p=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    repetition_penalty=st.sampled_from([1.0, 1.3, 0.7]),
)


@settings(deadline=None, max_examples=150)
@given(samplings, st.integers(0, 2**31))
def test_the_law_is_what_transformers_processors_make_of_the_logits(sampling, seed):
    logits = 3 * torch.randn(4, 50, generator=torch.Generator().manual_seed(seed))
    prefix = [3, 7, 7, 49]
    # One place at a time, since the oracle knows one prefix a row.
    expected = torch.cat([oracle(logits[i : i + 1], sampling, prefix + [1, 2, 5][:i]) for i in range(4)])
    assert torch.allclose(law(logits, sampling, prefix, [1, 2, 5]), expected, atol=1e-12)


def test_temperature_zero_puts_all_mass_on_the_first_of_tied_maxima():
    logits = torch.tensor([[1.0, 5.0, 5.0, 0.0]])
    assert law(logits, Sampling(temperature=0.0)).tolist() == [[0.0, 1.0, 0.0, 0.0]]


def test_the_law_approaches_its_greedy_end_without_a_jump():
    logits = torch.tensor([[1.0, 1.5, 0.0]])
    cold = law(logits, Sampling(temperature=0.01))
    assert torch.allclose(cold, law(logits, Sampling(temperature=0.0)), atol=1e-12)


def test_probabilities_passed_for_logits_are_softmaxed_once_only():
    rows = torch.tensor([[0.7, 0.2, 0.1]])
    by_hand = (rows.double() / 0.5).exp() / (rows.double() / 0.5).exp().sum()
    assert torch.allclose(law(rows, Sampling(temperature=0.5)), by_hand, atol=1e-15)


def test_top_k_breaks_ties_by_the_lowest_id_and_keeps_exactly_k():
    probs = law(torch.zeros(2, 10), Sampling(top_k=3))
    assert probs[0].nonzero().flatten().tolist() == [0, 1, 2]


@pytest.mark.parametrize("size", [2, 1024, 200_000])
def test_the_smallest_top_p_keeps_just_the_most_probable_token(size):
    logits = torch.zeros(1, size)
    logits[0, size - 1] = 1.0
    assert law(logits, Sampling(top_p=1e-9)).nonzero().tolist() == [[0, size - 1]]


def test_forbidden_tokens_stay_forbidden_under_every_filter():
    logits = torch.tensor([[-torch.inf, 1.0, 2.0, -torch.inf]])
    for sampling in (Sampling(), Sampling(top_k=4), Sampling(top_p=0.999), Sampling(min_p=1e-9)):
        assert law(logits, sampling)[0, [0, 3]].tolist() == [0.0, 0.0]


def test_the_soft_distribution_knows_no_filters():
    logits = torch.randn(3, 20)
    filtered = Sampling(temperature=0.7, top_k=2, top_p=0.4)
    assert torch.allclose(soft(logits, filtered), law(logits, Sampling(temperature=0.7)))


@pytest.mark.parametrize(
    ("setting", "value"),
    [("temperature", -0.1), ("temperature", float("nan")), ("top_k", -1), ("top_p", 0.0), ("top_p", 1.1),
     ("min_p", 2.0), ("repetition_penalty", 0.0)],
)  # fmt: skip
def test_a_setting_outside_its_range_is_refused_by_name(setting, value):
    with pytest.raises(ValueError, match=setting):
        Sampling(**{setting: value})
