"""What the buttons do. Each is a callback: it changes the session, then parts of the page redraw."""

import logging
from collections.abc import Callable

import streamlit as st

from specdec_core.ui import session
from specdec_core.ui.jobs import Timing
from specdec_core.ui.loading import PairUnavailable, pair
from specdec_core.ui.run_view import Cursor
from specdec_core.ui.session import Mode, Session
from specdec_core.ui.settings import Settings

_LOG = logging.getLogger(__name__)
REDRAWN = ["round", "panel", "charts"]
"""Fragments that a move of the cursor or a new round redraws, in this order."""


def start() -> None:
    """Start a live run with what the controls say; it replaces the run on screen."""
    _begin(session.chosen())
    st.rerun()


def reset() -> None:
    """Take the run on screen back to before its first round; its prompt, seed and rule stay."""
    state = session.current()
    if state.live:
        _begin(state.same_run(session.chosen()))
    else:
        state.go(-1)
    st.rerun()


def forward() -> None:
    """Show the next round, computing it if need be."""
    state = session.current()
    state.mode = "paused"
    attempt(state, lambda: state.forward(session.chosen().round))
    st.rerun(REDRAWN)


def back() -> None:
    """Show the round before; nothing is undone."""
    state = session.current()
    state.mode = "paused"
    state.go(state.cursor.round - 1)
    st.rerun(REDRAWN)


def go(index: int) -> None:
    """Show a round that there is."""
    session.current().go(index)
    st.rerun(REDRAWN)


def redraw() -> None:
    """Draw the parts anew that a switch in the side panel changes."""
    st.rerun(REDRAWN)


def set_mode(mode: Mode) -> None:
    """Let rounds follow each other, or stop them between two rounds."""
    session.current().mode = mode
    st.rerun()


def run_to_end() -> None:
    """Compute all rounds that are left; a recorded run only shows its last one."""
    state = session.current()
    if state.live:
        state.mode = "run"
    else:
        state.go(state.newest)
    st.rerun()


def time_again() -> None:
    """Time the target alone anew, with the sampling settings of now."""
    state = session.current()
    if state.timing:
        state.timing.again(session.chosen().round.sampling)
    st.rerun()


def attempt(state: Session, work: Callable[[], None]) -> None:
    """Do something with the models; what goes wrong becomes a sentence, the trace so far stays."""
    state.trouble = ""
    try:
        work()
    except Exception as error:
        _LOG.warning("a round failed", exc_info=True)
        state.mode, state.trouble = "paused", _sentence(error)


def _begin(settings: Settings) -> None:
    """Replace the run on screen, or say why it cannot be replaced."""
    state = session.current()
    attempt(state, lambda: _replace(state, settings))


def _replace(state: Session, settings: Settings) -> None:
    from specdec_core.experiments.live import LiveRun  # imports torch, which the first page must not wait for

    live = LiveRun.start(
        pair(settings.pair),
        settings.prompt,
        rule=settings.rule,
        seed=settings.seed,
        max_new_tokens=settings.max_tokens,
    )
    state.leave()
    state.live, state.mode, state.cursor = live, "paused", Cursor(-1)
    state.timing = Timing(live, settings.round.sampling)


def _sentence(error: Exception) -> str:
    """What went wrong, for the visitor; an error nobody foresaw is described in the log alone."""
    text = str(error)
    if not isinstance(error, ValueError | RuntimeError | OSError | PairUnavailable) or not text:
        text = "something unexpected went wrong; the server's log says what"
    text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
