"""The buttons that move through a run, and where the reader is."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from specdec_core.ui import actions, session
from specdec_core.ui.session import Session
from specdec_core.ui.shell import badge

_LIVE = ":material/play_circle:"


def buttons(state: Session) -> None:
    """Draw the buttons."""
    busy = state.mode != "paused"
    st.button(
        "Back",
        key="back",
        icon=":material/chevron_left:",
        shortcut=_single("B"),
        disabled=state.cursor.round < 0,
        on_click=actions.back,
    )
    st.button(
        "Next round",
        key="next",
        type="primary" if state.live else "secondary",
        shortcut=_single("N"),
        disabled=state.exhausted or busy,
        on_click=actions.forward,
    )
    _play(state)
    st.button(
        "Run to end",
        key="run_to_end",
        disabled=state.exhausted or busy,
        on_click=actions.run_to_end,
    )
    st.button("Reset", key="reset", disabled=state.newest < 0, on_click=actions.reset)
    if not state.live:
        # Seen only while the side panel, which holds the same button, is folded away.
        st.button("Run live", key="run_live_here", type="primary", icon=_LIVE, on_click=actions.start)


def show_position(place: DeltaGenerator, state: Session, doing: str = "") -> None:
    """Write where the reader is, or what is being done."""
    texts = [doing] if doing else _position(state)
    place.html(f'<div class="position" role="status">{badge(*texts)}</div>', width="content")


def _play(state: Session) -> None:
    playing = state.mode != "paused"
    st.button(
        "Pause" if playing else "Play",
        key="play",
        shortcut=_single("P"),
        disabled=state.exhausted and not playing,
        on_click=actions.set_mode,
        args=("paused" if playing else "play",),
    )


def _position(state: Session) -> list[str]:
    shown, total = state.cursor.round + 1, len(state.trace.rounds)
    if shown:
        texts = [f"round {shown} of {total}"]
    else:
        texts = [f"before the first of {total} rounds" if total > 1 else "before the first round"]
    if state.trace.end and state.cursor.round == state.newest:
        whose = "run" if state.live else "recorded run"
        texts.append(f"the {whose} ended here: {state.trace.end.value}")
    return texts


def _single(key: str) -> str | None:
    """A single-key shortcut, unless the visitor has switched them off."""
    return key if session.single_keys() else None
