"""Drawing one chart. Imported when the first chart is drawn, since Plotly takes a while to import."""

from collections.abc import Callable
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from specdec_core.figures import break_even, latency, race, rounds, style
from specdec_core.figures.palette import Palette, palette_for
from specdec_core.traces.trace import Trace
from specdec_core.ui import actions, session, worth
from specdec_core.ui.shell import notice

CHARTS: dict[str, Callable[[Trace, Palette, int], go.Figure]] = {
    "Race": race.race,
    "Acceptance": rounds.running_acceptance,
    "Tokens per round": rounds.tokens_per_round,
    "Latency": latency.latency,
    "Where drafting stops paying": lambda trace, palette, _: break_even.break_even(trace, palette),
}


WORDS = {
    "Race": "Up is more tokens, left is sooner. This run jumps a round at a time; the target alone climbs a "
    "token a pass, and leaves the frame while the run goes on. All rounds are here; the speed-up above is of "
    "those whose times count, over the mean of all of the target's tokens. “Replayed” times are of the same "
    "rounds, made once more without pauses.",
    "Acceptance": "Overlap β is what the distributions of draft and target have in common at a place, "
    "Σ min(p, q): under speculative sampling the chance that a draft there is kept. The band is the 95 % "
    "interval of kept of tested.",
    "Tokens per round": "Every round ends in one token of the target's own, also when nothing was drafted "
    "(γ = 0); the grey lines are γ + 1, the most a round could give.",
    "Latency": "What the time of each round went into. Rounds with ▽ were stepped singly, cold or disturbed "
    "by another run: no speed contains them.",
    "Where drafting stops paying": "Survival: how often a draft at this place is kept, with all before it. "
    "Where the bar is above the line, drafting one more token gains more than it costs.",
}
"""How to read each chart, in a sentence or two."""


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
    st.caption(WORDS[name])
    # At the end of a live run the same sentence stands above the round.
    said = session.current().live and trace.end
    if name == "Where drafting stops paying" and not said and (sentence := worth.sentence(trace)):
        notice(sentence)


def _follow_click(key: str) -> None:
    index = style.clicked_round(st.session_state[key].selection.points)
    if index is not None:
        actions.go(index)
