"""What lies below the round: one chart at a time, computed only while it is shown."""

import streamlit as st

from specdec_core.traces.trace import Trace
from specdec_core.ui import actions, session

NAMES = ("Race", "Acceptance", "Tokens per round", "Latency", "Where drafting stops paying", "Table")

_AGAIN = (
    "The rounds are replayed, and the target alone writes in turns with them: both meet the same machine."
)


def view() -> None:
    """Draw the chart chosen, and the way to time everything again."""
    st.fragment(_charts, key="charts")()


def _charts() -> None:
    state = session.current()
    if not state.painted:
        # Plotly's script takes the browser a second, which the round must not wait for.
        st.html('<div class="chart-to-come" aria-hidden="true"></div>')
        return
    state.owed.add("charts")  # until it is drawn whole: another event may interrupt it
    with st.container(key="chart_bar", horizontal=True, vertical_alignment="center"):
        name = st.segmented_control(
            "Chart", NAMES, key="chart", default="Race", required=True, label_visibility="collapsed"
        )
        if state.live:
            st.button(
                "Time both again", key="time_again", type="tertiary", help=_AGAIN, on_click=actions.time_again
            )
    with st.container(key="chart_card", border=True):
        _show(name if name in NAMES else "Race", state.trace, state.cursor.round)
    state.owed.discard("charts")


def _show(name: str, trace: Trace, cursor: int) -> None:
    # Plotly and pandas are imported only now, when the part of the page above has been drawn.
    if name == "Table":
        from specdec_core.ui import table

        table.show(trace)
    else:
        from specdec_core.ui import plots

        plots.show(name, trace, cursor)
