"""The closed forms against the paper's own tables, against simulation, and at their limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_core import theory

RATES = st.floats(0.0, 1.0)
COSTS = st.floats(0.0, 2.0)
LENGTHS = st.integers(0, 40)

TABLE_1 = [
    (0.6, 2, 1.53, 1.96),
    (0.7, 3, 1.58, 2.53),
    (0.8, 2, 1.23, 2.44),
    (0.8, 5, 1.63, 3.69),
    (0.9, 2, 1.11, 2.71),
    (0.9, 10, 1.60, 6.86),
]
"""Leviathan et al. 2023, Table 1: α, γ, operations and speed at c = ĉ = 0."""

TABLE_4 = [
    (0.75, 7, 0.02, 3.2),
    (0.80, 7, 0.04, 3.3),
    (0.82, 7, 0.11, 2.5),
    (0.62, 7, 0.02, 2.3),
    (0.68, 5, 0.04, 2.4),
    (0.71, 3, 0.11, 2.0),
    (0.65, 5, 0.02, 2.4),
    (0.73, 5, 0.04, 2.6),
    (0.74, 3, 0.11, 2.0),
    (0.53, 5, 0.02, 1.9),
    (0.55, 3, 0.04, 1.8),
    (0.56, 3, 0.11, 1.6),
]
"""Leviathan et al. 2023, Table 4: α, γ, c of T5-XXL and the speed-up that the paper expects; α and c are
printed rounded, so that the speed-up can differ by 0.07."""

BEST = {
    0.02: [(4, 1.79), (6, 2.17), (8, 2.76), (11, 3.82), (19, 6.37)],
    0.05: [(3, 1.63), (4, 1.92), (6, 2.35), (8, 3.09), (13, 4.67)],
    0.1: [(2, 1.46), (3, 1.67), (4, 1.98), (6, 2.47), (10, 3.43)],
    0.2: [(1, 1.25), (2, 1.40), (3, 1.58), (4, 1.87), (7, 2.37)],
    0.3: [(1, 1.15), (1, 1.23), (2, 1.37), (3, 1.55), (5, 1.87)],
}
"""Best γ and its speed-up for α = 0.5, 0.6, 0.7, 0.8, 0.9 by c."""


@pytest.mark.parametrize(("alpha", "gamma", "operations", "speed"), TABLE_1)
def test_table_1_of_the_paper(alpha, gamma, operations, speed):
    assert theory.operations_factor(alpha, gamma) == pytest.approx(operations, abs=0.00501)
    assert theory.speedup(alpha, gamma, 0.0) == pytest.approx(speed, abs=0.00501)


@pytest.mark.parametrize(("alpha", "gamma", "c", "expected"), TABLE_4)
def test_table_4_of_the_paper(alpha, gamma, c, expected):
    assert theory.speedup(alpha, gamma, c) == pytest.approx(expected, abs=0.07)


@pytest.mark.parametrize("c", BEST)
def test_best_draft_lengths(c):
    for alpha, (gamma, speed) in zip((0.5, 0.6, 0.7, 0.8, 0.9), BEST[c], strict=True):
        assert theory.best_gamma(alpha, c) == gamma
        assert theory.speedup(alpha, gamma, c) == pytest.approx(speed, abs=0.00501)


def test_a_bigram_draft_of_the_paper_gives_a_quarter():
    assert theory.speedup(0.2, 3, 0.0) == pytest.approx(1.248, abs=1e-9)


@given(RATES, LENGTHS)
def test_equation_1_is_a_sum_of_powers(alpha, gamma):
    assert theory.expected_tokens(alpha, gamma) == pytest.approx(sum(alpha**k for k in range(gamma + 1)))


@pytest.mark.parametrize("miss", [1e-16, 1e-13, 1e-9, 1e-6])
def test_equation_1_keeps_its_digits_near_certain_acceptance(miss):
    # To first order in 1 − α the sum is γ + 1 − (1 − α)·γ(γ + 1)/2; the naive fraction is off by up to 12 %.
    assert theory.expected_tokens(1 - miss, 10) == pytest.approx(11 - (1 - (1 - miss)) * 55, rel=1e-9)


def test_a_perfect_draft_gives_every_place():
    assert theory.expected_tokens(1.0, [0, 3, 64]).tolist() == [1.0, 4.0, 65.0]
    assert theory.expected_tokens(0.0, [0, 3, 64]).tolist() == [1.0, 1.0, 1.0]


@given(RATES, LENGTHS)
def test_the_distribution_of_tokens_sums_to_one_and_has_the_expected_mean(alpha, gamma):
    law = theory.tokens_distribution(alpha, gamma)
    assert law.shape == (gamma + 1,) and law.min() >= 0
    assert law.sum() == pytest.approx(1.0)
    assert law @ np.arange(1, gamma + 2) == pytest.approx(float(theory.expected_tokens(alpha, gamma)))


def test_the_distribution_of_tokens_is_what_rounds_do():
    rng = np.random.default_rng(11)
    kept = np.cumprod(rng.random((200_000, 4)) < 0.7, axis=1).sum(axis=1)
    found = np.bincount(kept, minlength=5) / len(kept)
    assert found == pytest.approx(theory.tokens_distribution(0.7, 4), abs=0.005)


@given(st.lists(RATES, min_size=1, max_size=12))
def test_tokens_per_place_rise_by_survival(rates):
    tokens = theory.expected_tokens_per_place(rates)
    assert tokens[0] == 1.0
    assert np.diff(tokens) == pytest.approx(theory.survival(rates), abs=1e-12)
    assert np.all(np.diff(np.diff(tokens)) <= 1e-12)


@given(RATES, LENGTHS)
def test_equal_places_give_equation_1(alpha, gamma):
    tokens = theory.expected_tokens_per_place([alpha] * gamma)
    assert tokens[-1] == pytest.approx(float(theory.expected_tokens(alpha, gamma)))


@given(RATES, RATES, LENGTHS, COSTS)
def test_a_better_draft_is_never_slower(alpha, other, gamma, c):
    worse, better = sorted((alpha, other))
    assert theory.speedup(worse, gamma, c) <= theory.speedup(better, gamma, c) + 1e-12


@given(RATES, LENGTHS, COSTS, COSTS)
def test_a_dearer_draft_is_never_faster(alpha, gamma, c, other):
    cheap, dear = sorted((c, other))
    assert theory.speedup(alpha, gamma, dear) <= theory.speedup(alpha, gamma, cheap) + 1e-12


@given(RATES, LENGTHS, COSTS)
def test_theorem_3_8_is_the_case_of_a_free_verification(alpha, gamma, c):
    priced = theory.speedup_at_cost(theory.expected_tokens(alpha, gamma), gamma, c, verify=1.0)
    assert priced == pytest.approx(float(theory.speedup(alpha, gamma, c)))


@given(st.floats(0.0, 0.99), st.floats(0.001, 1.5))
def test_corollary_3_9_names_the_drafts_that_help(alpha, c):
    best = theory.best_gamma(alpha, c)
    fastest = theory.speedup(alpha, best, c)
    if abs(alpha - c) > 1e-9:
        assert (best > 0) == theory.improves(alpha, c)
    if theory.improves(alpha, c):
        assert fastest >= theory.least_improvement(alpha, c) - 1e-12


@given(st.floats(0.01, 0.98), st.floats(0.01, 1.0))
def test_the_marginal_rule_stops_at_the_best_length(alpha, c):
    lengths = np.arange(theory.LONGEST)
    speeds = theory.speedup(alpha, np.arange(theory.LONGEST + 1), c)
    clear = np.abs(np.diff(speeds)) > 1e-9
    assert np.array_equal(theory.longer_pays(alpha, lengths, c)[clear], (np.diff(speeds) > 0)[clear])


@given(
    st.lists(st.floats(0.01, 1.0), min_size=1, max_size=10), st.floats(0.01, 1.0),
    st.lists(st.floats(0.0, 0.5), min_size=10, max_size=10),
)  # fmt: skip
def test_survival_above_the_line_is_what_makes_one_more_draft_faster(rates, c, rises):
    tokens = theory.expected_tokens_per_place(rates)
    costs = theory.round_costs(c, list(1 + np.cumsum([0.0, *rises])), len(rates))
    margin = theory.survival(rates) - theory.break_even(tokens, costs)
    gain = np.diff(tokens / costs)
    clear = np.abs(margin) > 1e-9
    assert np.array_equal((margin > 0)[clear], (gain > 0)[clear])


def test_the_best_length_may_lie_behind_a_place_that_does_not_pay():
    # A step in v after the first token: the first draft does not pay by itself, five do.
    tokens = theory.expected_tokens_per_place([0.8] * 5)
    costs = theory.round_costs(0.05, [1.0, 1.8, 1.8, 1.8, 1.8, 1.8], 5)
    assert theory.survival([0.8])[0] < theory.break_even(tokens, costs)[0]
    assert theory.best_length(tokens, costs) == 5


def test_operations_of_table_1_grow_with_the_draft_price():
    assert theory.operations_factor(0.8, 5, 0.1) > theory.operations_factor(0.8, 5)
    assert theory.operations_factor(1.0, 5, 0.0) == 1.0


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: theory.expected_tokens(1.2, 3), "acceptance rate"),
        (lambda: theory.expected_tokens(float("nan"), 3), "acceptance rate"),
        (lambda: theory.expected_tokens(0.5, -1), "draft length"),
        (lambda: theory.speedup(0.5, 3, -0.1), "cost"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(call, word):
    with pytest.raises(ValueError, match=word):
        call()
