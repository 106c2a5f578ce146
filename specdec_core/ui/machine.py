"""The badge that says what is on screen and where it was timed; it also watches work in progress."""

import streamlit as st

from specdec_core.ui import loading, session
from specdec_core.ui.session import Session
from specdec_core.ui.shell import badge

_POLL_SECONDS = {"loading": 0.5, "live": 1.0, "recorded": 2.0}


def watch(state: Session) -> None:
    """Draw the badge; it looks now and then whether something has come in or the theme has changed."""
    what = "loading" if not _loaded() else "live" if state.live else "recorded"
    st.fragment(_badge, run_every=_POLL_SECONDS[what], key="badge")(_measured(state), len(state.trace.replay))


def _badge(measured: tuple, replayed: int) -> None:
    """Redraw the whole page when what it was drawn from has been overtaken."""
    state = session.current()
    st.html(badge(*_texts(state)))
    if state.painted:
        loading.loading(session.chosen().pair).begin()
    state.painted = True  # the browser comes back here only once it has drawn the page
    at_rest = state.timing is None or not state.timing.working
    news = _measured(state) != measured or (at_rest and len(state.trace.replay) != replayed)
    if news and state.mode == "paused":
        st.rerun()


def _measured(state: Session) -> tuple:
    """What changes by itself while the visitor looks at the page, the colours of charts included."""
    trouble = state.timing.trouble if state.timing else ""
    return _loaded(), state.trace.costs, state.trace.baseline, trouble, st.context.theme.type


def _texts(state: Session) -> list[str]:
    texts = [f"{'live' if state.live else 'recorded'} · {state.trace.conditions}"]
    if state.timing and state.timing.doing:
        texts.insert(0, f"{state.timing.doing} …")
    if state.live and (waiting := state.live.pair.runner.waiting):
        texts.insert(0, f"busy, {waiting} waiting")
    if not _loaded():
        texts.insert(0, "loading the pair …")
    elif loading.loading(session.chosen().pair).trouble:
        texts.insert(0, "the pair cannot be loaded")
    return texts


def _loaded() -> bool:
    return loading.loading(session.chosen().pair).done
