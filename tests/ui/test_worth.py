"""One sentence says where drafting does not pay, in the numbers that the break-even chart draws."""

from dataclasses import replace

import pytest

from specdec_core.traces import metrics
from specdec_core.ui.worth import sentence
from tests.traces.factory import make_costs, make_trace

GOOD, POOR = ["AAAA"] * 20, ["AR.."] * 6 + ["R..."] * 14


def run(outcomes, c=0.2, **options):
    """A run with these outcomes in which a draft step costs ``c`` plain tokens."""
    costs = make_costs()
    return make_trace(outcomes, record=False, **options).with_(costs=replace(costs, draft=c * costs.plain))


def test_nothing_is_said_where_drafting_pays_or_too_little_is_known():
    assert sentence(run(GOOD)) == ""
    assert sentence(run(POOR[:5], c=0.5)) == ""
    assert sentence(run(POOR).with_(costs=None)) == ""


def test_a_draft_that_costs_more_than_it_brings_is_told_with_both_numbers():
    trace = run(POOR, c=0.54)
    price = metrics.break_even(trace).line[0]
    said = sentence(trace)
    assert said.startswith("Drafting does not pay here") and "c = 0.54" in said
    assert f"{100 * price:.0f} % of tests; it was in 6 of 20." in said


def test_at_the_price_of_a_whole_token_no_draft_can_pay():
    assert "not even one that is always kept would pay; 20 of 20 were kept" in sentence(run(GOOD, c=1.0))


def test_a_best_length_that_is_slower_than_no_drafting_at_all_does_not_pay():
    costs = replace(make_costs(), plain=0.4 * make_costs().target[0], draft=0.0004)
    trace = make_trace(["A", "R"] * 10, record=False).with_(costs=costs)
    assert metrics.break_even(trace).speedups.max() < 1
    assert "even at its best length, γ = 1, a round gives 1.50 tokens" in sentence(trace)


def test_few_tests_are_said_to_be_few():
    assert sentence(run(["AAAA"] * 6 + ["R..."] * 5, c=0.6)).startswith("So far")


def test_drafts_that_are_too_long_are_told_with_the_better_length():
    trace = run(["AAR.", "AR..", "AAAR", "R..."] * 5, c=0.3)
    pays = metrics.break_even(trace)
    assert 0 < pays.best < 4
    assert (
        f"{pays.speedups[pays.best]:.2f}× at γ = {pays.best} and {pays.speedups[4]:.2f}× at γ = 4"
        in sentence(trace)
    )


def test_a_length_beyond_all_tests_is_not_said_to_have_been_used():
    trace = run(["AR...", "R....", "AAR.."] * 5, c=0.3)
    pays, gamma = metrics.break_even(trace), trace.rounds[-1].settings.gamma
    assert 0 < pays.best < len(pays.line) < gamma == 5
    assert f"× at γ = {len(pays.line)} already, since" in sentence(trace)


def test_a_draft_without_proposals_is_told():
    said = sentence(run(["", "", "AA"] * 6, gamma=4))
    assert said.startswith("The draft had nothing to propose in 12 of 18 rounds")
    assert said.endswith("lose next to nothing.")


def test_where_a_silent_draft_does_not_pay_when_it_proposes_that_is_told_too():
    said = sentence(run(["", "", "RR"] * 12, gamma=4))
    assert "lose next to nothing. Drafting does not pay here" in said and "it was in 0 of 12." in said


def test_times_that_contradict_each_other_prove_nothing():
    trace = run(["AAAA"] * 12, c=0.5)
    slow_first = (trace.costs.target[0], 4 * trace.costs.target[0], *trace.costs.target[2:])
    disturbed = trace.with_(costs=replace(trace.costs, target=slow_first, draft=0.1 * trace.costs.plain))
    assert metrics.speedup_expected(disturbed) > 1 and sentence(disturbed) == ""


def test_a_run_that_is_faster_than_its_best_draft_length_proves_nothing():
    trace = run(["AR.."] * 6 + ["AAAA"] * 6, c=0.7)
    first, second, *others = trace.costs.target
    disturbed = trace.with_(costs=replace(trace.costs, target=(6 * first, 6 * second, *others)))
    pays = metrics.break_even(disturbed)
    assert pays.speedups[pays.best] < metrics.speedup_expected(disturbed) < 1
    assert sentence(disturbed) == ""


@pytest.mark.parametrize("upto", [0, 1, 12])
def test_only_rounds_up_to_the_cursor_count(upto):
    assert bool(sentence(run(POOR, c=0.9), upto)) == (upto == 12)
