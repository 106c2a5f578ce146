"""The trace that the app opens on shows a newcomer everything there is to see."""

from specdec_core.experiments.recorded import FIRST_ROUNDS, WANTED, shown
from specdec_core.models.registry import PAIRS
from specdec_core.ui import recorded


def test_the_first_rounds_hold_a_sure_keep_a_lucky_keep_a_rejected_word_and_a_star():
    assert shown(recorded.trace(), FIRST_ROUNDS) == WANTED


def test_the_app_opens_on_one_of_those_rounds_with_a_kept_and_a_rejected_draft():
    trace = recorded.trace()
    index = recorded.opening_round(trace)
    assert 0 <= index < FIRST_ROUNDS
    assert 0 < trace.rounds[index].accepted < trace.rounds[index].tested


def test_it_is_finished_measured_and_says_what_it_is():
    trace = recorded.trace()
    assert trace.name and trace.end is not None
    assert trace.costs is not None and trace.baseline is not None and not trace.baseline.contended
    assert trace.pair.key in PAIRS
