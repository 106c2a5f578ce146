"""The Explore page without a browser: what its buttons do, and that nothing is lost on errors."""

import json
from pathlib import Path

import pytest
from streamlit.errors import StreamlitAPIException
from streamlit.testing.v1 import AppTest

from specdec_core.decoding.checks import ModelFailure
from specdec_core.experiments.drafts import DraftSettings
from specdec_core.models.checklist import Checklist, Item, Verdict
from specdec_core.traces.trace import Framing
from specdec_core.ui import actions, checking, jobs, loading, recorded
from specdec_core.ui.loading import PairUnavailable
from specdec_core.ui.waiting import Waiting

APP = Path(__file__).parents[2] / "app.py"


@pytest.fixture
def app(tiny_pair, monkeypatch):
    """The app with a tiny pair and without background measurements, opened."""
    monkeypatch.setattr(Waiting, "pair", lambda self, request: tiny_pair)
    monkeypatch.setattr(loading.Loading, "held", tiny_pair)
    monkeypatch.setattr(loading.Loading, "begin", lambda self: None)
    monkeypatch.setattr(jobs.Timing, "_work_on", lambda self: None)
    return opened(AppTest.from_file(str(APP), default_timeout=60))


def opened(test):
    """The page as it is once the browser has painted the run and asked for the rest."""
    test.run()
    state(test).painted = True
    test.run()
    assert not test.exception
    return test


def click(test, key):
    """Press a button, then draw the page as a whole: a move redraws the round alone."""
    test.button(key=key).click().run()
    assert not test.exception
    test.run()
    assert not test.exception
    return state(test)


def state(test):
    return test.session_state["explore"]


def component(test, name):
    """The message sent to the component of that key."""
    return next(item.proto for item in test.get("bidi_component") if item.proto.id.endswith(f"-{name}"))


def shown(test):
    """All HTML that the page drew, in one string."""
    return "\n".join(item.proto.body for item in test.get("html"))


def test_a_recorded_trace_is_on_screen_before_any_model(app):
    assert state(app).live is None
    assert state(app).trace is recorded.trace()
    assert "recorded" in shown(app)
    assert app.button(key="next").disabled == (state(app).cursor.round == state(app).newest)


def test_nothing_keeps_the_first_paint_waiting_for_controls_or_charts(tiny_pair):
    test = AppTest.from_file(str(APP), default_timeout=60).run()
    assert not test.exception and component(test, "run")
    assert not test.slider and not test.get("plotly_chart")
    state(test).painted = True
    test.run()
    assert test.slider(key="set_gamma").value == 5 and len(test.get("plotly_chart")) == 1


def test_moving_in_the_recorded_trace_computes_nothing(app):
    rounds = len(state(app).trace.rounds)
    click(app, "reset")
    assert state(app).cursor.round == -1
    assert click(app, "next").cursor.round == 0
    assert click(app, "back").cursor.round == -1
    assert click(app, "run_to_end").cursor.round == rounds - 1
    assert state(app).live is None and len(state(app).trace.rounds) == rounds


def test_a_live_run_replaces_the_recorded_trace_only_when_asked(app):
    assert click(app, "run_live").live is not None
    assert state(app).trace.rounds == ()
    assert "before the first round" in shown(app)


def test_next_computes_a_round_and_back_only_moves(app):
    click(app, "run_live")
    click(app, "next")
    click(app, "next")
    assert (state(app).cursor.round, len(state(app).trace.rounds)) == (1, 2)
    click(app, "back")
    assert (state(app).cursor.round, len(state(app).trace.rounds)) == (0, 2)
    click(app, "next")
    assert (state(app).cursor.round, len(state(app).trace.rounds)) == (1, 2)


def test_rounds_stepped_by_hand_are_marked_so_that_no_speed_contains_them(app):
    click(app, "run_live")
    assert click(app, "next").trace.rounds[0].flags.single
    settings = state(app).trace.rounds[0].settings
    state(app).forward(settings, by_hand=False)
    state(app).mode = "run"
    state(app).run_slice(settings)
    assert not any(item.flags.single for item in state(app).trace.rounds[1:])


def test_draft_length_and_sampling_act_from_the_next_round_on(app):
    click(app, "run_live")
    click(app, "next")
    before = state(app).trace.rounds[0]
    app.slider(key="set_gamma").set_value(2)
    app.slider(key="set_temperature").set_value(1.5).run()
    after = click(app, "next").trace.rounds
    assert after[0] is before
    assert (after[1].settings.gamma, after[1].settings.sampling.temperature) == (2, 1.5)
    assert len(after[1].drafted) <= 2


def test_new_run_settings_wait_for_a_new_run(app):
    click(app, "run_live")
    click(app, "next")
    app.text_input(key="set_seed").set_value("9").run()
    assert click(app, "next").trace.run.seed != 9
    assert click(app, "run_live").trace.run.seed == 9


def test_greedy_takes_the_sampling_settings_out_of_use_with_a_reason(app):
    app.selectbox(key="set_rule").select_index(1).run()
    sliders = [app.slider(key=f"set_{name}") for name in ("temperature", "top_k", "top_p")]
    assert all(slider.disabled for slider in sliders)
    assert not app.slider(key="set_gamma").disabled
    assert any("greedy" in caption.value for caption in app.caption)


@pytest.mark.parametrize("prompt", ["word " * 390])
def test_a_prompt_that_does_not_fit_is_explained_and_nothing_is_lost(app, prompt):
    click(app, "run_live")
    click(app, "next")
    app.text_area(key="set_prompt").set_value(prompt).run()
    click(app, "run_live")
    assert len(state(app).trace.rounds) == 1
    assert "tokens" in state(app).trouble and state(app).trouble in shown(app)


def test_a_pair_that_cannot_be_loaded_is_explained(app, monkeypatch):
    def missing(self, request):
        raise PairUnavailable("The pair could not be loaded: a file <b>is</b> missing.")

    monkeypatch.setattr(Waiting, "pair", missing)
    assert click(app, "run_live").live is None
    assert "a file &lt;b&gt;is&lt;/b&gt; missing" in shown(app)


def test_a_failing_model_keeps_the_trace_so_far(app, monkeypatch):
    click(app, "run_live")
    click(app, "next")

    def fails(*args, **options):
        raise ModelFailure("the target returned NaN at place 2 of the round")

    monkeypatch.setattr(state(app).live, "next_round", fails)
    click(app, "next")
    assert len(state(app).trace.rounds) == 1
    assert "NaN at place 2" in shown(app)


def test_an_unforeseen_error_shows_no_details(app, monkeypatch):
    click(app, "run_live")

    def fails(*args, **options):
        raise KeyError("secret")

    monkeypatch.setattr(state(app).live, "next_round", fails)
    click(app, "next")
    assert "secret" not in shown(app) and "log" in state(app).trouble


def test_play_goes_on_round_by_round_until_paused(app):
    click(app, "run_live")
    assert click(app, "play").mode == "play"
    state(app).last_tick = 0.0
    app.run()
    made = len(state(app).trace.rounds)
    assert made >= 1
    assert click(app, "play").mode == "paused"
    app.run()
    assert len(state(app).trace.rounds) in (made, made + 1)


def test_run_to_end_reaches_the_end_and_stops(app):
    app.text_input(key="set_max_tokens").set_value("12").run()
    click(app, "run_live")
    click(app, "run_to_end")
    for _ in range(50):
        if state(app).mode == "paused":
            break
        app.run()
    assert state(app).trace.end is not None and len(state(app).trace.emitted) <= 12
    assert app.button(key="next").disabled and app.button(key="play").disabled


def test_a_link_restores_its_settings_and_nonsense_falls_back(tiny_pair):
    test = AppTest.from_file(str(APP), default_timeout=60)
    test.query_params["gamma"] = "3"
    test.query_params["temperature"] = "nan"
    test.query_params["rule"] = "<script>"
    test.query_params["prompt"] = "A fox *ran* $x$"
    opened(test)
    assert test.slider(key="set_gamma").value == 3
    assert test.slider(key="set_temperature").value == 0.8
    assert test.selectbox(key="set_rule").value == "speculative sampling"
    assert test.text_area(key="set_prompt").value == "A fox *ran* $x$"
    assert "A+fox+%2Aran%2A+%24x%24" in json.loads(component(test, "copy_link").json)[1]
    assert "temperature" in shown(test).lower() and "no rule “&lt;script&gt;”" in shown(test)
    click(test, "remarks_read")
    assert "About the link" not in shown(test)


def test_an_example_fills_in_the_prompt(app):
    title = app.selectbox(key="example").options[1]
    app.selectbox(key="example").select(title).run()
    assert app.text_area(key="set_prompt").value.startswith("There was once a poor miller")
    assert app.selectbox(key="example").value is None


@pytest.mark.parametrize("chart", ["Race", "Acceptance", "Tokens per round", "Latency", "Table"])
def test_one_chart_at_a_time_is_drawn(app, chart):
    app.button_group(key="chart").select(chart).run()
    assert not app.exception
    assert len(app.get("plotly_chart")) + len(app.dataframe) == 1


def test_the_other_page_and_back_keeps_controls_and_run(app):
    click(app, "run_live")
    click(app, "next")
    app.slider(key="set_gamma").set_value(7)
    app.text_area(key="set_prompt").set_value("Another tale").run()
    app.switch_page("pages/theory.py").run()
    assert not app.exception
    app.switch_page("pages/explore.py").run()
    assert not app.exception
    assert app.slider(key="set_gamma").value == 7
    assert app.text_area(key="set_prompt").value == "Another tale"
    assert len(state(app).trace.rounds) == 1


def test_an_event_that_comes_when_another_page_is_open_is_answered_on_the_way_back(app, monkeypatch):
    def rerun(parts=None):
        whole.append(parts is None)
        if parts:
            raise StreamlitAPIException("No fragment found for target 'panel'.")

    whole = []
    monkeypatch.setattr(actions.st, "rerun", rerun)
    monkeypatch.setattr(actions.session, "current", lambda: state(app))
    actions.redraw("panel", "charts")
    assert {"panel", "charts"} <= state(app).owed and whole == [False, True]


def test_the_first_click_on_a_fresh_server_forgets_no_control(app):
    before = app.text_area(key="set_prompt").value, app.text_input(key="set_seed").value
    app.run()
    assert (app.text_area(key="set_prompt").value, app.text_input(key="set_seed").value) == before


def test_a_draft_is_chosen_with_its_options_and_belongs_to_a_new_run(app):
    click(app, "run_live")
    app.selectbox(key="draft_kind").set_value("suffix").run()
    assert app.selectbox(key="set_pair").value and state(app).live.draft.kind == "model"
    assert any("acts in a new run" in caption.value for caption in app.caption)
    app.slider(key="draft_suffix_max_match").set_value(9).run()
    assert "draft=suffix%2Cmax_match%3D9" in json.loads(component(app, "copy_link").json)[1]
    assert click(app, "run_live").live.draft == DraftSettings.of("suffix", max_match=9)
    app.button(key="wise_gamma").click().run() if state(app).started.gamma < 5 else None
    app.selectbox(key="draft_kind").set_value("model").run()
    assert "draft=" not in json.loads(component(app, "copy_link").json)[1]


@pytest.mark.parametrize(("draft", "offered"), [("suffix", True), ("uniform", False), ("oracle", False)])
def test_a_length_is_offered_for_drafts_that_can_pay(app, draft, offered):
    app.slider(key="set_gamma").set_value(12).run()
    app.selectbox(key="draft_kind").set_value(draft).run()
    assert any(button.key == "wise_gamma" for button in app.button) == offered


def test_a_draft_that_has_to_be_prepared_is_prepared_when_asked_for(app):
    app.selectbox(key="draft_kind").set_value("bfloat16").run()
    assert app.button(key="run_live").disabled
    app.button(key="prepare_draft").click().run()
    (work,) = state(app).waiting.drafts.values()
    work._work.wait()
    app.run()
    assert not app.button(key="run_live").disabled and not work.trouble
    assert click(app, "run_live").live.draft.kind == "bfloat16"


@pytest.mark.parametrize(
    ("draft", "words"),
    [
        ("magic", "no draft “magic”; draft model drafts"),
        ("early-exit,depth=99", "Its usual options are used"),
        ("<b>", "no draft “&lt;b&gt;”"),
    ],
)
def test_a_link_to_a_draft_that_there_is_not_is_answered(app, draft, words):
    app.query_params["draft"] = draft
    del app.session_state["explore_controls"]
    del app.session_state["explore"]
    app.session_state["_shell_opened"] = True
    opened(app)
    assert words in shown(app)


def test_a_message_is_framed_by_the_chat_template_with_its_system_prompt(app, tiny_pair, monkeypatch):
    assert not [toggle for toggle in app.toggle if toggle.key == "shown_chat"]
    template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[me]"
    monkeypatch.setattr(tiny_pair.tokenizer, "chat_template", template)
    app.run()
    app.text_area(key="shown_system").set_value("brief")
    app.text_area(key="shown_stop").set_value("\\n\\n\nThe end").run()
    framing = click(app, "run_live").trace.framing
    assert framing == Framing(chat=True, system="brief", stop_strings=("\n\n", "The end"))
    app.toggle(key="shown_chat").set_value(False).run()
    assert click(app, "run_live").trace.framing == Framing(stop_strings=("\n\n", "The end"))
    app.toggle(key="shown_chat").set_value(True).run()
    assert app.text_area(key="shown_system").value == "brief"


@pytest.fixture
def asked(monkeypatch):
    """What was asked to be loaded, and what to be looked at; nothing is."""
    asked_ = []
    monkeypatch.setattr(loading.Loading, "ask", lambda self: asked_.append(self.request.pair))
    monkeypatch.setattr(checking.Check, "_look", lambda self, meter: CHECKED[self.request.pair])
    return asked_


CHECKED = {
    "qwen3-8b": Checklist((Item("Qwen3 8B can be had", Verdict.OK, "It is <b>on the hub</b>."),)),
    "gpt2-xl": Checklist(
        (Item("There is memory", Verdict.REFUSE, "It needs 7.5 GiB.", "Choose a smaller pair."),)
    ),
}


def test_a_link_to_a_pair_that_does_not_ship_loads_nothing(asked):
    test = AppTest.from_file(str(APP), default_timeout=60)
    test.query_params["pair"] = "qwen3-8b"
    opened(test)
    assert test.selectbox(key="set_pair").value == "qwen3-8b"
    assert state(test).live is None and test.button(key="run_live").disabled
    click(test, "run_live_here")
    assert asked == [] and "loaded when you ask for it" in shown(test)
    click(test, "check_pair")
    test.run()
    assert "It is &lt;b&gt;on the hub&lt;/b&gt;." in shown(test) and asked == []
    click(test, "load_pair")
    assert asked == ["qwen3-8b"]


def test_a_pair_that_cannot_run_here_says_why_and_cannot_be_loaded(asked):
    test = opened(AppTest.from_file(str(APP), default_timeout=60))
    test.selectbox(key="set_pair").set_value("gpt2-xl").run()
    test.run()
    assert test.button(key="load_pair").disabled and "It needs 7.5 GiB." in shown(test)
    assert "Choose a smaller pair." in shown(test)
    assert any("cannot run here" in caption.value for caption in test.caption)
    assert state(test).trace is recorded.trace()


def test_a_link_to_a_pair_that_cannot_run_here_does_not_ask_for_it_to_be_loaded(asked):
    test = AppTest.from_file(str(APP), default_timeout=60)
    test.query_params["pair"] = "gpt2-xl"
    opened(test)
    assert "Load its pair" in shown(test)
    click(test, "check_pair")
    test.run()
    assert "cannot run here; the side panel says why" in shown(test)
    assert "Load its pair" not in shown(test)


def test_a_public_server_offers_what_it_allows_and_says_so(monkeypatch):
    monkeypatch.setenv("SPECDEC_ALLOWED_MODELS", "HuggingFaceTB/*")
    test = AppTest.from_file(str(APP), default_timeout=60)
    test.query_params["pair"] = "qwen3-8b"
    opened(test)
    assert test.selectbox(key="set_pair").value == "embedded"
    assert len(test.selectbox(key="set_pair").options) == 4
    assert "no pair “qwen3-8b”" in shown(test)
    assert any("HuggingFaceTB" in caption.value for caption in test.caption)


def test_a_model_of_ones_own_that_is_none_is_answered(asked):
    test = opened(AppTest.from_file(str(APP), default_timeout=60))
    test.session_state["own_models"] = True
    test.run()
    test.text_input(key="own_target_hub").set_value("../<b>").run()
    click(test, "own_pair")
    assert "&#x27;../&lt;b&gt;&#x27; is no hub id" in shown(test) and asked == []
    assert test.selectbox(key="set_pair").value == "embedded"


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ("hub:a/b<-hub:a/c", None),
        ("hub:../x", "is no hub id"),
        ("folder:secret", "SPECDEC_MODELS_DIR is not set"),
    ],
)
def test_a_link_to_two_models_only_offers_them(asked, monkeypatch, pair, words):
    monkeypatch.delenv("SPECDEC_MODELS_DIR", raising=False)
    test = AppTest.from_file(str(APP), default_timeout=60)
    test.query_params["pair"] = pair
    opened(test)
    assert asked == [] and not state(test).waiting.checks
    assert test.selectbox(key="set_pair").value == ("embedded" if words else pair)
    assert words is None or words in shown(test)
