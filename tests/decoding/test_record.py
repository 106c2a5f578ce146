"""A full record says what really happened, and agrees with itself."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from specdec_core.decoding.record import most_probable
from specdec_core.decoding.types import TOP, RoundSettings, Sampling, Source, Verdict
from tests.decoding.toys import contextual, fixed, run_toy, toy_decoder

SAMPLINGS = [Sampling(), Sampling(0.6), Sampling(top_k=4), Sampling(top_p=0.7), Sampling(0.0)]


@pytest.fixture(params=SAMPLINGS, ids=str)
def rounds(request):
    target, draft = contextual(1, 40), contextual(2, 40, sharpness=1.0)
    return run_toy(target, draft, 40, 4, sampling=request.param, max_new_tokens=60, seed=3)


def test_each_recorded_uniform_leads_to_the_recorded_verdict(rounds):
    for round in rounds:
        places = round.places
        kept = places.accept_u * places.q < places.p
        tested = round.verdicts <= Verdict.REJECTED
        assert (kept[tested] == (round.verdicts[tested] == Verdict.ACCEPTED)).all()


def test_the_targets_own_token_is_the_replacement_recorded_at_its_place(rounds):
    for round in rounds:
        if round.sources[-1] != Source.ACCEPTED:
            assert round.emitted[-1] == round.places.replacement[round.accepted]


def test_each_drawn_token_lies_in_its_recorded_interval(rounds):
    for round in rounds:
        places = round.places
        for u, (low, high) in zip(places.draft_u, places.draft_interval, strict=True):
            assert low - 1e-9 <= u < high + 1e-9
        for u, (low, high) in zip(places.correct_u, places.replacement_interval, strict=True):
            assert low - 1e-9 <= u < high + 1e-9


def test_the_interval_of_a_draft_is_as_wide_as_its_probability(rounds):
    for round in rounds:
        widths = np.diff(round.places.draft_interval, axis=1)[:, 0]
        assert widths == pytest.approx(round.places.q, abs=1e-9)


def test_top_tokens_are_sorted_and_account_for_all_mass(rounds):
    for round in rounds:
        top, drafted = round.places.top_target, len(round.drafted)
        assert top.ids.shape == (drafted + 1, TOP)
        assert (np.diff(top.p, axis=1) <= 0).all()
        assert top.p.sum(-1) + top.rest == pytest.approx(np.ones(drafted + 1))
        assert np.isnan(top.q[-1]).all() and not np.isnan(top.q[:-1]).any()


def test_the_overlap_is_one_minus_the_residuals_mass_before_scaling():
    first = run_toy(fixed(0.5, 0.3, 0.2), fixed(0.2, 0.2, 0.6), 3, 2, max_new_tokens=9)[0]
    assert first.places.overlap == pytest.approx([0.6, 0.6], abs=1e-6)
    assert first.places.expected == pytest.approx([0.6, 0.6], abs=1e-6)
    assert first.places.kl == pytest.approx([0.5 * np.log(2.5) + 0.3 * np.log(1.5) + 0.2 * np.log(1 / 3)] * 2)
    assert first.places.top_residual.ids[0].tolist() == [0, 1, 2]


def test_the_divergence_is_infinite_where_the_draft_misses_mass_and_only_there():
    first = run_toy(fixed(0.5, 0.5, 0), fixed(1, 0, 0), 3, 1, max_new_tokens=9)[0]
    assert first.places.kl.tolist() == [np.inf]
    turned = run_toy(fixed(1, 0, 0), fixed(0.5, 0.5, 0), 3, 1, max_new_tokens=9)[0]
    assert turned.places.kl == pytest.approx([np.log(2)])


def test_under_greedy_the_record_shows_the_softmax_but_tests_the_argmax():
    first = run_toy(fixed(0.5, 0.3, 0.2), fixed(0.2, 0.7, 0.1), 3, 2, rule="greedy", max_new_tokens=9)[0]
    places = first.places
    assert places.p.tolist() == [0.0, 0.0] and places.q.tolist() == [1.0, 1.0]
    assert places.top_target.p[0] == pytest.approx([0.5, 0.3, 0.2])
    assert places.soft_p == pytest.approx([0.3, 0.3])
    assert places.rank.tolist() == [1, 1]
    assert places.expected.tolist() == [0.0, 0.0]
    assert first.emitted.tolist() == [0]


def test_ties_among_the_most_probable_tokens_go_by_id():
    p = torch.tensor([[0.1, 0.3, 0.3, 0.3]], dtype=torch.float64)
    assert most_probable(p, 4)[1].tolist() == [[1, 2, 3, 0]]


def test_ties_at_the_edge_of_the_list_keep_the_lowest_ids():
    p = torch.full((1, 500), 1 / 500, dtype=torch.float64)
    assert most_probable(p, TOP)[1].tolist() == [list(range(TOP))]


@given(st.lists(st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3]), min_size=9, max_size=9), max_size=4))
def test_the_most_probable_tokens_are_those_that_sorting_by_probability_then_id_gives(rows):
    probs = torch.tensor(rows, dtype=torch.float64).reshape(-1, 9)
    ids = [sorted(range(9), key=lambda id_: (-row[id_], id_))[:5] for row in rows]
    values, found = most_probable(probs, 5)
    assert found.tolist() == ids
    assert values.tolist() == [[row[id_] for id_ in best] for row, best in zip(rows, ids, strict=True)]


def test_the_gap_between_the_two_best_logits_does_not_depend_on_the_settings():
    target = fixed(0.5, 0.25, 0.25)
    for sampling in SAMPLINGS:
        decoder = toy_decoder(target, target, 3, seed=1)
        gaps = decoder.step(RoundSettings(2, sampling)).places.gap
        assert gaps == pytest.approx([np.log(2)] * 3, abs=1e-6)


def test_a_round_without_drafts_has_a_record_of_its_one_place():
    places = run_toy(fixed(0.5, 0.5), fixed(0.5, 0.5), 2, 0, max_new_tokens=1)[0].places
    assert places.p.shape == (0,) and places.replacement.shape == (1,)
    assert places.top_target.ids.shape == (1, 2) and np.isnan(places.top_draft.rest).all()
