"""The part of Explore that a step redraws: buttons, figures, text, lanes, inspector and carpet."""

from functools import lru_cache, partial

import streamlit as st

from specdec_core.traces.trace import Trace
from specdec_core.ui import actions, browser, session, strip, worth
from specdec_core.ui.run_view import reader, run_view
from specdec_core.ui.session import PLAY_SECONDS, VIEW, Session
from specdec_core.ui.settings import DEFAULT, NAMES
from specdec_core.ui.shell import notice, theory_page
from specdec_core.ui.transport import buttons, show_position

_GIST = (
    '<p class="gist"><span class="by-draft">A small draft model guesses</span>; <span class="by-target">the '
    "large target checks all guesses in one pass</span>.</p>"
)

_NEXT = {"paused": None, "play": PLAY_SECONDS, "run": 0.02}
"""Seconds from a drawn round to the next, by the mode."""


def view() -> None:
    """Draw it; while rounds follow each other, the browser asks for the next one."""
    st.fragment(_round, key="round")()


def _round() -> None:
    state = session.current()
    state.owed.add("round")  # until it is drawn whole: another event may interrupt it
    state.cursor = reader(state.trace, state.cursor, key=VIEW)
    line = st.container(key="transport", horizontal=True, vertical_alignment="center", gap="small")
    with line:
        row, position = st.container(key="buttons", horizontal=True, gap="small", width="content"), st.empty()
    if state.due():
        _advance(state, position)
    with row:
        buttons(state)
    show_position(position, state)
    if not state.live and not state.exhausted:
        # Where a run ends, how it ended takes the room.
        with line:
            _gist()
    _say(state)
    st.html(strip.html(strip.figures(state.trace, state.cursor.round + 1, _gamma(state))))
    if state.live and state.trace.end and (sentence := _verdict(state.trace)):
        notice(sentence)
    # In a run to the end nobody rests between two rounds; the charts then follow the clock of the badge.
    on_rest = None if state.mode == "run" else actions.settle
    state.cursor = run_view(state.trace, state.cursor, key=VIEW, on_rest=on_rest)
    browser.pulse(_NEXT[state.mode], key="play_pulse")
    state.owed.discard("round")


def _gist() -> None:
    """What the page shows, for those who meet it for the first time."""
    with st.container(key="gist", horizontal=True, vertical_alignment="center", gap="small", width="content"):
        st.html(_GIST, width="content")
        st.page_link(theory_page(), label="Why it works", width="content")


def _advance(state: Session, position: st.delta_generator.DeltaGenerator) -> None:
    """Make the round that is owed, and say so meanwhile; the buttons still stand there from before."""
    settings = session.chosen().round
    making = state.live and state.cursor.round == state.newest
    show_position(position, state, f"making round {state.newest + 2} …" if making else "")
    move = state.run_slice if state.mode == "run" else partial(state.forward, by_hand=False)
    actions.attempt(state, lambda: move(settings))
    if state.exhausted:
        state.mode = "paused"


def _say(state: Session) -> None:
    """Everything the visitor should know about what was asked for, above the figures."""
    for trouble in filter(None, (state.trouble, state.timing.trouble if state.timing else "")):
        notice(trouble, "alert")
    if not state.live and session.chosen() != DEFAULT and any(name in NAMES for name in st.query_params):
        notice(f"You see a recorded run. {_how_to_start(state)}")
    if not state.remarks:
        return
    with st.container(key="remarks", horizontal=True, vertical_alignment="center", gap="small"):
        notice(f"About the link: {' '.join(state.remarks)}")
        st.button("OK", key="remarks_read", type="tertiary", on_click=actions.read_remarks)


def _how_to_start(state: Session) -> str:
    """What starts the run that a link asks for, or that nothing does."""
    wanted = session.request()
    if not state.waiting.loading(wanted).to_be_asked:
        return "“Run live” starts the one that your link asks for."
    if state.waiting.refused(wanted):
        return "The pair that your link asks for cannot run here; the side panel says why."
    return "Load its pair, then “Run live” starts the one that your link asks for."


@lru_cache(maxsize=8)
def _verdict(trace: Trace) -> str:
    """Whether drafting paid in a run that is over; the same wherever in it the reader is."""
    return worth.sentence(trace)


def _gamma(state: Session) -> int:
    """Draft length of the round shown; before the first, that of the controls."""
    if state.cursor.round >= 0:
        return state.trace.rounds[state.cursor.round].settings.gamma
    return session.chosen().gamma
