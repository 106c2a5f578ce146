"""The part of Explore that a step redraws: buttons, figures, text, lanes, inspector and carpet."""

import streamlit as st

from specdec_core.ui import actions, session, strip
from specdec_core.ui.run_view import reader, run_view
from specdec_core.ui.session import PLAY_SECONDS, Session
from specdec_core.ui.shell import notice
from specdec_core.ui.transport import transport

VIEW = "run"
"""Key of the interactive picture."""


def view(state: Session) -> None:
    """Draw it; while rounds follow each other, the browser asks for the next one."""
    every = {"paused": None, "play": PLAY_SECONDS, "run": 0.1}[state.mode]
    st.fragment(_round, run_every=every, key="round")()


def _round() -> None:
    state = session.current()
    going = state.due()
    if going:
        _advance(state)
    state.cursor = reader(state.trace, state.cursor, key=VIEW)
    transport(state)
    for trouble in filter(None, (state.trouble, state.timing.trouble if state.timing else "")):
        notice(trouble, "alert")
    st.html(strip.html(strip.figures(state.trace, state.cursor.round + 1, _gamma(state))))
    run_view(state.trace, state.cursor, key=VIEW)
    if going and state.mode == "paused":
        st.rerun()  # the browser need not ask any more, and the rest of the page has news


def _advance(state: Session) -> None:
    settings = session.chosen().round
    move = state.run_slice if state.mode == "run" else state.forward
    actions.attempt(state, lambda: move(settings))
    if state.exhausted:
        state.mode = "paused"


def _gamma(state: Session) -> int:
    """Draft length of the round shown; before the first, that of the controls."""
    if state.cursor.round >= 0:
        return state.trace.rounds[state.cursor.round].settings.gamma
    return session.chosen().gamma
