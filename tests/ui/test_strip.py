"""The figures of the strip say "–" until something was counted, and never show a speed that is none."""

from dataclasses import replace

import pytest

from specdec_core.decoding.types import RoundFlags
from specdec_core.ui import strip
from tests.traces.factory import make_trace

SINGLE = RoundFlags(single=True)


def values(trace, upto):
    return [[number for number, _ in item.values] for item in strip.figures(trace, upto, 4)]


def kept(trace, upto):
    return [" ".join(each) for each in strip.figures(trace, upto, 4)[0].values]


def test_before_the_first_round_nothing_is_claimed():
    trace = make_trace((), baseline=False, costs=False)
    assert values(trace, 0) == [["–", "–"], ["–"], ["–", "–"], ["–", "–"], ["–", "–"]]


def test_counts_are_counts_until_there_are_a_hundred():
    assert kept(make_trace(("AAR.", "AAAA")), 2) == ["6 of 7 tested", "6 of 8 drafted"]
    assert kept(make_trace(("AAR.",) * 40), 40) == ["66.7 % of tested", "50.0 % of drafted"]


def test_the_figures_are_those_of_the_rounds_up_to_the_cursor():
    trace = make_trace(("AAAA", "R...", "R..."))
    assert values(trace, 1)[1] == ["5.00"]
    assert values(trace, 3)[1] == ["2.33"]


@pytest.mark.parametrize("flags", [SINGLE, RoundFlags(cold=True), RoundFlags(contended=True)])
def test_rounds_that_measure_no_speed_give_none(flags):
    trace = make_trace(("AAAA", "R..."), flags=(flags, flags))
    time, speedup = values(trace, 2)[2:4]
    assert time[0] == speedup[0] == "–" and time[1] != "–"


def test_a_replay_supplies_the_speed_and_says_so():
    trace = make_trace(("AAAA", "R..."), flags=(SINGLE, SINGLE), replay=2)
    items = strip.figures(trace, 2, 4)
    assert "ms" in items[2].values[0][0]
    assert [item.mark for item in items] == ["", "", "replayed", "replayed", ""]


def test_a_speed_says_how_many_of_the_rounds_it_is_made_of():
    trace = make_trace(("AAAA", "R...", "AAR."), flags=(SINGLE, SINGLE, RoundFlags()), replay=1)
    assert strip.figures(trace, 3, 4)[2].mark == strip.figures(trace, 3, 4)[3].mark == "2 of 3 rounds"
    assert strip.figures(trace, 2, 4)[2].mark == "1 of 2 rounds"
    assert strip.figures(make_trace(("AAAA",)), 1, 4)[2].mark == ""


def test_every_figure_explains_itself_and_every_speed_names_the_machine():
    trace = make_trace()
    items = strip.figures(trace, len(trace.rounds), 4)
    assert all(item.formula for item in items)
    assert all(trace.conditions in item.formula for item in items[2:])


def test_what_stands_in_the_strip_is_escaped():
    html = strip.html([strip.Figure("<b>x", (("<i>", "<s>"),), "a < b & c", "<u>")])
    assert "&lt;b&gt;" in html and "a &lt; b &amp; c" in html
    assert not any(tag in html for tag in ("<b>x", "<i>", "<s>", "<u>"))


def test_the_most_tokens_of_a_pass_are_whole_numbers_also_when_the_draft_length_was_changed():
    assert strip.figures(make_trace(("AAAA", "R...")), 2, 4)[1].values[0][1] == "of at most 5"
    assert strip.figures(make_trace(("AAAA", "R........")), 2, 9)[1].values[0][1] == "of at most 5 to 10"


def test_times_of_the_target_alone_that_contradict_each_other_are_marked():
    trace = make_trace(("AAAA", "R..."))
    assert all(item.mark == "" for item in strip.figures(trace, 2, 4))
    busy = replace(trace.baseline, seconds=3 * trace.baseline.seconds)
    marked = [item.mark for item in strip.figures(trace.with_(baseline=busy), 2, 4)]
    assert marked == ["", "", "unsteady", "unsteady", ""]
