"""Speeds: which rounds count, what the models say, and the race."""

import numpy as np
import pytest

from specdec_core import theory
from specdec_core.decoding.types import EndReason, RoundFlags, RoundTimes
from specdec_core.traces import metrics
from tests.traces.factory import make_baseline, make_costs, make_trace

FAST = RoundTimes((0.001, 0.001, 0.001), verify=0.008, sample=0.0006, other=0.0004)
"""12 ms for three drafts."""
SLOW = RoundTimes((0.001, 0.001, 0.001), verify=0.010, sample=0.0006, other=0.0004)
"""14 ms."""
COLD, SINGLE, BUSY = RoundFlags(cold=True), RoundFlags(single=True), RoundFlags(contended=True)


def two_rounds(**options):
    """12 ms for 3 tokens, then 14 ms for 1."""
    return make_trace(["AAR", "R.."], times=[FAST, SLOW], **options)


def test_the_worked_examples_of_the_docstrings():
    trace = two_rounds()
    assert metrics.time_per_token(trace) == pytest.approx(0.0065)
    assert metrics.inter_token_latency(trace) == pytest.approx([0.012, 0, 0, 0.014])
    assert metrics.race(trace).run_ms == pytest.approx([0, 12, 26])
    assert metrics.race(trace).run_tokens.tolist() == [0, 3, 4]


def test_parts_of_a_round_add_up_to_the_whole():
    times = metrics.latency(make_trace())
    assert times.total == pytest.approx([item.times.total for item in make_trace().rounds])
    assert times.steps.tolist() == [len(item.drafted) for item in make_trace().rounds]
    split = metrics.latency_split(make_trace())
    assert split.total == pytest.approx(times.total.mean()) and split.rounds == len(times.total)


@pytest.mark.parametrize("flag", [COLD, SINGLE, BUSY])
def test_rounds_that_are_not_clean_are_left_out_with_their_tokens(flag):
    trace = two_rounds(flags=[flag])
    assert metrics.time_per_token(trace) == pytest.approx(0.014)
    assert metrics.latency_split(trace).rounds == 1
    assert metrics.latency(trace).clean.tolist() == [False, True]
    assert metrics.counts(trace).emitted == 4, "they still count as rounds"


def test_without_a_clean_round_there_is_no_speed():
    trace = two_rounds(flags=[COLD, SINGLE])
    for figure in (metrics.time_per_token, metrics.speedup_measured, metrics.latency_split):
        assert figure(trace) is None
    assert len(metrics.inter_token_latency(trace)) == 0
    assert metrics.speedup_model(trace) is not None, "the model needs no times"


def test_a_replay_supplies_the_times_of_the_rounds_it_covers():
    trace = two_rounds(flags=[SINGLE, SINGLE]).with_(replay=(SLOW,))
    times = metrics.latency(trace)
    assert times.total == pytest.approx([0.014, 0.014])
    assert (times.clean.tolist(), times.replayed.tolist()) == ([True, False], [True, False])
    assert metrics.time_per_token(trace) == pytest.approx(0.014 / 3)
    assert metrics.race(trace).replayed and not metrics.race(trace).fair


def test_the_mean_wait_is_the_time_per_token():
    trace = make_trace(flags=[COLD])
    assert metrics.inter_token_latency(trace).mean() == pytest.approx(metrics.time_per_token(trace))


def test_the_plain_run_is_compared_token_for_token():
    trace = make_trace().with_(baseline=make_baseline(10))
    plain = trace.baseline.seconds.sum() / 10
    assert metrics.baseline_time_per_token(trace) == pytest.approx(plain)
    assert metrics.speedup_measured(trace) == pytest.approx(plain / metrics.time_per_token(trace))


@pytest.mark.parametrize("baseline", [None, make_baseline(contended=True), make_baseline(0)])
def test_no_baseline_that_can_be_trusted_no_speed_up(baseline):
    trace = make_trace().with_(baseline=baseline)
    assert metrics.baseline_time_per_token(trace) is None
    assert metrics.speedup_measured(trace) is None


def test_no_cost_table_no_modelled_speed_up():
    trace = make_trace(costs=False)
    assert metrics.speedup_model(trace) is None
    assert metrics.speedup_expected(trace) is None


def test_at_one_draft_length_the_model_is_theorem_3_8():
    trace = make_trace(["AAAA", "AR..", "AAR."])
    alpha = metrics.mean_overlap(trace)
    assert metrics.speedup_model(trace) == pytest.approx(float(theory.speedup(alpha, 4, make_costs().c)))


def test_under_exact_match_the_model_takes_the_chance_of_a_match():
    trace = make_trace(["AAAA", "AR..", "AAR."], rule="exact match")
    alpha = metrics.mean_expected(trace)
    assert metrics.speedup_model(trace) == pytest.approx(float(theory.speedup(alpha, 4, make_costs().c)))


def test_at_one_draft_length_the_expectation_is_tokens_over_cost():
    trace = make_trace(["AAAA", "AR..", "AAR."], record=False)
    costs = make_costs()
    wanted = metrics.tokens_per_round(trace) / (4 * costs.c + costs.verify_cost(4))
    assert metrics.speedup_expected(trace) == pytest.approx(wanted)


def test_varying_draft_lengths_are_summed_and_not_averaged():
    trace = make_trace(["AAAA", "", "R"], record=False)
    costs = make_costs()
    spent = (4 * costs.c + costs.verify_cost(4)) + 1 + (costs.c + costs.verify_cost(1))
    assert metrics.speedup_expected(trace) == pytest.approx((5 + 1 + 1) / spent)


def test_rounds_that_drafted_nothing_run_at_the_speed_of_the_target():
    trace = make_trace(["", "", ""])
    assert metrics.speedup_expected(trace) == 1.0
    assert metrics.speedup_model(trace) is None, "there is no α without a tested draft"


def test_times_that_are_what_the_table_says_give_the_expected_speed_up():
    costs = make_costs()
    outcomes = ["AAAA", "AR..", "AA", "R..."]
    times = [
        RoundTimes((costs.draft,) * len(each), verify=costs.verify_cost(len(each)) * costs.plain)
        for each in outcomes
    ]
    plain = make_baseline(8)
    plain = type(plain)(plain.sampling, plain.ids, np.full(8, costs.plain), 0.0)
    trace = make_trace(outcomes, times=times).with_(baseline=plain)
    assert metrics.speedup_measured(trace) == pytest.approx(metrics.speedup_expected(trace))


def test_both_lines_of_the_race_start_together_and_climb_to_their_tokens():
    trace = make_trace()
    race = metrics.race(trace)
    assert race.run_ms[0] == race.target_ms[0] == 0 and race.run_tokens[0] == race.target_tokens[0] == 0
    assert race.run_tokens[-1] == len(trace.emitted)
    assert race.target_tokens[-1] == len(trace.baseline.ids)
    assert race.target_ms[-1] == pytest.approx(trace.baseline.seconds.sum() * 1e3)
    assert np.all(np.diff(race.run_ms) > 0) and race.fair


def test_without_a_baseline_the_target_stays_at_the_start():
    race = metrics.race(make_trace(baseline=False))
    assert (race.target_ms.tolist(), race.target_tokens.tolist()) == ([0], [0])


def test_a_race_with_a_round_that_is_not_clean_says_so():
    assert not metrics.race(two_rounds(flags=[SINGLE])).fair
    assert metrics.race(two_rounds(flags=[SINGLE]), upto=0).fair


def test_a_line_has_a_token_when_the_round_that_brought_it_is_over():
    race = metrics.race(two_rounds())
    found = [metrics.when(race.run_ms, race.run_tokens, wanted) for wanted in (0, 1, 3, 4)]
    assert found == pytest.approx([0, 12, 12, 26])
    assert metrics.when(race.run_ms, race.run_tokens, 5) is None


def test_the_first_token_waits_for_the_prompt_and_the_first_round():
    trace = two_rounds()
    read = trace.prefill.target + trace.prefill.draft
    assert metrics.time_to_first_token(trace) == pytest.approx(read + 0.012)
    assert metrics.time_to_first_token(two_rounds(flags=[COLD])) is None
    assert metrics.time_to_first_token(make_trace([])) is None


def test_tokens_that_were_not_needed_cost_time_but_count_for_nothing():
    ended = make_trace(["AAR", "A--"], times=[FAST, SLOW], end=EndReason.LIMIT)
    assert metrics.time_per_token(ended) == pytest.approx(0.026 / 4)


@pytest.mark.parametrize("upto", [0, 1, 3])
def test_speeds_at_a_cursor_are_those_of_the_shorter_run(upto):
    whole = make_trace()
    part = make_trace([*("AAAA", "AR..", "R...")][:upto])
    assert metrics.time_per_token(whole, upto) == metrics.time_per_token(part)
    assert metrics.speedup_expected(whole, upto) == metrics.speedup_expected(part)
