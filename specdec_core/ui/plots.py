"""Drawing one chart. Imported when the first chart is drawn, since Plotly takes a while to import."""

from collections.abc import Callable
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from specdec_core.figures import break_even, latency, race, rounds, style
from specdec_core.figures.palette import Palette, palette_for
from specdec_core.traces.trace import Trace
from specdec_core.ui import actions

CHARTS: dict[str, Callable[[Trace, Palette, int], go.Figure]] = {
    "Race": race.race,
    "Acceptance": rounds.running_acceptance,
    "Tokens per round": rounds.tokens_per_round,
    "Latency": latency.latency,
    "Where drafting stops paying": lambda trace, palette, _: break_even.break_even(trace, palette),
}


def show(name: str, trace: Trace, cursor: int) -> None:
    """Draw the chart of that name in the visitor's theme, with its words for those who do not see it.

    A click on a round moves the cursor there.
    """
    fig = CHARTS[name](trace, palette_for(st.context.theme.type), cursor)
    key = f"plot {name}"
    st.plotly_chart(
        fig,
        theme=None,
        key=key,
        alt=style.alt(fig),
        config=style.CONFIG,
        selection_mode="points",
        on_select=partial(_follow_click, key),
    )


def _follow_click(key: str) -> None:
    index = style.clicked_round(st.session_state[key].selection.points)
    if index is not None:
        actions.go(index)
