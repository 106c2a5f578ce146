"""What charts with a round in each column share: the axis of rounds, the cursor's frame, outlined bars.

Rounds are numbered from 1 on the axis, and from 0 in the first column of ``customdata``, so that
a click names the round (``style.clicked_round``).
"""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from specdec_core.figures.palette import Palette
from specdec_core.figures.style import Dicts, axis, cursor_band, empty, figure, small

DENSE = 100
"""From this many rounds on a bar is too narrow for an outline of its own."""


def columns(
    palette: Palette,
    data: Dicts,
    *,
    count: int,
    cursor: int,
    y: dict[str, Any],
    alt: str,
    heading: str,
) -> go.Figure:
    """A figure over ``count`` rounds with the column of the cursor framed; bars are stacked.

    Args:
        cursor: round to highlight, from 0; -1 highlights none.
    """
    return figure(
        palette,
        data,
        x=round_axis(palette, count),
        y=y,
        alt=alt,
        heading=heading,
        shapes=cursor_band(palette, cursor, count),
        barmode="stack",
        bargap=0.25 if count < DENSE else 0,
    )


def no_columns(palette: Palette, sentence: str, y: dict[str, Any]) -> go.Figure:
    """The figure before the first round, which says so in a sentence."""
    return empty(palette, sentence, x=axis(palette, "round"), y=y)


def round_axis(palette: Palette, count: int) -> dict[str, Any]:
    """The axis of rounds, from 1, without grid lines between its columns."""
    step = {"dtick": 1} if count <= 12 else {"nticks": 12, "tickformat": "d"}
    return axis(palette, "round", range=[0.4, count + 0.6], showgrid=False, **step)


def bar_paint(fill: str, line: str, count: int) -> dict[str, Any]:
    """An outlined bar; where bars are too narrow for that, ``dense_outline`` draws one over them all."""
    return {"color": fill, "line": {"color": line, "width": 1 if count < DENSE else 0}}


def dense_outline(palette: Palette, draft: np.ndarray) -> list[dict[str, Any]]:
    """One outline along the tops of many narrow draft bars, [R]; nothing while each has its own."""
    if len(draft) < DENSE:
        return []
    line = {"shape": "hvh", "width": 1, "color": palette.draft_line}
    steps = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "line": line}
    return [steps | {"x": np.arange(1, len(draft) + 1), "y": small(draft)}]
