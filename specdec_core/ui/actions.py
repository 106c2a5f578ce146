"""What the buttons do. Each is a callback: it changes the session, then parts of the page redraw.

A move redraws the round alone. What else depends on it follows once the browser has painted
the round and the reader has come to rest (``settle``), so nothing keeps a step waiting.

Two events may reach the server together, and of the redraws that their callbacks ask for
Streamlit keeps the later one. So the session remembers what is owed until it has been drawn.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.errors import StreamlitAPIException

from specdec_core.models.prompt import PromptError
from specdec_core.ui import session, starting
from specdec_core.ui.jobs import Timing
from specdec_core.ui.loading import PairUnavailable
from specdec_core.ui.run_view import Cursor, reader
from specdec_core.ui.session import PARTS, Mode, Session
from specdec_core.ui.settings import Settings

if TYPE_CHECKING:
    from specdec_core.models.pair import Pair

_LOG = logging.getLogger(__name__)
_FORESEEN = (ValueError, RuntimeError, OSError, PairUnavailable)


def start() -> None:
    """Start a live run with what the controls say; it replaces the run on screen."""
    _begin(session.chosen())
    redraw(*PARTS)


def reset() -> None:
    """Take the run on screen back to before its first round; its prompt, seed and rule stay."""
    state = session.current()
    if state.live:
        _begin(state.same_run(session.chosen()), state.live.pair)
    else:
        state.go(-1)
    redraw(*PARTS)


def forward() -> None:
    """Show the next round, computing it if need be."""
    state = session.current()
    state.mode = "paused"
    attempt(state, lambda: state.forward(session.chosen().round))
    redraw("round")


def back() -> None:
    """Show the round before; nothing is undone."""
    state = session.current()
    state.mode = "paused"
    state.go(state.cursor.round - 1)
    redraw("round")


def go(index: int) -> None:
    """Show a round that there is."""
    session.current().go(index)
    redraw("round")


def redraw(*parts: str) -> None:
    """Have these parts of the page drawn anew, and what else is owed.

    An event may come when its sender has turned to another page. It interrupts that page, which is
    then drawn whole; the parts follow on the way back.
    """
    owed = session.current().owed
    owed.update(parts)
    try:
        st.rerun([part for part in PARTS if part in owed])
    except StreamlitAPIException:  # the page of now does not have these parts
        st.rerun()


def settle() -> None:
    """Draw what follows the round: the browser has painted it, and the reader stays there."""
    state = session.current()
    state.painted = True
    state.waiting.begin(session.request())
    here = reader(state.trace, state.cursor, key=session.VIEW)
    if here != state.cursor:
        # The reader moved, and the redraw that was asked for then has been overtaken by another event.
        state.cursor = here
        state.owed.add("round")
    redraw("panel", "badge", "charts")


def set_mode(mode: Mode) -> None:
    """Let rounds follow each other, or stop them between two rounds."""
    session.current().mode = mode
    redraw("round", "panel", "badge")


def run_to_end() -> None:
    """Compute all rounds that are left; a recorded run only shows its last one."""
    state = session.current()
    if state.live:
        set_mode("run")
    else:
        go(state.newest)


def time_again() -> None:
    """Time the rounds and the target alone anew, the latter with the sampling settings of now."""
    state = session.current()
    if state.timing:
        state.timing.again(session.chosen().round.sampling)
    redraw("badge")


def choose_pair() -> None:
    """Load the pair that was chosen if it ships with the app; look at it if not."""
    session.current().waiting.begin(session.request())
    redraw("round", "panel", "badge")  # the round says how a link's run is started


def read_remarks() -> None:
    """Take away what was said about the link."""
    session.current().remarks = ()
    redraw("round")


def attempt(state: Session, work: Callable[[], None]) -> None:
    """Do something with the models; what goes wrong becomes a sentence, the trace so far stays."""
    state.trouble = ""
    try:
        work()
    except Exception as error:
        state.mode, state.trouble = "paused", _sentence(error)
        if isinstance(error, PromptError):
            state.prompt_trouble = state.trouble
        elif isinstance(error, _FORESEEN):
            _LOG.warning("a round failed: %s", error)
        else:
            _LOG.error("a round failed", exc_info=True)


def _begin(settings: Settings, pair: "Pair | None" = None) -> None:
    """Replace the run on screen, or say why it cannot be replaced; on the chosen pair unless one is given."""
    state = session.current()
    attempt(state, lambda: _replace(state, settings, pair))


def _replace(state: Session, settings: Settings, pair: "Pair | None") -> None:
    live = starting.live_run(pair or state.waiting.pair(session.request()), settings)
    state.leave()
    state.live, state.started, state.mode, state.cursor = live, settings, "paused", Cursor(-1)
    state.timing = Timing(live, settings.round.sampling, owner=state)
    state.runs += 1
    state.remarks, state.prompt_trouble = (), ""


def _sentence(error: Exception) -> str:
    """What went wrong, for the visitor; an error nobody foresaw is described in the log alone."""
    text = str(error)
    if not isinstance(error, _FORESEEN) or not text:
        text = "something unexpected went wrong; the server's log says what"
    text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
