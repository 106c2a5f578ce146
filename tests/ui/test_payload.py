"""What the round view is sent: agrees with the record, stays small, and is sent once."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from specdec_core.decoding.origin import Choice, Origin
from specdec_core.decoding.types import EndReason, Sampling, Source, Verdict
from specdec_core.traces import metrics
from specdec_core.ui import payload, place_tokens, place_words, run_view
from specdec_core.ui.run_view import Cursor
from tests.traces import factory

PROBABILITIES = st.floats(0.0, 1.0)
RUNS = {
    "speculative sampling": factory.make_trace(),
    "greedy": factory.make_trace(rule="greedy", sampling=Sampling(temperature=0)),
    "exact match": factory.make_trace(rule="exact match"),
    "ended": factory.make_trace(("AAAA", "AA--"), end=EndReason.END_TOKEN, name="recorded"),
    "filtered": factory.make_trace(sampling=Sampling(temperature=0.7, top_k=3)),
    "unrecorded": factory.make_trace(record=False),
}


@pytest.fixture
def session(monkeypatch):
    """The session state as a plain dictionary."""
    state = {}
    monkeypatch.setattr(run_view.st, "session_state", state)
    return state


def sent(trace, cursor, key="view"):
    """The message that the next drawing of the view would send, and the cursor it would return."""
    here = run_view.reader(trace, cursor, key=key)
    link = run_view._link(key)
    data = run_view._data(trace, link)
    link.coded, link.sent, link.replayed = True, len(trace.rounds), len(trace.replay)
    return data, here


def told(session, event, key="view", **value):
    """What happens when the browser reports something."""
    session[key] = {event: value}
    getattr(run_view, f"_on_{event}")(key)


@pytest.mark.parametrize("name", RUNS)
def test_every_round_becomes_strict_json(name):
    rounds = payload.compact_rounds(RUNS[name], 0)
    assert len(rounds) == len(RUNS[name].rounds)
    json.dumps(rounds, allow_nan=False)
    for item in rounds:
        assert len(item["places"]) == item["k"] + 1


@pytest.mark.parametrize("name", RUNS)
def test_emitted_tokens_and_their_sources_are_the_records(name):
    for item, compact in zip(RUNS[name].rounds, payload.compact_rounds(RUNS[name], 0), strict=True):
        assert [id_ for *_, id_ in compact["out"]] == item.emitted.tolist()
        assert [source for _, _, source, _ in compact["out"]] == item.sources.tolist()


@given(u=st.floats(0, 1, exclude_max=True), threshold=st.floats(1e-6, 1, exclude_max=True))
def test_dice_and_threshold_read_as_the_test_went(u, threshold):
    assume(abs(u - threshold) > 1e-9)
    shown, limit = place_words.dice(u, threshold)
    assert (float(shown) < float(limit)) == (u < threshold)


@given(share=PROBABILITIES)
def test_a_percentage_is_nothing_or_everything_only_when_it_is(share):
    text = place_words.percent(share)
    assert (text == "0 %") == (share == 0)
    assert (text == "100 %") == (share == 1)


@given(p=PROBABILITIES, q=st.floats(1e-6, 1.0), u=st.floats(0, 1, exclude_max=True))
def test_always_kept_is_said_only_where_no_dice_could_reject(p, q, u):
    verdict = Verdict.ACCEPTED if u * q < p else Verdict.REJECTED
    card = place_words.ratio_words(place_words.Drafted(1, "a", verdict, p, q, u, "b"))
    assert (card["test"] == "always kept") == (p >= q)
    assert card["us"] is not None


def test_a_threshold_that_rounds_to_1_is_no_number():
    drafted = place_words.Drafted(1, "a", Verdict.ACCEPTED, 0.34, 0.340001, 0.12, "b")
    assert place_words.ratio_words(drafted)["test"] == "almost always kept"
    fell = replace(drafted, u=0.999999, verdict=Verdict.REJECTED)
    assert place_words.ratio_words(fell)["test"] == "kept if dice < 0.999997"
    assert place_words.ratio_words(replace(drafted, p=0.33))["test"] == "kept if dice < 0.97"


def test_at_temperature_0_every_rule_reads_as_greedy():
    trace = factory.make_trace(("AAAR",), sampling=Sampling(temperature=0))
    (item,) = payload.compact_rounds(trace, 0)
    assert item["choice"] == "target's choice"
    assert all(place["us"] is None and place["strip"] is None for place in item["places"])


@pytest.mark.parametrize("rule", ["greedy", "exact match"])
def test_rules_that_compare_tokens_say_nothing_of_dice_and_ratios(rule):
    for item in payload.compact_rounds(RUNS[rule], 0):
        for place in item["places"]:
            assert all(place[name] is None for name in ("p", "q", "u", "us", "qs", "ps"))
            assert "dice" not in place["test"]


@pytest.mark.parametrize("name", ["speculative sampling", "exact match", "filtered"])
def test_the_second_dart_lies_in_the_token_that_was_drawn(name):
    for item in payload.compact_rounds(RUNS[name], 0):
        for place in item["places"]:
            strip = place["strip"]
            edges, at = {}, 0.0
            for id_, share in strip["segs"]:
                edges[id_] = (at, at := at + share)
            assert math.isclose(at, 1.0, abs_tol=2e-3)
            low, high = edges[strip["own"]]
            assert low - 2e-3 <= strip["u"] <= high + 2e-3


def test_the_drafted_and_the_targets_own_token_are_always_among_those_shown():
    trace = RUNS["speculative sampling"]
    for item, compact in zip(trace.rounds, payload.compact_rounds(trace, 0), strict=True):
        for index, place in enumerate(compact["places"]):
            shown = {row[0] for row in place["top"]}
            assert len(shown) == len(place["top"]) <= payload.TOP_SENT
            assert int(item.places.replacement[index]) in shown
            if index < len(item.drafted):
                assert int(item.drafted[index]) in shown


def without(top, ids):
    """The same list of tokens without one token of each place."""
    columns = [np.flatnonzero(row != id_)[: row.size - 1] for row, id_ in zip(top.ids, ids, strict=True)]
    rows = np.arange(len(columns))[:, None]
    return replace(top, **{name: getattr(top, name)[rows, columns] for name in ("ids", "p", "q")})


@pytest.mark.parametrize("name", ["speculative sampling", "exact match", "filtered"])
def test_the_targets_own_token_has_its_probability_even_outside_the_recorded_ones(name):
    trace = RUNS[name]
    for item in trace.rounds:
        full, drafted = item.places, len(item.drafted)
        tops = {top: without(getattr(full, top), full.replacement) for top in ("top_target", "top_draft")}
        tops["top_residual"] = without(full.top_residual, full.replacement)
        bare = replace(item, places=replace(full, **tops))
        for place in range(drafted + 1):
            own = int(full.replacement[place])
            p, q = place_tokens.known_tokens(trace, item, place)[own]
            if place < drafted and q > 0 == tops["top_draft"].q[place].min():
                continue  # no record names a token without naming those above it
            shown = {row[0]: row[2:] for row in place_tokens.tokens(trace, bare, place, None)["top"]}
            q_seen, p_seen, q_words, p_words = shown[own]
            if place < drafted and own == int(item.drafted[place]):
                assert p_words == place_words.percent(p)
            elif place == drafted or name == "exact match" or q_seen == 0:
                assert math.isclose(p_seen, p, rel_tol=1e-3) and p_words == place_words.percent(p)
            else:
                assert p_words.startswith("≥ ") and math.isclose(p_seen, p - q, rel_tol=1e-3)
            assert q_seen is not None or place == drafted or q_words.startswith("≤ ")


@pytest.mark.parametrize("name", RUNS)
def test_shown_tokens_and_others_add_up(name):
    trace = RUNS[name]
    for compact in payload.compact_rounds(trace, 0):
        for place in compact["places"]:
            if place["rest"] is None:
                continue
            shown = [row[3] for row in place["top"]]
            assert None not in shown
            assert place["rest"][0] == trace.pair.vocab_size - len(shown)
            left = float(place["rest"][2].strip("<>% ")) / 100
            assert math.isclose(sum(shown) + left, 1.0, abs_tol=2e-3)


def test_survivors_are_the_metrics_survivors():
    trace = RUNS["speculative sampling"]
    last = payload.compact_rounds(trace, 0)[-1]["surv"]
    survival = metrics.survival(trace)
    assert [through for through, _ in last] == list(survival.accepted)
    assert [tried for _, tried in last] == list(survival.rounds)


def test_a_character_split_over_rounds_is_shown_once_and_whole():
    trace = factory.make_trace(("A", "A"))
    first, second = trace.rounds[0].emitted[-1], trace.rounds[1].emitted[0]
    pieces = {**trace.pieces, int(first): b" \xf0\x9f\x9a", int(second): b"\x80!"}
    rounds = payload.compact_rounds(trace.with_(pieces=pieces), 0)
    assert rounds[0]["out"][-1][0] == " "
    assert rounds[1]["out"][0][0] == "\N{ROCKET}!"


def test_words_for_every_way_a_round_can_end():
    summary = place_words.emitted_words([Source.ACCEPTED, Source.CORRECTION], 0, None)
    assert summary.startswith("Emitted: 1 kept + 1 from the target where the draft fell ↺ = 2 tokens")
    assert "plain target step" in payload.compact_rounds(factory.make_trace(("",)), 0)[0]["places"][0]["test"]
    ended = payload.compact_rounds(RUNS["ended"], 0)[-1]
    assert "The run ends: end token." in ended["sum"]
    assert ended["places"][2]["test"].startswith("not needed")


def test_a_copied_draft_says_where_it_was_copied_from():
    (item,) = factory.make_trace(("AAR.",)).rounds
    copied = replace(item, origin=Origin(Choice.COPIED, "prompt lookup", 2, 17, 1))
    trace = factory.make_trace(("AAR.",)).with_(rounds=(copied,))
    assert payload.compact_rounds(trace, 0)[0]["how"] == copied.origin.words
    assert payload.compact_rounds(factory.make_trace(("AAR.",)), 0)[0]["how"] is None


def test_a_step_costs_the_same_however_long_the_run(session):
    sizes = {}
    for count in (5, 200):
        trace = factory.make_trace(("AAR..", "AAAAA") * count)
        shorter = trace.with_(rounds=trace.rounds[:-1])
        sent(shorter, Cursor(len(shorter.rounds) - 1), key=f"v{count}")
        data, _ = sent(trace, Cursor(len(trace.rounds) - 1), key=f"v{count}")
        assert len(data["append"]) == 1
        sizes[count] = len(json.dumps(data))
    assert max(sizes.values()) < 10_000
    assert sizes[200] < sizes[5] + 400


def test_a_round_is_sent_once_and_again_when_the_browser_lacks_it(session):
    trace = RUNS["speculative sampling"]
    data, here = sent(trace, Cursor(7))
    assert (data["base"], len(data["append"])) == (0, 8)
    again, here = sent(trace, here)
    assert (again["base"], again["append"]) == (8, [])
    told(session, "have", run=data["run"], count=3, replayed=0)
    resent, _ = sent(trace, here)
    assert (resent["base"], len(resent["append"])) == (3, 5)


def test_script_and_style_are_sent_once_and_again_when_the_browser_lacks_them(session):
    trace = RUNS["speculative sampling"]
    data, here = sent(trace, Cursor(7))
    assert "export function show" in data["code"]["script"] and ".run-view" in data["code"]["style"]
    told(session, "have", run=data["run"], count=8, replayed=0)
    assert sent(trace, here)[0]["code"] is None
    told(session, "have", run=data["run"], count=0, replayed=0, code=False)
    again, _ = sent(trace, here)
    assert again["code"] == data["code"] and len(again["append"]) == 8


def test_a_run_begun_again_gets_a_new_name(session):
    same_settings = RUNS["speculative sampling"]
    runs = (RUNS["ended"], same_settings, same_settings.with_(rounds=()), factory.make_trace(("R...",) * 8))
    messages = [sent(trace, Cursor(-1))[0] for trace in runs[:3]]
    messages.append(sent(same_settings, Cursor(-1))[0] and sent(runs[3], Cursor(-1))[0])
    assert [message["base"] for message in messages] == [0, 0, 0, 0]
    assert len({message["run"] for message in messages}) == 4


def test_the_later_move_wins_without_an_echo(session):
    trace = RUNS["speculative sampling"]
    first, here = sent(trace, Cursor(7))
    told(session, "cursor", run=first["run"], round=2, place=1, seq=first["cursor"]["seq"])
    second, here = sent(trace, here)
    assert here == Cursor(2, 1)
    assert second["cursor"]["seq"] == first["cursor"]["seq"], "the browser's own move is no news to it"
    third, here = sent(trace, Cursor(5))
    assert (here, third["cursor"]["seq"]) == (Cursor(5), second["cursor"]["seq"] + 1)
    told(session, "cursor", run=first["run"], round=2, place=1, seq=first["cursor"]["seq"])
    assert sent(trace, here)[1] == Cursor(5), "a report older than the page's move is out of date"


@pytest.mark.parametrize(
    "value", [None, "x", {"round": "<b>"}, {"round": 10**9, "place": -4}, {"round": True, "seq": 1}]
)
def test_nonsense_from_a_browser_changes_nothing(session, value):
    trace = RUNS["speculative sampling"]
    data, here = sent(trace, Cursor(3))
    for event in ("cursor", "have", "open"):
        session["view"] = {event: {"run": data["run"], **value} if isinstance(value, dict) else value}
        getattr(run_view, f"_on_{event}")("view")
    assert sent(trace, here)[1] == Cursor(3)


def test_the_full_record_of_a_place_holds_all_that_was_recorded(session):
    trace = RUNS["speculative sampling"]
    data, here = sent(trace, Cursor(1))
    assert data["detail"] is None
    told(session, "open", run=data["run"], round=1, place=0)
    assert sent(trace, Cursor(2))[0]["detail"] is None, "no longer looked at"
    here = Cursor(1)
    detail = sent(trace, here)[0]["detail"]
    assert (detail["round"], detail["place"]) == (1, 0)
    assert len(detail["top"]) > payload.TOP_SENT
    assert payload.detail(trace, 99, 0) is None and payload.detail(trace, 0, 99) is None
