"""Where drafting stops paying: survival of drafts by place against the break-even survival."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from specdec_core.figures.palette import Palette
from specdec_core.figures.style import axis, coloured, empty, figure, line, note, percent, small
from specdec_core.traces import metrics
from specdec_core.traces.trace import CostTable, Trace

QUARTERS = {"tickmode": "array", "tickvals": [0, 0.25, 0.5, 0.75, 1]}
NO_COSTS = "no break-even line: costs are not measured yet"


def break_even(trace: Trace, palette: Palette) -> go.Figure:
    """Survival s_k as bars with 95 % intervals, the break-even b_k as a line, the best γ marked.

    A k-th draft pays for itself where its bar rises above the line. The line looks one step
    ahead only; the best γ is the k with the most tokens per time, E(k) / D(k). It can only be
    sought among the places that were ever tested.
    """
    found = metrics.survival(trace)
    places = axis(palette, "k-th draft of a round", showgrid=False)
    shares = axis(palette, "survival to place k", tickformat=".0%", range=[0, 1.25], **QUARTERS)
    if not len(found.survival):
        return empty(palette, "No draft has been tested yet.", x=places, y=shares)
    x = np.arange(1, len(found.survival) + 1)
    costs, pays = trace.costs, metrics.break_even(trace)
    data, notes, shapes = [_bars(palette, x, found)], [], []
    if pays is not None:
        data += [_points(palette, x, pays), _line(palette, x, pays)]
        notes, shapes = [_best_label(palette, pays)], [_best_line(palette, pays)]
    return figure(
        palette,
        data,
        x=places
        | {
            "range": [0.4 if pays is None or pays.best else -0.6, len(x) + 0.6],
            "dtick": 1 if len(x) <= 16 else 4,
        },
        y=shares,
        alt=_alt(found, pays),
        heading=f"{_key(palette, costs)}<br>{NO_COSTS if pays is None else trace.conditions}",
        notes=notes,
        shapes=shapes,
    )


def _bars(palette: Palette, x: np.ndarray, found: metrics.Survival) -> dict[str, Any]:
    up, down = found.high - found.survival, found.survival - found.low
    return {
        "type": "bar",
        "x": x,
        "y": small(found.survival),
        "width": 0.6,
        "marker": {"color": palette.draft_fill, "line": {"color": palette.draft_line, "width": 1}},
        "error_y": {
            "array": small(np.nan_to_num(up)),
            "arrayminus": small(np.nan_to_num(down)),
            "color": palette.grey,
            "thickness": 1.5,
            "width": 5,
        },
        "customdata": small(np.stack([found.accepted, found.tested, found.low, found.high], axis=1)),
        "hovertemplate": "place %{x}: kept in %{customdata[0]} of %{customdata[1]} tests"
        "<br>s = Π accepted / tested up to here = %{y:.1%}"
        "<br>95 % interval %{customdata[2]:.1%} to %{customdata[3]:.1%}<extra></extra>",
    }


def _line(palette: Palette, x: np.ndarray, pays: metrics.BreakEven) -> dict[str, Any]:
    rows = np.stack([pays.tokens[:-1], pays.costs[:-1], pays.costs[1:], pays.speedups[1:]], axis=1)
    return line(
        x,
        pays.line,
        palette.ink,
        "draft %{x} pays above %{y:.1%}, by the rising fit of the pass times"
        "<br>E(k−1) · (D(k) − D(k−1)) / D(k−1),"
        "<br>E(k−1) = %{customdata[0]:.2f} tokens, D(k−1) = %{customdata[1]:.2f}, D(k) = %{customdata[2]:.2f}"
        "<br>speed-up at γ = %{x}: E / D = %{customdata[3]:.2f}×",
        width=2.5,
        mode="lines+markers",
        marker={"size": 7, "color": palette.ink},
        customdata=small(rows),
    )


def _points(palette: Palette, x: np.ndarray, pays: metrics.BreakEven) -> dict[str, Any]:
    """Where the line would lie with the times as measured, noise and all."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": small(pays.measured),
        "marker": {"symbol": "circle-open", "size": 8, "color": palette.grey, "line": {"width": 1.5}},
        "hovertemplate": "draft %{x}: %{y:.1%} with the pass times as measured. The line goes through the"
        "<br>nearest times that never fall with more tokens (isotonic regression),"
        "<br>since differences of times are mostly noise.<extra></extra>",
    }


def _key(palette: Palette, costs: CostTable | None) -> str:
    bars = coloured("survival, measured", palette.draft_text)
    if costs is None:
        return bars
    return f"{bars} · {coloured('break-even', palette.ink)} (○ as measured), c = {costs.c:.2f}"


def _best_label(palette: Palette, pays: metrics.BreakEven) -> dict[str, Any]:
    gain = f"model {pays.speedups[pays.best]:.2f}×" if pays.best else "draft nothing"
    side = "center" if 2 <= pays.best < len(pays.line) else "left" if pays.best < 2 else "right"
    shift = {"left": -12, "center": 0, "right": 12}[side]
    return note(
        f"<b>best γ = {pays.best}: {gain}</b>",
        palette.ink,
        pays.best,
        1.25,
        yanchor="top",
        xanchor=side,
        xshift=shift,
    )


def _best_line(palette: Palette, pays: metrics.BreakEven) -> dict[str, Any]:
    line = {"color": palette.ink, "width": 1.5, "dash": "dot"}
    ends = {"x0": pays.best, "x1": pays.best, "y0": 0, "y1": 1.12}
    return {"type": "line", "xref": "x", "yref": "y", "layer": "below", "line": line, **ends}


def _alt(found: metrics.Survival, pays: metrics.BreakEven | None) -> str:
    survival = f"Survival of drafts by place: {_listed(found.survival)}."
    if pays is None:
        return f"{survival} {NO_COSTS.capitalize()}."
    best = f"The best draft length is {pays.best}, at {pays.speedups[pays.best]:.2f} times the speed."
    return f"{survival} Break-even by place: {_listed(pays.line)}. {best}"


def _listed(shares: np.ndarray) -> str:
    return ", ".join(percent(float(share)) for share in shares)
