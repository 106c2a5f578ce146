"""The side panel: a new run, what holds from the next round on, keeping and sharing.

The controls are grouped by when they act. One fragment draws them all, so that moving a
slider redraws the panel alone, never the charts.
"""

import tomllib
from functools import cache
from pathlib import Path

import streamlit as st

from specdec_core.decoding.types import RuleName
from specdec_core.models.registry import PAIRS
from specdec_core.traces import json_codec
from specdec_core.ui import actions, session
from specdec_core.ui.settings import (
    MAX_GAMMA,
    MAX_SEED,
    MAX_TEMPERATURE,
    MAX_TOKENS,
    MAX_TOP_K,
    MIN_TOP_P,
    PROMPT_LIMIT,
    link,
)

_EXAMPLES = Path(__file__).parents[2] / "assets" / "examples.toml"
_GREEDY_REASON = "The greedy rule compares the most probable tokens of both models, so this changes nothing."
_KEYS_HELP = "B back, N next round, P play or pause. They never act while you are typing."


@st.fragment(key="panel")
def panel() -> None:
    """Draw the side panel."""
    _new_run()
    _from_next_round()
    _keep_and_share()
    session.keep()


def _new_run() -> None:
    _heading("New run")
    st.selectbox(
        "Pair",
        tuple(PAIRS),
        format_func=lambda key: PAIRS[key].title,
        key=session.key("pair"),
        help=_literal(PAIRS[session.chosen().pair].summary),
    )
    prompt = session.key("prompt")
    st.text_area("Prompt", key=prompt, max_chars=PROMPT_LIMIT, height=86)
    st.selectbox(
        "Examples",
        _examples(),
        index=None,
        placeholder="Choose an example prompt",
        label_visibility="collapsed",
        key="example",
        on_change=_take_example,
    )
    rule = session.key("rule")
    st.selectbox("Rule", tuple(RuleName), format_func=str.capitalize, key=rule)
    seed, most = st.columns(2, gap="small")
    seed.number_input("Seed", 0, MAX_SEED, key=session.key("seed"), step=1)
    tokens = session.key("max_tokens")
    most.number_input("Tokens, at most", 1, MAX_TOKENS, key=tokens, step=16)
    live = session.current().live
    st.button(
        "Start a new run" if live else "Run live",
        key="run_live",
        type="secondary" if live else "primary",
        icon=":material/play_circle:",
        width="stretch",
        on_click=actions.start,
    )


def _from_next_round() -> None:
    state = session.current()
    stepping = state.live and state.mode == "paused" and not state.trace.end
    _heading(f"From round {len(state.trace.rounds) + 1} on" if stepping else "From the next round on")
    st.slider("Draft length γ", 0, MAX_GAMMA, key=session.key("gamma"))
    reason = _GREEDY_REASON if _rule_in_force() == RuleName.GREEDY else ""
    _sampling("Temperature", "temperature", 0.0, MAX_TEMPERATURE, 0.05, reason)
    left, right = st.columns(2, gap="small")
    with left:
        _sampling("Top-k, 0 is off", "top_k", 0, MAX_TOP_K, 1, reason)
    with right:
        _sampling("Top-p, 1 is off", "top_p", MIN_TOP_P, 1.0, 0.01, reason)
    if reason:
        st.caption(reason)


def _sampling(label: str, name: str, low: float, high: float, step: float, reason: str) -> None:
    """A slider of the sampling settings; ``reason`` says why it is out of use, if it is."""
    st.slider(
        label,
        low,
        high,
        step=step,
        key=session.key(name),
        disabled=bool(reason),
        help=reason or None,
    )


def _keep_and_share() -> None:
    _heading("Keep and share")
    with st.popover("Copy link", width="stretch"):
        st.caption("Opens the page with these settings.")
        st.code(link(session.chosen(), st.context.url or ""), language=None, wrap_lines=True)
    trace = session.current().trace
    st.download_button(
        "Export…",
        lambda: json_codec.dumps(trace),
        file_name="trace.json",
        help="The whole trace on screen as JSON: settings, rounds with every probability and draw, times.",
        mime="application/json",
        key="export",
        width="stretch",
        on_click="ignore",
    )
    keys = session.key("single_keys")
    st.toggle("Single-key shortcuts", key=keys, help=_KEYS_HELP, on_change=actions.redraw)


def _rule_in_force() -> str:
    """The rule of the live run, else the one a new run would have."""
    state = session.current()
    return state.trace.run.rule if state.live else session.chosen().rule


def _take_example() -> None:
    title = st.session_state["example"]
    if title in _examples():
        st.session_state[session.key("prompt")] = _examples()[title]
        st.session_state["example"] = None


@cache
def _examples() -> dict[str, str]:
    """Text of each example prompt by its title."""
    prompts = tomllib.loads(_EXAMPLES.read_text(encoding="utf-8"))["prompt"]
    return {prompt["title"]: prompt["text"] for prompt in prompts}


def _heading(text: str) -> None:
    st.html(f'<h2 class="group">{text}</h2>')


def _literal(text: str) -> str:
    """Text with the characters escaped that Markdown would act on."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]()<>#+-.!|$:~" else char for char in text)
