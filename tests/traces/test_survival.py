"""Survival by place: what is censored, and how sure it is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_core.decoding.types import EndReason
from specdec_core.traces import metrics
from specdec_core.traces.break_even import rising
from tests.traces.factory import make_costs, make_trace
from tests.traces.test_acceptance import EXAMPLE, RUNS, unrecorded


def test_the_worked_example_of_the_docstring():
    found = metrics.survival(EXAMPLE)
    assert found.tested.tolist() == [3, 2, 1, 1]
    assert found.accepted.tolist() == [3, 1, 1, 1]
    assert found.survival.tolist() == [1, 0.5, 0.5, 0.5]


def test_short_rounds_say_nothing_about_later_places():
    # Dividing by all four rounds would make the second place 2/4.
    found = metrics.survival(unrecorded(["AA", "AA", "A", "A"]))
    assert found.tested.tolist() == [4, 2]
    assert found.survival.tolist() == [1.0, 1.0]
    assert found.rounds.tolist() == [4, 2]


def test_drafts_not_needed_are_censored_like_those_not_made():
    with_them = metrics.survival(unrecorded(["AAR", "A--"], end=EndReason.LIMIT))
    without = metrics.survival(unrecorded(["AAR", "A"], end=EndReason.LIMIT))
    assert with_them.tested.tolist() == without.tested.tolist()
    assert with_them.rounds.tolist() == without.rounds.tolist()


def test_without_censoring_it_is_the_share_of_rounds_that_came_so_far():
    found = metrics.survival(unrecorded(["AAA", "AR.", "R..", "AAR", "AAA"]))
    assert found.survival == pytest.approx(np.array([4, 3, 2]) / 5)
    low, high = metrics.wilson(np.array([4, 3, 2]), 5)
    assert found.low == pytest.approx(low)
    assert found.high == pytest.approx(high)


@pytest.mark.parametrize(
    ("rounds", "survivors", "known"),
    [(["AA"] * 5, 5, 5), (["AA", "AA", "A"], 2, 2), (["AR"] * 4, 0, 4), (["R.", "AR", "A"], 0, 2)],
)
def test_a_survival_of_all_or_nothing_is_as_sure_as_the_rounds_not_censored_make_it(rounds, survivors, known):
    found = metrics.survival(unrecorded(rounds))
    assert (found.low[1], found.high[1]) == pytest.approx(metrics.wilson(survivors, known))


@given(RUNS)
def test_survival_never_rises_and_its_interval_holds_it(rounds):
    found = metrics.survival(unrecorded(rounds))
    assert np.all(np.diff(found.survival) <= 0)
    for low, value, high in (
        (found.low, found.survival, found.high),
        (found.rate_low, found.rate, found.rate_high),
    ):
        assert np.all((low >= 0) & (low <= value + 1e-12) & (value <= high + 1e-12) & (high <= 1))
    assert np.all(found.tested >= 1)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(200):
        found = metrics.survival(unrecorded([_round_of(rng, 0.75) for _ in range(40)]))
        hits += bool(found.low[1] <= 0.75**2 <= found.high[1])
    # 95 % of 200, give or take four standard deviations of 3.1.
    assert hits >= 178


def _round_of(rng, rate):
    """The outcome of a round of 1 to 4 drafts, each kept at ``rate``."""
    drafted, kept = int(rng.integers(1, 5)), int(np.cumprod(rng.random(4) < rate).sum())
    return "A" * drafted if drafted <= kept else "A" * kept + "R" + "." * (drafted - kept - 1)


def test_where_nothing_was_tested_no_place_is_listed():
    assert len(metrics.survival(make_trace(["", ""])).tested) == 0
    assert metrics.break_even(make_trace(["", ""])) is None


@pytest.mark.parametrize(
    ("kept", "of", "low", "high"), [(0, 10, 0.0, 0.278), (5, 10, 0.237, 0.763), (10, 10, 0.722, 1.0)]
)
def test_wilson_intervals_against_tabled_ones(kept, of, low, high):
    found = metrics.wilson(kept, of)
    assert found == pytest.approx((low, high), abs=5e-4)


@given(st.integers(0, 400), st.integers(1, 400))
def test_a_wilson_interval_shrinks_with_more_of_the_same(kept, of):
    kept = min(kept, of)
    low, high = metrics.wilson(np.array([kept, 4 * kept]), np.array([of, 4 * of]))
    assert high[1] - low[1] < high[0] - low[0]


def test_no_trials_give_no_interval():
    assert np.isnan(metrics.wilson(0, 0)).all()


def test_break_even_weighs_survival_against_the_cost_table():
    trace = unrecorded(["AAAA", "AAAR", "AR..", "R...", "AAR."])
    found, costs = metrics.break_even(trace), make_costs()
    assert found.tokens[-1] == pytest.approx(1 + found.places.survival.sum())
    assert found.costs[0] == 1.0 and found.costs[2] == pytest.approx(2 * costs.c + costs.verify_cost(2))
    assert found.best == int(np.argmax(found.speedups))
    assert found.line[0] == pytest.approx(found.costs[1] - 1)


def test_the_best_length_follows_tokens_per_time_and_not_the_kept_share():
    # B74: the kept share of drafts is best at γ = 1; with cheap drafts that are mostly kept, time is not.
    trace = unrecorded(["AAAA"] * 8 + ["AAAR"])
    assert metrics.break_even(trace).best == 4
    assert metrics.kept_of_drafted(trace) < 1


def test_more_tokens_never_cost_less_however_noisy_the_times():
    times = {"target": (6.0, 8.0, 7.0, 9.0), "rest": (0.0,) * 4, "plain": 6.0, "draft": 0.6}
    noisy = replace(make_costs(), tokens=(1, 2, 3, 4), **times)
    assert rising(noisy).target == (6.0, 7.5, 7.5, 9.0)
    found = metrics.break_even(unrecorded(["AAA"] * 4).with_(costs=noisy))
    assert (found.line >= 0).all() and found.measured.min() < found.line.min()
    steady = replace(noisy, target=(6.0, 6.0, 7.0, 9.0))
    assert rising(steady).target == steady.target


def test_no_cost_table_no_break_even():
    assert metrics.break_even(make_trace(costs=False)) is None


def test_a_hopeless_draft_is_best_left_alone():
    assert metrics.break_even(unrecorded(["R..."] * 6)).best == 0
