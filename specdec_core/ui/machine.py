"""The badge that says what is on screen and where it was timed; it also watches work in progress."""

import streamlit as st

from specdec_core.ui import actions, browser, session
from specdec_core.ui.session import Session
from specdec_core.ui.shell import badge

_LOADING, _MEASURING, _GOING, _NOT_PAINTED = 0.7, 1.0, 1.5, 4.0
"""Seconds until the browser asks again while something is on its way; at rest it does not ask."""


def watch() -> None:
    """Draw the badge; while work is in progress the browser asks now and then what has come in."""
    st.fragment(_badge, key="badge")()


def _badge() -> None:
    state = session.current()
    state.news = _news(state)
    st.html(badge(*_texts(state)))
    browser.pulse(_patience(state), key="pulse", on_tick=_look, runs=state.runs)
    state.owed.discard("badge")


def _look() -> None:
    """Redraw what has been overtaken."""
    state = session.current()
    if not state.painted:
        actions.settle()  # the view should have asked for it long ago
    parts = ["panel"] if _panel_is_behind(state) else []
    if state.mode != "paused":
        parts.append("charts")
    elif _news(state) != state.news:
        parts += ["round", "charts"]
    actions.redraw("badge", *parts)


def _patience(state: Session) -> float | None:
    """How long the browser should wait before it asks again."""
    if not state.painted:
        return _NOT_PAINTED
    if state.waiting.busy(session.request()) or _panel_is_behind(state):
        return _LOADING
    if state.mode != "paused":
        return _GOING
    return _MEASURING if state.timing and state.timing.working else None


def _panel_is_behind(state: Session) -> bool:
    """Whether something that the side panel shows has moved on since it was drawn."""
    return state.waiting.news(session.request()) != state.panel_news


def _news(state: Session) -> tuple:
    """What changes by itself while the visitor looks at the page, besides what the side panel shows.

    That is what has been measured, and the theme, on which the colours of charts depend.
    """
    timing, trace = state.timing, state.trace
    trouble = timing.trouble if timing else ""
    # A replay in progress would have the page redrawn all the time.
    replayed = None if timing and timing.working else len(trace.replay)
    timed = trace.costs is not None, id(trace.baseline)
    wanted = session.request()
    how_to_start = state.waiting.loading(wanted).to_be_asked, state.waiting.refused(wanted)
    return timed, replayed, trouble, how_to_start, st.context.theme.type


def _texts(state: Session) -> list[str]:
    texts = [f"{'live' if state.live else 'recorded'} · {state.trace.conditions}"]
    if state.timing and state.timing.doing:
        texts.insert(0, f"{state.timing.doing} …")
    if state.live and (waiting := state.live.pair.runner.waiting):
        texts.insert(0, f"busy, {waiting} waiting")
    loading = state.waiting.loading(session.request())
    if loading.on_its_way:
        texts.insert(0, "loading the pair …")
    elif loading.trouble:
        texts.insert(0, "the pair cannot be loaded")
    return texts
