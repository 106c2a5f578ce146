"""What all figures share: axes, fonts, margins, the tool bar, direct labels, the alternative text.

A figure is made by ``figure(...)`` from plain dictionaries, carries its own alternative text
(read it with ``alt(fig)``) and is transparent, so that it stands on any surface. Show it with
``theme=None``: its colours are meant, not decoration.
"""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specdec_core.figures.palette import Palette

CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "scrollZoom": False,
    # A white list: plotly.js 4 would otherwise offer "Share chart…", which uploads the chart.
    "modeBarButtons": [["zoom2d", "resetScale2d", "toImage"]],
}
"""Plotly's configuration for every chart; there is no way to send a chart anywhere."""

FONT = '"Source Sans", "Source Sans Pro", "Segoe UI", "Helvetica Neue", Arial, sans-serif'
HEIGHT = 296
CLEAR = "rgba(0,0,0,0)"
NO_VALUE = "–"
"""What stands where nothing was counted."""

Figure = go.Figure
Dicts = Sequence[dict[str, Any]]


def figure(
    palette: Palette,
    data: Dicts,
    *,
    x: dict[str, Any],
    y: dict[str, Any],
    alt: str,
    heading: str = "",
    notes: Dicts = (),
    shapes: Dicts = (),
    height: int = HEIGHT,
    **layout: Any,
) -> go.Figure:
    """A figure of the house style from traces, axes, notes (annotations) and shapes.

    Args:
        alt: the figure in words.
        heading: a line or two (``<br>``) above the axes that name the marks and give their figures;
            at most 58 characters each, which a phone can hold.
    """
    return go.Figure(
        data=[_never_fading(trace) for trace in data],
        layout={
            "template": "none",  # Plotly's own is nine tenths of a small figure
            "autotypenumbers": "strict",  # a token "1E1" or "10" is a label, never a number
            "height": height,
            "margin": {"l": 52, "r": 16, "t": 18 + 17 * len(heading.split("<br>")), "b": 44},
            "title": _heading(palette, heading),
            "paper_bgcolor": CLEAR,
            "plot_bgcolor": CLEAR,
            "font": {"family": FONT, "size": 13, "color": palette.grey},
            "hoverlabel": {
                "bgcolor": palette.surface,
                "bordercolor": palette.grey,
                "font": {"family": FONT, "size": 13, "color": palette.ink},
                "align": "left",
            },
            "modebar": {"bgcolor": CLEAR, "color": palette.grey, "activecolor": palette.ink},
            "showlegend": False,
            "dragmode": False,  # so that a finger scrolls the page over a chart
            "hovermode": "closest",
            "xaxis": axis(palette) | x,
            "yaxis": axis(palette) | y,
            "annotations": list(notes),
            "shapes": list(shapes),
            "meta": {"alt": alt},
            **layout,
        },
    )


def _heading(palette: Palette, words: str) -> dict[str, Any]:
    """Small words from the left edge of the whole figure, where a narrow one has most room."""
    drop = 17 if "<br>" in words else 8  # Plotly hangs a title of several lines half a line too high
    corner = {"x": 0, "xref": "container", "xanchor": "left", "y": 1, "yref": "container", "yanchor": "top"}
    font = {"size": 13, "color": palette.grey}
    return corner | {"text": words, "font": font, "pad": {"l": 8, "t": drop}, "automargin": False}


def _never_fading(trace: dict[str, Any]) -> dict[str, Any]:
    """A click selects a point; Plotly would then fade all others, and faded means nothing here."""
    return trace | {"unselected": {"marker": {"opacity": 1}}}


def alt(fig: go.Figure) -> str:
    """The figure in words, for people who do not see it: what is shown and its main numbers."""
    return fig.layout.meta["alt"]


def axis(palette: Palette, title: str = "", **more: Any) -> dict[str, Any]:
    """A plain axis: hairline grid, no zero line of its own, the title small and close."""
    return {
        "title": {"text": title, "font": {"size": 13, "color": palette.grey}, "standoff": 6},
        "gridcolor": palette.grid,
        "linecolor": palette.grid,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"size": 12, "color": palette.grey},
        "automargin": True,
        **more,
    }


def note(text: str, colour: str, x: Any, y: Any, **more: Any) -> dict[str, Any]:
    """A direct label at (x, y) in the units of the axes; ``text`` must be our own words."""
    return {
        "text": text,
        "x": x,
        "y": y,
        "showarrow": False,
        "font": {"size": 13, "color": colour},
        "align": "left",
        **more,
    }


def line(x: Any, y: Any, colour: str, hover: str, *, width: float = 2, **more: Any) -> dict[str, Any]:
    """A line through the points (x, y); ``hover`` is what a point says, ``more`` goes to the trace.

    >>> line([0, 1], [1, 1], "#17202B", "the target alone", dash="dash")["line"]
    {'color': '#17202B', 'width': 2, 'dash': 'dash'}
    """
    pen = {"color": colour, "width": width} | {key: more.pop(key) for key in ("dash", "shape") if key in more}
    text = {"hovertemplate": f"{hover}<extra></extra>"} if hover else {"hoverinfo": "skip"}
    return {"type": "scatter", "mode": "lines", "x": x, "y": small(y), "line": pen, **text, **more}


def coloured(text: str, colour: str) -> str:
    """``text`` (our own words) in a colour, inside a heading of several colours."""
    return f'<span style="color:{colour}">{text}</span>'


def cursor_band(palette: Palette, cursor: int, count: int) -> list[dict[str, Any]]:
    """An ink frame around the column of a round on an axis of rounds from 1; nothing for -1."""
    if not 0 <= cursor < count:
        return []
    half = 0.5 if count < 100 else max(0.5, count / 300)
    box = {"type": "rect", "xref": "x", "yref": "paper", "y0": 0, "y1": 1}
    line = {"color": palette.ink, "width": 1.5}
    return [box | {"x0": cursor + 1 - half, "x1": cursor + 1 + half, "line": line}]


def clicked_round(points: Sequence[dict[str, Any]]) -> int | None:
    """The round, from 0, of the first of Streamlit's selected points that belongs to one.

    The number is the first column of ``customdata``, which arrives as a list or as a
    dictionary keyed by column.

    >>> clicked_round([{"x": 3, "customdata": {"0": 2, "1": 7}}])
    2
    """
    for point in points:
        row = point.get("customdata")
        first = row.get("0") if isinstance(row, dict) else row[0] if isinstance(row, list) and row else None
        if isinstance(first, int | float):
            return int(first)
    return None


def empty(palette: Palette, sentence: str, *, x: dict[str, Any], y: dict[str, Any]) -> go.Figure:
    """A figure with axes and no data, which says why in one sentence."""
    words = note(sentence, palette.grey, 0.5, 0.5, xref="paper", yref="paper", align="center")
    bare = {"showticklabels": False, "showgrid": False, "range": [0, 1]}
    return figure(palette, [], x=x | bare, y=y | bare, alt=sentence, notes=[words])


def small(values: Any) -> np.ndarray:
    """Numbers as float32, which Plotly sends as packed bytes; None becomes a gap (NaN)."""
    return np.asarray(values, dtype=np.float32)


def plain(text: str) -> str:
    """A token's label as literal text: Plotly reads HTML tags and $…$ in every label.

    >>> plain("<b>$x$")
    '&lt;b&gt;&#36;x&#36;'
    """
    return html.escape(text, quote=False).replace("$", "&#36;")


def percent(value: float | None) -> str:
    """A share as a percentage with one decimal, or "–" if nothing was counted."""
    return NO_VALUE if value is None or not np.isfinite(value) else f"{100 * value:.1f} %"


def share_of(part: int, whole: int) -> str:
    """Counts as counts until there are a hundred, then the percentage too.

    >>> share_of(22, 28), share_of(220, 280), share_of(0, 0)
    ('22 of 28', '220 of 280, 78.6 %', '–')
    """
    if whole == 0:
        return NO_VALUE
    counts = f"{part} of {whole}"
    return counts if whole < 100 else f"{counts}, {percent(part / whole)}"
