"""Public bug reports of Streamlit apps, and hostile text and links, played on the whole app."""

import tomllib
from pathlib import Path

import pytest
from streamlit.runtime.scriptrunner_utils.exceptions import RerunException, StopException
from streamlit.testing.v1 import AppTest

from specdec_core.models.loading import load_spec
from specdec_core.traces import json_codec
from specdec_core.ui import jobs, loading
from specdec_core.ui.settings import MAX_GAMMA, MAX_SEED, MAX_TOKENS, NAMES, cleaned
from specdec_core.ui.waiting import Waiting
from tests.models.tiny import pair_spec

ROOT = Path(__file__).parents[2]
HOSTILE = {
    "markup": "<img src=x onerror=alert(1)></span><h1>x",
    "markdown and formulas": "costs $5 and $10, a_b*c* # x [x](y) `z` :smile: :red[x]",
    "control characters": "a\x00b\x1b[31mred",
    "right to left": "\u202eevil שלום",
    "zero width": "a\u200bb\u200dc\ufeff",
    "emoji families": "👨\u200d👩\u200d👧\u200d👦🏳️\u200d🌈",
    "end token": "The end<|endoftext|>And",
    "many marks": "Z" + "\u0301" * 20,
    "digits": "1 2 10 1E1 2024-01-01",
}


@pytest.fixture(scope="module")
def tiny_pair(tmp_path_factory):
    return load_spec(pair_spec(tmp_path_factory.mktemp("pair"), context=256))


@pytest.fixture
def opened(tiny_pair, monkeypatch):
    """Opens the app with these query parameters, on a tiny pair, without background measurements."""
    monkeypatch.setattr(Waiting, "pair", lambda self, request: tiny_pair)
    monkeypatch.setattr(loading.Loading, "held", tiny_pair)
    monkeypatch.setattr(loading.Loading, "begin", lambda self: None)
    monkeypatch.setattr(jobs.Timing, "_work_on", lambda self: None)

    def open_(**query):
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        for name, value in query.items():
            app.query_params[name] = value
        app.run()
        app.session_state["explore"].painted = True  # as the browser tells once it has painted the run
        app.run()
        assert not app.exception
        return app

    return open_


def session_settings(app):
    names = [name for name in NAMES if f"set_{name}" in app.session_state]
    return cleaned({name: app.session_state[f"set_{name}"] for name in names}, ("embedded",))


@pytest.mark.parametrize("prompt", HOSTILE.values(), ids=HOSTILE)
def test_any_prompt_is_run_tabled_and_kept_as_it_is(opened, prompt):
    """S10, S11, S13, S14."""
    app = opened(prompt=prompt)
    for key in ("run_live", "next", "next"):
        app.button(key=key).click().run()
    app.run()
    app.button_group(key="chart").select("Table").run()
    state = app.session_state["explore"]
    assert not app.exception and not state.trouble
    assert len(app.dataframe[0].value) == len(state.trace.rounds) >= 1
    assert json_codec.loads(json_codec.dumps(state.trace)).prompt == prompt


def test_a_link_of_a_hundred_thousand_characters_is_cut_and_then_refused_in_words(opened):
    app = opened(prompt="x" * 100_000)
    app.button(key="run_live").click().run()
    assert not app.exception
    assert "tokens" in app.session_state["explore"].trouble


@pytest.mark.parametrize(
    ("name", "sent", "found"),
    [
        ("gamma", "999", MAX_GAMMA),
        ("gamma", "nan", 5),
        ("temperature", "1e999", 0.8),
        ("temperature", "-1", 0.0),
        ("seed", "99999999999999999999", MAX_SEED),
        ("seed", "-1", 0),
        ("max_tokens", "0", 1),
        ("max_tokens", "1e9", MAX_TOKENS),
        ("pair", "../../etc/passwd", "embedded"),
        ("rule", "__class__", "speculative sampling"),
    ],
)
def test_a_link_with_values_out_of_range_opens_with_the_nearest_or_the_default(opened, name, sent, found):
    app = opened(**{name: sent})
    assert getattr(session_settings(app), name) == found
    assert "About the link" in "".join(item.proto.body for item in app.get("html"))


@pytest.mark.parametrize("signal", [StopException, RerunException])
def test_streamlits_own_signals_pass_through_the_net_for_errors(signal):
    """S07: a stop in the middle of a run is no error of the run."""
    assert not issubclass(signal, Exception)


def test_no_redraw_stops_all_visitors_for_a_full_collection_of_garbage():
    """S05: with torch loaded it takes a quarter of a second, in which nobody's round goes on."""
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["runner"]["postScriptGC"] is False
