"""The side panel: a new run, what holds from the next round on, keeping and sharing.

The controls are grouped by when they act. One fragment draws them all, so that moving a
slider redraws the panel alone, never the charts.
"""

import tomllib
from functools import cache
from pathlib import Path

import streamlit as st

from specdec_core.decoding.settings import RuleName
from specdec_core.traces import json_codec
from specdec_core.ui import actions, browser, chat_panel, draft_panel, links, pair_panel, session
from specdec_core.ui.loading import NOT_ASKED, ON_ITS_WAY, REFUSED
from specdec_core.ui.session import Session
from specdec_core.ui.settings import (
    MAX_GAMMA,
    MAX_SEED,
    MAX_TEMPERATURE,
    MAX_TOKENS,
    MAX_TOP_K,
    MIN_TOP_P,
    over_limit,
    understood,
)
from specdec_core.ui.shell import notice

_EXAMPLES = Path(__file__).parents[2] / "assets" / "examples.toml"
_STYLE = Path(__file__).with_name("panel.css")
_GREEDY_REASON = "The greedy rule compares the most probable tokens of both models, so this changes nothing."
_KEYS_HELP = "B back, N next round, P play or pause. They never act while you are typing."
_SEED_HELP = (
    f"The dice of the run, a whole number from 0 to {MAX_SEED:,}: the same settings with the same seed "
    "give the same text."
)
_RULE_HELP = (
    "How the target tests a draft. Speculative sampling keeps it with probability min(1, p/q); greedy keeps "
    "it if it is the target's most probable token; exact match keeps it if the target draws the same token."
)
_HELP = {
    "gamma": "How many tokens the draft may guess in each round; 0 lets the target write alone.",
    "temperature": "Below 1 both models prefer what is probable, above 1 they dare more; at 0 they always "
    "take the most probable token.",
    "top_k": "Only the k most probable tokens may be drawn, by draft and target alike.",
    "top_p": "Only the most probable tokens that together have this probability may be drawn.",
}


@st.fragment(key="panel")
def panel() -> None:
    """Draw the side panel; on the very first draw only its first heading, so that the run comes sooner."""
    state = session.current()
    if not state.painted:
        _heading("New run")
        return
    state.panel_news = state.waiting.news(session.request())  # before, so that nothing is missed meanwhile
    state.owed.add("panel")  # until it is drawn whole: another event may interrupt it
    st.html(_STYLE)
    _new_run(state)
    _from_next_round(state)
    _keep_and_share(state)
    session.keep()
    state.owed.discard("panel")


def _new_run(state: Session) -> None:
    _heading("New run")
    # Each part has a place of its own: what appears in one moves no control of the next to another place,
    # where the browser would have it twice for a moment.
    for part in (pair_panel.pair, _prompt, chat_panel.chat, draft_panel.draft, _rule, _numbers, _start):
        with st.container(key=f"panel_{part.__name__.strip('_')}", gap="small"):
            part(state)


def _rule(state: Session) -> None:
    st.selectbox(
        "Rule", tuple(RuleName), format_func=str.capitalize, key=session.key("rule"), help=_RULE_HELP
    )


def _numbers(state: Session) -> None:
    seed, most = st.columns(2, gap="small")
    with seed:
        _typed(state, "seed", "Seed", _SEED_HELP)
    with most:
        _typed(state, "max_tokens", "Tokens, at most", f"Where the run ends, from 1 to {MAX_TOKENS}.")


def _start(state: Session) -> None:
    reason = _not_yet(state) or draft_panel.not_ready(state)
    st.button(
        "Start a new run" if state.live else "Run live",
        key="run_live",
        type="secondary" if state.live else "primary",
        icon=":material/play_circle:",
        width="stretch",
        disabled=bool(reason),
        on_click=actions.start,
    )
    if reason:
        st.caption(reason)


def _not_yet(state: Session) -> str:
    """Why no run can be started with the pair that is chosen, or ""."""
    wanted = session.request()
    loading = state.waiting.loading(wanted)
    if loading.to_be_asked:
        return REFUSED if state.waiting.refused(wanted) else NOT_ASKED
    return ON_ITS_WAY if loading.on_its_way and not wanted.by_itself else ""


def _prompt(state: Session) -> None:
    st.text_area("Prompt", key=session.key("prompt"), height=86, on_change=_forget_prompt_trouble)
    too_long = over_limit(session.chosen().prompt)
    _answer(too_long or state.prompt_trouble)
    st.selectbox(
        "Examples",
        _examples(chat_panel.is_chat(state)),
        index=None,
        placeholder="Choose an example prompt",
        label_visibility="collapsed",
        key="example",
        on_change=_take_example,
    )


def _typed(state: Session, name: str, label: str, words: str) -> None:
    """A field for a whole number; whatever else is typed is answered below it."""
    st.text_input(label, key=session.key(name), help=words, on_change=_correct, args=(name,))
    _answer(state.corrected.get(name, ""))


def _correct(name: str) -> None:
    value, remark = understood(name, st.session_state[session.key(name)], ())
    session.current().corrected[name] = remark
    session.put(name, value)


def _from_next_round(state: Session) -> None:
    newest = len(state.trace.rounds)
    stepping = state.live and state.mode == "paused" and not state.trace.end
    _heading(f"From round {newest + 1} on" if stepping else "From the next round on")
    if stepping and state.cursor.round < state.newest:
        st.caption(f"Acts after round {newest}, the newest. You are looking at an earlier one.")
    elif not state.live:
        st.caption("The run on screen is recorded: these act once a live run has been started.")
    st.slider("Draft length γ", 0, MAX_GAMMA, key=session.key("gamma"), help=_HELP["gamma"])
    draft_panel.wise_length(state)
    reason = _GREEDY_REASON if _rule_in_force(state) == RuleName.GREEDY else ""
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
        help=reason or _HELP[name],
    )


def _keep_and_share(state: Session) -> None:
    _heading("Keep and share")
    chosen = session.chosen()
    browser.copy_button(
        "Copy link",
        links.link(chosen, st.context.url or ""),
        key="copy_link",
        remark=links.about(state.trace, state.started, chosen) if state.live else "",
    )
    st.download_button(
        "Export JSON",
        lambda: json_codec.dumps(state.trace),
        file_name=_file_name(state),
        help="The whole trace on screen as JSON: settings, rounds with every probability and draw, times.",
        mime="application/json",
        key="export",
        width="stretch",
        on_click="ignore",
    )
    keys = session.key("single_keys")
    st.toggle(
        "Single-key shortcuts", key=keys, help=_KEYS_HELP, on_change=actions.redraw, args=("round", "panel")
    )


def _file_name(state: Session) -> str:
    """What the run is: its pair, its seed, and how far it has come."""
    trace = state.trace
    pair = "".join(char if char.isalnum() else "-" for char in trace.pair.key)[:60].strip("-")
    return f"{pair}-seed-{trace.run.seed}-rounds-{len(trace.rounds)}.json"


def _rule_in_force(state: Session) -> str:
    """The rule of the live run, else the one a new run would have."""
    return state.trace.run.rule if state.live else session.chosen().rule


def _take_example() -> None:
    examples = _examples(chat_panel.is_chat(session.current()))
    title = st.session_state["example"]
    if title in examples:
        session.put("prompt", examples[title])
        st.session_state["example"] = None
        _forget_prompt_trouble()


def _forget_prompt_trouble() -> None:
    session.current().prompt_trouble = ""


@cache
def _examples(chat: bool) -> dict[str, str]:
    """Text of each example prompt by its title: messages for a chat, else beginnings of a text."""
    prompts = tomllib.loads(_EXAMPLES.read_text(encoding="utf-8"))["chat" if chat else "prompt"]
    return {prompt["title"]: prompt["text"].strip() for prompt in prompts}


def _answer(sentence: str) -> None:
    """What there is to say about what was put into the field above, if anything."""
    if sentence:
        notice(sentence, "alert")


def _heading(text: str) -> None:
    st.html(f'<h2 class="group">{text}</h2>')
