"""The charts below the round: one at a time, computed only while it is shown."""

from collections.abc import Callable

import plotly.graph_objects as go
import streamlit as st

from specdec_core.figures import break_even, latency, race, rounds, style
from specdec_core.figures.palette import Palette, palette_for
from specdec_core.traces.trace import Trace
from specdec_core.ui import actions, session, table
from specdec_core.ui.session import Session

Draw = Callable[[Trace, Palette, int], go.Figure]

CHARTS: dict[str, Draw] = {
    "Race": race.race,
    "Acceptance": rounds.running_acceptance,
    "Tokens per round": rounds.tokens_per_round,
    "Latency": latency.latency,
    "Where drafting stops paying": lambda trace, palette, _: break_even.break_even(trace, palette),
}
TABLE = "Table"


@st.fragment(key="charts")
def view() -> None:
    """Draw the chart chosen, and the way to time the target alone again."""
    state = session.current()
    with st.container(key="chart_bar", horizontal=True, vertical_alignment="center"):
        name = st.segmented_control(
            "Chart", [*CHARTS, TABLE], key="chart", default="Race", required=True, label_visibility="collapsed"
        )
        if state.live:
            st.button("Time the target alone again", key="time_again", type="tertiary", on_click=actions.time_again)
    with st.container(key="chart_card", border=True):
        _show(name, state)


def _show(name: str, state: Session) -> None:
    if name == TABLE:
        table.show(state.trace)
        return
    palette = palette_for(st.context.theme.type)
    fig = CHARTS.get(name, race.race)(state.trace, palette, state.cursor.round)
    st.plotly_chart(fig, theme=None, key="plot", alt=style.alt(fig), config=style.CONFIG)
