"""Figures of a run: they show what the metrics say, and nothing breaks at the edges."""

import base64
import json
import re
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import pytest

from specdec_core.decoding.types import EndReason, RoundFlags, RoundTimes, Sampling
from specdec_core.figures import break_even, latency, race, rounds, style
from specdec_core.figures.palette import DARK, LIGHT, Palette
from specdec_core.traces import metrics
from specdec_core.traces.trace import Trace
from tests.traces.factory import make_trace

OUTCOMES = ("AAAA", "AR..", "R...", "AAAR", "AAAA", "", "AAR.")
Draw = Callable[[Trace, Palette], go.Figure]
FIGURES: dict[str, Draw] = {
    "race": race.race,
    "acceptance": rounds.running_acceptance,
    "tokens": rounds.tokens_per_round,
    "latency": latency.latency,
    "break-even": break_even.break_even,
}
TRACES = {
    "empty": make_trace(()),
    "usual": make_trace(OUTCOMES),
    "nothing drafted": make_trace(("", "")),
    "nothing kept": make_trace(("R...", "R...")),
    "one round": make_trace(("A",)),
    "bare": make_trace(OUTCOMES, baseline=False, costs=False, record=False),
    "ended inside a block": make_trace(("AAA", "A---"), end=EndReason.END_TOKEN),
    "nothing clean": make_trace(OUTCOMES, flags=[RoundFlags(single=True)] * len(OUTCOMES)),
    "greedy": make_trace(OUTCOMES, rule="greedy", sampling=Sampling(temperature=0.0)),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
@pytest.mark.parametrize("trace", TRACES.values(), ids=TRACES)
@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_every_figure_of_every_trace_can_be_sent_and_is_told_in_words(
    draw: Draw, trace: Trace, palette: Palette
) -> None:
    fig = draw(trace, palette)
    spec = json.loads(fig.to_json())
    assert len(style.alt(fig)) > 15
    assert not any(word in fig.to_json() for word in ("nan ms", "nan %", "None", "Infinity"))
    assert spec["layout"]["height"] == style.HEIGHT
    for name in ("xaxis", "yaxis"):
        assert spec["layout"][name]["title"]["text"]


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_a_run_without_rounds_is_a_sentence(draw: Draw) -> None:
    fig = draw(TRACES["empty"], LIGHT)
    assert len(fig.data) == 0
    assert fig.layout.annotations[0].text.endswith(".")


@pytest.mark.parametrize("draw", [d for name, d in FIGURES.items() if name != "break-even"])
@pytest.mark.parametrize("cursor", [-5, -1, 7, 10_000])
def test_a_cursor_outside_the_run_highlights_nothing(draw: Callable[..., go.Figure], cursor: int) -> None:
    fig = draw(TRACES["usual"], LIGHT, cursor)
    assert not fig.layout.shapes
    assert "joins" not in names(fig)


def test_the_race_has_the_points_of_the_metrics() -> None:
    trace = TRACES["usual"]
    both, fig = metrics.race(trace), race.race(trace, LIGHT)
    alone, run = named(fig, "target alone"), named(fig, "this run")
    np.testing.assert_allclose(run.x, both.run_ms, rtol=1e-6)
    np.testing.assert_array_equal(run.y, both.run_tokens)
    np.testing.assert_allclose(alone.x, both.target_ms, rtol=1e-6)
    np.testing.assert_array_equal(alone.y, both.target_tokens)
    assert run.line.shape == alone.line.shape == "hv"


def test_the_races_cursor_joins_both_sides_at_equal_tokens() -> None:
    trace = TRACES["usual"]
    both, bridge = metrics.race(trace), named(race.race(trace, LIGHT, 3), "joins")
    tokens = int(both.run_tokens[4])
    assert list(bridge.y) == [tokens, tokens]
    assert bridge.x[0] == pytest.approx(both.run_ms[4])
    assert bridge.x[1] == pytest.approx(both.target_ms[tokens])


def test_the_race_shows_what_there_is_of_a_run_that_goes_on_and_all_of_one_that_is_over() -> None:
    going = make_trace(("AAAA", "R..."))
    both, early = metrics.race(going), race.race(going, LIGHT)
    last, end = both.run_ms[-1], early.layout.xaxis.range[1]
    assert last < end < 2 * max(last, both.target_ms[both.run_tokens[-1]]) < both.target_ms[-1]
    inside = both.target_tokens[both.target_ms <= end / 1.03][-1]
    assert early.layout.yaxis.range[1] == pytest.approx(1.22 * max(both.run_tokens[-1], inside))
    over = race.race(make_trace(("AAAA", "R..."), end=EndReason.LIMIT), LIGHT)
    assert over.layout.xaxis.range[1] >= both.target_ms[-1]
    assert over.layout.yaxis.range[1] >= both.target_tokens[-1]


@pytest.mark.parametrize("trace", TRACES.values(), ids=TRACES)
@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_a_phone_has_room_for_every_line_above_a_figure(draw: Draw, trace: Trace) -> None:
    last = len(trace.rounds) - 1
    fig = draw(trace, LIGHT) if draw is break_even.break_even else draw(trace, LIGHT, last)
    for line in (fig.layout.title.text or "").split("<br>"):
        assert len(re.sub("<[^>]*>", "", line)) <= 58


def test_the_race_says_so_when_the_target_alone_was_not_timed_or_not_as_long() -> None:
    untimed = race.race(TRACES["bare"], LIGHT, 2)
    assert "not timed yet" in untimed.layout.title.text
    assert "target alone" not in names(untimed)
    longer = race.race(make_trace(("AAAA",) * 30), LIGHT, 29)
    assert "joins" not in names(longer)
    assert "target alone –" in longer.layout.title.text


@pytest.mark.parametrize("draw", [race.race, latency.latency, break_even.break_even])
def test_the_machine_stands_beside_every_time(draw: Draw) -> None:
    assert TRACES["usual"].conditions in draw(TRACES["usual"], LIGHT).layout.title.text


def test_unclean_and_replayed_times_are_called_so() -> None:
    unclean = make_trace(OUTCOMES, flags=[RoundFlags(contended=True)])
    replayed = make_trace(OUTCOMES, flags=[RoundFlags(contended=True)], replay=len(OUTCOMES))
    assert "not all times count" in race.race(unclean, LIGHT).layout.title.text
    assert "not all times count" not in race.race(replayed, LIGHT).layout.title.text
    for draw in (race.race, latency.latency):
        assert "replayed" in draw(replayed, LIGHT).layout.title.text
        assert "replayed" not in draw(unclean, LIGHT).layout.title.text


@pytest.mark.parametrize(
    ("trace", "differs"),
    [(TRACES["usual"], True), (TRACES["greedy"], False)],
    ids=["drawn at temperature 1", "greedy"],
)
def test_only_drawn_tokens_are_called_other_dice(trace: Trace, differs: bool) -> None:
    assert ("other dice, same distribution" in race.race(trace, LIGHT).to_json()) is differs


def test_exact_match_writes_what_the_target_alone_writes_and_the_race_says_so() -> None:
    sent = race.race(make_trace(OUTCOMES, rule="exact match"), LIGHT).to_json()
    assert "same dice, same text" in sent and "other dice" not in sent


def test_running_acceptance_shows_counts_interval_and_overlap() -> None:
    trace = TRACES["usual"]
    found, fig = metrics.running(trace), rounds.running_acceptance(trace, LIGHT, 2)
    low, high, _, overlap, kept = fig.data
    np.testing.assert_allclose(kept.y, found.kept_of_tested, rtol=1e-6)
    np.testing.assert_allclose(low.y, found.low, rtol=1e-6)
    np.testing.assert_allclose(high.y, found.high, rtol=1e-6)
    np.testing.assert_allclose(overlap.y, found.overlap, rtol=1e-6)
    assert f"{found.accepted[2]} of {found.tested[2]}" in fig.layout.title.text
    assert f"{found.overlap[2]:.2f}" in fig.layout.title.text


def test_a_round_without_drafts_has_no_acceptance_of_its_own() -> None:
    alone = rounds.running_acceptance(TRACES["usual"], LIGHT).data[2]
    assert np.isnan(alone.y[5]) and not np.isnan(np.delete(alone.y, 5)).any()


def test_kept_and_own_tokens_stack_up_to_what_the_round_emitted() -> None:
    for trace in (TRACES["usual"], TRACES["ended inside a block"]):
        kept, own, most, mean = rounds.tokens_per_round(trace, LIGHT).data
        np.testing.assert_array_equal(kept.y, [item.accepted for item in trace.rounds])
        np.testing.assert_array_equal(kept.y + own.y, [len(item.emitted) for item in trace.rounds])
        np.testing.assert_array_equal(most.y[::3], [item.settings.gamma + 1 for item in trace.rounds])
        assert mean.y[-1] == pytest.approx(metrics.tokens_per_round(trace))


def test_the_four_parts_of_latency_add_up_to_the_rounds_time() -> None:
    trace = TRACES["usual"]
    parts = latency.latency(trace, LIGHT).data[:4]
    np.testing.assert_allclose(sum(part.y for part in parts), metrics.latency(trace).total * 1e3, rtol=1e-5)


def test_rounds_in_no_speed_are_marked_and_do_not_flatten_the_others() -> None:
    slow = RoundTimes(draft=(1.0,) * 4, verify=2.0)
    trace = make_trace(OUTCOMES, flags=[RoundFlags(cold=True)], times=[slow])
    fig = latency.latency(trace, LIGHT)
    clean = metrics.latency(trace).total[1:].max() * 1e3
    assert list(fig.data[4].x) == [1]
    assert fig.layout.yaxis.range[1] < 2 * clean
    assert fig.data[4].y[0] < fig.layout.yaxis.range[1]
    assert "in no speed" in fig.layout.title.text
    assert "in no speed" not in latency.latency(make_trace(OUTCOMES), LIGHT).layout.title.text


def test_break_even_shows_survival_line_and_best_length_of_the_metrics() -> None:
    trace = TRACES["usual"]
    found, fig = metrics.break_even(trace), break_even.break_even(trace, LIGHT)
    assert found is not None
    bars, points, line = fig.data
    np.testing.assert_allclose(points.y, found.measured, rtol=1e-6)
    np.testing.assert_allclose(bars.y, found.places.survival, rtol=1e-6)
    np.testing.assert_allclose(bars.y + bars.error_y.array, found.places.high, rtol=1e-5)
    np.testing.assert_allclose(bars.y - bars.error_y.arrayminus, found.places.low, atol=1e-6)
    np.testing.assert_allclose(line.y, found.line, rtol=1e-6)
    assert fig.layout.shapes[0].x0 == found.best
    assert f"best γ = {found.best}: model {found.speedups[found.best]:.2f}×" in fig.layout.annotations[0].text


def test_without_costs_survival_stands_alone_and_says_why() -> None:
    fig = break_even.break_even(TRACES["bare"], LIGHT)
    assert [trace.type for trace in fig.data] == ["bar"]
    assert "not measured yet" in fig.layout.title.text
    assert not fig.layout.shapes


def test_drafting_nothing_is_a_best_length_too() -> None:
    fig = break_even.break_even(TRACES["nothing kept"], LIGHT)
    assert "best γ = 0" in fig.layout.annotations[0].text
    assert fig.layout.xaxis.range[0] < 0 < fig.layout.xaxis.range[1]


def test_the_cursors_frame_is_around_its_round() -> None:
    for draw in (rounds.running_acceptance, rounds.tokens_per_round, latency.latency):
        (frame,) = draw(TRACES["usual"], LIGHT, 3).layout.shapes
        assert frame.x0 < 4 < frame.x1 and frame.x1 - frame.x0 <= 1


@pytest.mark.parametrize("name", ["race", "acceptance", "tokens", "latency"])
def test_a_click_on_any_mark_of_a_round_names_it(name: str) -> None:
    fig = FIGURES[name](TRACES["usual"], LIGHT)
    marks = [trace for trace in fig.data if trace.customdata is not None]
    assert marks
    for trace in marks:
        row = {str(column): float(value) for column, value in enumerate(trace.customdata[-1])}
        assert style.clicked_round([{"customdata": row}]) == len(TRACES["usual"].rounds) - 1


def test_each_model_has_its_colour_and_nothing_else_has_one() -> None:
    allowed = {
        palette.name: {value for value in vars(palette).values() if str(value).startswith("#")}
        for palette in (LIGHT, DARK)
    }
    for draw in FIGURES.values():
        for palette in (LIGHT, DARK):
            used = set(colours(json.loads(draw(TRACES["usual"], palette).to_json())))
            assert used <= allowed[palette.name]


def test_five_hundred_rounds_stay_small() -> None:
    trace = make_trace(("AAAA", "AR..", "R...", "AAAR") * 125, record=False)
    for name, draw in FIGURES.items():
        assert len(draw(trace, LIGHT).to_json()) < 120_000, name


def test_arrays_are_sent_packed_in_four_bytes_at_most() -> None:
    spec = json.loads(rounds.running_acceptance(TRACES["usual"], LIGHT).to_json())
    packed = spec["data"][4]["y"]
    assert packed["dtype"] == "f4"
    assert len(base64.b64decode(packed["bdata"])) == 4 * len(TRACES["usual"].rounds)


def named(fig: go.Figure, part: str) -> go.Scatter:
    """The one trace whose hover text or name speaks of ``part``."""
    (found,) = [trace for trace in fig.data if part in (trace.name or "")]
    return found


def names(fig: go.Figure) -> list[str]:
    return [trace.name for trace in fig.data]


def colours(node: object) -> list[str]:
    """Every ``#rrggbb`` anywhere in a figure."""
    if isinstance(node, dict):
        return [found for value in node.values() for found in colours(value)]
    if isinstance(node, list):
        return [found for value in node for found in colours(value)]
    if isinstance(node, str) and node.startswith("#") and len(node) == 7:
        return [node]
    return []
