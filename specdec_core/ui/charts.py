"""What lies below the round: one chart at a time, computed only while it is shown."""

import streamlit as st

from specdec_core.traces.trace import Trace
from specdec_core.ui import actions, session
from specdec_core.ui.session import Session

NAMES = ("Race", "Acceptance", "Tokens per round", "Latency", "Where drafting stops paying", "Table")


REFRESH_SECONDS = 1.5
"""How often the chart is drawn anew while rounds follow each other by themselves."""


def view(state: Session) -> None:
    """Draw the chart chosen, and the way to time the target alone again."""
    every = None if state.mode == "paused" else REFRESH_SECONDS
    st.fragment(_charts, run_every=every, key="charts")()


def _charts() -> None:
    state = session.current()
    with st.container(key="chart_bar", horizontal=True, vertical_alignment="center"):
        name = st.segmented_control(
            "Chart", NAMES, key="chart", default="Race", required=True, label_visibility="collapsed"
        )
        if state.live:
            label = "Time the target alone again"
            st.button(label, key="time_again", type="tertiary", on_click=actions.time_again)
    with st.container(key="chart_card", border=True):
        _show(name if name in NAMES else "Race", state.trace, state.cursor.round)


def _show(name: str, trace: Trace, cursor: int) -> None:
    # Plotly and pandas are imported only now, when the part of the page above is on its way.
    if name == "Table":
        from specdec_core.ui import table

        table.show(trace)
    else:
        from specdec_core.ui import plots

        plots.show(name, trace, cursor)
