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
HEIGHT = 280
CLEAR = "rgba(0,0,0,0)"
NO_VALUE = "–"
"""What stands where nothing was counted."""

Dicts = Sequence[dict[str, Any]]


def figure(
    palette: Palette,
    data: Dicts,
    *,
    x: dict[str, Any],
    y: dict[str, Any],
    alt: str,
    notes: Dicts = (),
    shapes: Dicts = (),
    height: int = HEIGHT,
    **layout: Any,
) -> go.Figure:
    """A figure of the house style from traces, axes, notes (annotations) and shapes."""
    return go.Figure(
        data=[_never_fading(trace) for trace in data],
        layout={
            "template": {"layout": {}},  # Plotly's own is nine tenths of a small figure
            "autotypenumbers": "strict",  # a token "1E1" or "10" is a label, never a number
            "height": height,
            "margin": {"l": 52, "r": 16, "t": 34, "b": 44},
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


def caption(text: str, colour: str, *, row: int = 0, right: bool = False) -> dict[str, Any]:
    """A line of words above the axes, at the left or the right edge."""
    side = {"x": 1, "xanchor": "right"} if right else {"x": 0, "xanchor": "left"}
    return note(
        text, colour, y=1, xref="paper", yref="paper", yanchor="bottom", yshift=4 + 17 * row, **side
    )


def coloured(text: str, colour: str) -> str:
    """``text`` (our own words) in a colour, inside a label of several colours."""
    return f'<span style="color:{colour}">{text}</span>'


def empty(palette: Palette, sentence: str, *, x: str = "", y: str = "", height: int = HEIGHT) -> go.Figure:
    """A figure without data, which says why in one sentence."""
    words = note(sentence, palette.grey, 0.5, 0.5, xref="paper", yref="paper", align="center")
    bare = {"showticklabels": False, "showgrid": False, "range": [0, 1]}
    return figure(
        palette, [], x=axis(palette, x, **bare), y=axis(palette, y, **bare), alt=sentence, notes=[words], height=height
    )


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


def milliseconds(seconds: float | None) -> str:
    """A time in milliseconds with three significant digits, or "–" if there is none."""
    if seconds is None or not np.isfinite(seconds):
        return NO_VALUE
    value = 1000 * seconds
    return f"{value:.0f} ms" if value >= 100 else f"{value:.3g} ms"
