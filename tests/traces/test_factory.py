"""Made-up rounds agree with themselves, so that what is built on them is built on something possible."""

import numpy as np
import pytest

from specdec_core.decoding.types import EndReason, RuleName, Source, Verdict
from tests.traces.factory import make_round, make_trace
from tests.traces.laws import END_ID


@pytest.mark.parametrize("rule", RuleName)
@pytest.mark.parametrize("seed", range(3))
def test_verdicts_follow_from_the_record(rule, seed):
    for item in make_trace(rule=rule, seed=seed).rounds:
        places, tested = item.places, item.verdicts <= Verdict.REJECTED
        if rule == "exact match":
            passed = item.drafted == places.replacement[:-1]
        else:
            passed = places.accept_u * places.q < places.p
        assert np.array_equal(passed[tested], item.verdicts[tested] == Verdict.ACCEPTED)


@pytest.mark.parametrize("rule", RuleName)
def test_uniforms_lie_in_the_intervals_they_hit(rule):
    for item in make_trace(rule=rule).rounds:
        places = item.places
        low, high = places.replacement_interval.T
        assert np.all((low <= places.correct_u) & (places.correct_u < high))
        low, high = places.draft_interval.T
        assert np.all((low <= places.draft_u) & (places.draft_u < high))


def test_a_round_emits_what_its_verdicts_say():
    kept, corrected = make_round("AAA"), make_round("AR.")
    assert kept.sources.tolist() == [Source.ACCEPTED] * 3 + [Source.BONUS]
    assert corrected.sources.tolist() == [Source.ACCEPTED, Source.CORRECTION]
    assert corrected.emitted[-1] == corrected.places.replacement[1]


def test_an_end_token_ends_the_round_that_emits_it():
    ended = make_round("AA--", end=EndReason.END_TOKEN, clipped=1)
    assert ended.emitted.tolist()[-1] == END_ID and len(ended.emitted) == 2
    assert make_round("R", end=EndReason.END_TOKEN).emitted.tolist() == [END_ID]


def test_the_same_arguments_give_the_same_round():
    one, two = make_round("AR.", seed=4), make_round("AR.", seed=4)
    assert np.array_equal(one.places.p, two.places.p) and np.array_equal(one.drafted, two.drafted)
    assert not np.array_equal(one.places.p, make_round("AR.", seed=5).places.p)


@pytest.mark.parametrize("outcome", ["AAAA", "AAR.", "R", "", "AA--"])
def test_leaving_out_the_record_leaves_the_tokens_as_they_are(outcome):
    end = EndReason.LIMIT if "-" in outcome else None
    whole, bare = make_round(outcome, end=end), make_round(outcome, end=end, record=False)
    assert bare.places is None
    assert np.array_equal(whole.emitted, bare.emitted) and np.array_equal(whole.sources, bare.sources)
