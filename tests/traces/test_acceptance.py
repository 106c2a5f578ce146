"""What is counted, what is not, and that the acceptances are never mixed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_core.decoding.types import EndReason
from specdec_core.traces import metrics
from tests.traces.factory import make_trace

EXAMPLE = make_trace(["AAAA", "AR..", "A---"], end=EndReason.END_TOKEN)
"""The example of the docstrings of ``acceptance``."""


@st.composite
def outcomes(draw):
    """The outcome of one round: any number kept, then a rejection or none."""
    kept, rest = draw(st.integers(0, 5)), draw(st.integers(0, 3))
    return "A" * kept + ("R" + "." * (rest - 1) if rest else "")


RUNS = st.lists(outcomes(), min_size=1, max_size=12)


def unrecorded(rounds, **options):
    return make_trace(rounds, record=False, **options)


def test_the_worked_example_of_the_docstrings():
    found = metrics.counts(EXAMPLE)
    assert (found.rounds, found.drafted, found.tested, found.accepted, found.rejected) == (3, 9, 7, 6, 1)
    assert (found.not_tested, found.not_needed, found.emitted) == (2, 3, 8)
    assert (found.corrections, found.bonuses, found.clipped, found.target_passes) == (1, 1, 0, 3)
    assert metrics.kept_of_tested(EXAMPLE) == 6 / 7
    assert metrics.kept_of_drafted(EXAMPLE) == 6 / 9
    assert metrics.tokens_per_round(EXAMPLE) == 8 / 3
    assert metrics.most_tokens_per_round(EXAMPLE) == 5
    assert metrics.accepted_histogram(EXAMPLE).tolist() == [0, 2, 0, 0, 1]


def test_drafts_not_tested_count_as_drafted_only():
    before, after = unrecorded(["AR"]), unrecorded(["AR.."])
    assert metrics.kept_of_tested(before) == metrics.kept_of_tested(after) == 1 / 2
    assert metrics.kept_of_drafted(before) == 1 / 2
    assert metrics.kept_of_drafted(after) == 1 / 4


def test_drafts_not_needed_count_nowhere():
    plain = unrecorded(["AAR.", "A"], end=EndReason.LIMIT)
    ended = unrecorded(["AAR.", "A---"], end=EndReason.LIMIT)
    for figure in (metrics.kept_of_tested, metrics.kept_of_drafted):
        assert figure(ended) == figure(plain)
    assert metrics.counts(ended).drafted == metrics.counts(plain).drafted
    assert metrics.counts(ended).not_needed == 3


def test_an_always_wrong_draft_is_kept_never_and_still_gives_one_token_a_round():
    # B71, sgl-project/sglang PR #23530: (accepted + 1) / (drafted + 1) can never be 0.
    trace = unrecorded(["R..."] * 5)
    assert metrics.kept_of_tested(trace) == 0.0
    assert metrics.kept_of_drafted(trace) == 0.0
    assert metrics.tokens_per_round(trace) == 1.0


def test_an_always_right_draft_never_passes_100_percent_when_it_ends_inside_a_block():
    # B72, sgl-project/sglang PR #11572: the end inside a block made the rate exceed 1.
    trace = unrecorded(["AAAA", "AA--"], end=EndReason.END_TOKEN)
    assert metrics.kept_of_tested(trace) == 1.0
    assert metrics.kept_of_drafted(trace) == 1.0
    assert metrics.tokens_per_round(trace) <= metrics.most_tokens_per_round(trace)


def test_the_kept_share_of_drafts_falls_with_gamma_though_nothing_got_worse():
    # B74, Blackwellboy/model-serving-minefield #98: the same drafts, more of them behind the rejection.
    traces = [unrecorded(["AAR" + "." * behind] * 3) for behind in (0, 2, 5)]
    shares = [metrics.kept_of_drafted(trace) for trace in traces]
    assert shares == sorted(shares, reverse=True) and shares[0] > shares[-1]
    assert len({metrics.kept_of_tested(trace) for trace in traces}) == 1
    assert len({metrics.tokens_per_round(trace) for trace in traces}) == 1


@pytest.mark.parametrize("rounds", [[], [""], ["", ""]])
def test_where_nothing_was_drafted_there_is_no_rate(rounds):
    # B75, vllm-project/vllm PR #24322: a division by zero when nothing was drafted.
    trace = make_trace(rounds)
    assert metrics.kept_of_tested(trace) is None and metrics.kept_of_drafted(trace) is None
    assert metrics.mean_overlap(trace) is None and metrics.mean_expected(trace) is None
    assert metrics.tokens_per_round(trace) == (1.0 if rounds else None)
    assert np.isnan(metrics.running(trace).kept_of_tested).all()


def test_a_perfect_draft_scores_100_percent_over_five_tokens_with_a_clipped_last_round():
    # B77, keyboardAnt/distributed-speculative-inference PR #34: the last round's clipped drafts, or the
    # bonus in the denominator, made a perfect draft score 0.8. Five tokens are a round of three kept and
    # the bonus, then one kept, with which the limit is reached; what lay behind it was not needed.
    trace = unrecorded(["AAA", "A--"], end=EndReason.LIMIT)
    assert metrics.counts(trace).emitted == 5
    assert metrics.kept_of_tested(trace) == metrics.kept_of_drafted(trace) == 1.0


@given(RUNS)
def test_counts_add_up(rounds):
    found = metrics.counts(unrecorded(rounds))
    assert found.drafted == found.tested + found.not_tested == sum(map(len, rounds))
    assert found.emitted == found.accepted + found.corrections + found.bonuses
    assert found.rounds == found.corrections + found.bonuses
    assert found.rejected == found.corrections


@given(RUNS)
def test_rates_lie_where_they_can(rounds):
    trace = unrecorded(rounds)
    tested, drafted = metrics.kept_of_tested(trace), metrics.kept_of_drafted(trace)
    assert (tested is None) == (drafted is None)
    if tested is not None:
        assert 0 <= drafted <= tested <= 1
    assert 1 <= metrics.tokens_per_round(trace) <= metrics.most_tokens_per_round(trace)


@given(RUNS, st.integers(0, 12))
def test_figures_at_a_cursor_are_those_of_the_shorter_run(rounds, upto):
    whole, part = unrecorded(rounds), unrecorded(rounds[:upto])
    assert metrics.counts(whole, upto) == metrics.counts(part)
    assert metrics.most_tokens_per_round(whole, upto) == metrics.most_tokens_per_round(part)


@given(RUNS)
def test_running_figures_end_in_the_figures_themselves(rounds):
    trace = unrecorded(rounds)
    found, last = metrics.running(trace), metrics.counts(trace)
    assert (found.accepted[-1], found.tested[-1]) == (last.accepted, last.tested)
    assert found.drafted[-1] == last.drafted
    assert found.emitted.sum() == last.emitted
    assert found.tokens_per_round[-1] == pytest.approx(metrics.tokens_per_round(trace))
    if last.tested:
        assert found.kept_of_tested[-1] == metrics.kept_of_tested(trace)
        assert found.low[-1] <= found.kept_of_tested[-1] <= found.high[-1]


def test_running_figures_of_the_worked_example():
    found = metrics.running(EXAMPLE)
    assert found.accepted.tolist() == [4, 5, 6]
    assert found.tested.tolist() == [4, 6, 7]
    assert found.drafted.tolist() == [4, 8, 9]
    assert found.kept_of_drafted.tolist() == [1.0, 5 / 8, 6 / 9]


def test_the_mean_overlap_is_taken_over_tested_places_alone():
    trace = make_trace(["AR..", "AA"])
    places = [item.places.overlap for item in trace.rounds]
    wanted = np.mean([*places[0][:2], *places[1]])
    assert metrics.mean_overlap(trace) == pytest.approx(wanted)
    assert metrics.running(trace).overlap[-1] == pytest.approx(wanted)


def test_the_expected_acceptance_is_the_rules_own():
    ratio, match = make_trace(["AAAA"]), make_trace(["AAAA"], rule="exact match")
    assert metrics.mean_expected(ratio) == metrics.mean_overlap(ratio)
    # Σ p·q ≤ Σ min(p, q), since both factors are at most 1.
    assert metrics.mean_expected(match) < metrics.mean_overlap(match)
    greedy = make_trace(["AAR."], rule="greedy")
    assert metrics.mean_expected(greedy) == metrics.kept_of_tested(greedy) == 2 / 3


def test_a_run_without_a_record_has_counts_but_no_overlap():
    trace = unrecorded(["AAR."])
    assert metrics.kept_of_tested(trace) == 2 / 3
    assert metrics.mean_overlap(trace) is None
    assert np.isnan(metrics.running(trace).overlap).all()


def test_most_tokens_follow_the_draft_length_asked_for():
    assert metrics.most_tokens_per_round(unrecorded(["AA", "A"], gamma=4)) == 5
    assert metrics.running(unrecorded(["AA", ""])).most.tolist() == [3, 1]
