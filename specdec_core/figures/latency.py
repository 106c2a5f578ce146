"""What each round's time went into: drafting, verifying, testing and drawing, and the rest."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from specdec_core.figures.columns import bar_paint, columns, dense_outline, no_columns
from specdec_core.figures.palette import Palette
from specdec_core.figures.style import CLEAR, axis, coloured, small
from specdec_core.traces import metrics
from specdec_core.traces.trace import Trace

MEANING = {
    "draft": "%{customdata[2]} draft steps together",
    "verify": "the one target pass",
    "sample": "testing the drafts and drawing the target’s token",
    "other": "the rest of the round, recording aside",
}


def latency(trace: Trace, palette: Palette, cursor: int = -1) -> go.Figure:
    """Stacked bars of milliseconds, a bar for each round; rounds that no speed contains are marked.

    Args:
        cursor: round to highlight, from 0; -1 highlights none.
    """
    y = axis(palette, "milliseconds")
    if not trace.rounds:
        return no_columns(palette, "The bars start with the first round.", y)
    found = metrics.latency(trace)
    top = _top(found)
    paints = [
        (palette.draft_fill, palette.draft_line),
        (palette.target_fill, palette.target_line),
        (palette.ink, palette.ink),
        (palette.grid, palette.grey),
    ]
    return columns(
        palette,
        [
            *(_bars(part, *paint, found) for part, paint in zip(MEANING, paints, strict=True)),
            *dense_outline(palette, found.draft * 1e3),
            *_marks(palette, found, top),
        ],
        count=len(trace.rounds),
        cursor=cursor,
        y=y | {"range": [0, 1.12 * top]},
        alt=_alt(trace, found),
        heading=_heading(palette, trace, found),
    )


def _top(found: metrics.Latency) -> float:
    """Height of the axis in ms: the slowest clean round, so that a cold one does not flatten the rest."""
    slowest = float(found.total.max()) * 1e3
    if not found.clean.any():
        return slowest
    return min(slowest, 1.6 * float(found.total[found.clean].max()) * 1e3)


def _bars(part: str, fill: str, line: str, found: metrics.Latency) -> dict[str, Any]:
    count = len(found.draft)
    return {
        "type": "bar",
        "x": np.arange(1, count + 1),
        "y": small(getattr(found, part) * 1e3),
        "marker": bar_paint(fill, line, count),
        "customdata": small(np.stack([np.arange(count), found.total * 1e3, found.steps], axis=1)),
        "hovertemplate": f"round %{{x}}: {part} %{{y:.2f}} of %{{customdata[1]:.2f}} ms, wall clock"
        f"<br>{MEANING[part]}<extra></extra>",
    }


def _marks(palette: Palette, found: metrics.Latency, top: float) -> list[dict[str, Any]]:
    unclean = np.flatnonzero(~found.clean)
    if not len(unclean):
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "x": unclean + 1,
            "y": small(np.minimum(found.total[unclean] * 1e3, top) + 0.05 * top),
            "marker": {
                "symbol": "triangle-down",
                "size": 9,
                "color": CLEAR,
                "line": {"color": palette.ink, "width": 1.5},
            },
            "customdata": small(np.stack([unclean, found.total[unclean] * 1e3], axis=1)),
            "hovertemplate": "round %{x}, %{customdata[1]:.2f} ms: cold, contended or"
            "<br>stepped singly, in no speed<extra></extra>",
        }
    ]


def _heading(palette: Palette, trace: Trace, found: metrics.Latency) -> str:
    """The parts in their colours with their means, and under it what was left out or replayed."""
    split = metrics.latency_split(trace)
    colours = [palette.draft_text, palette.target_text, palette.ink, palette.grey]
    words = [coloured(_part(name, split), colour) for name, colour in zip(MEANING, colours, strict=True)]
    mean = "" if split is None else " ms, means"
    return "<br>".join([f"{' · '.join(words)}{mean}", *_conditions(trace, found)])


def _part(name: str, split: metrics.Split | None) -> str:
    return name if split is None else f"{name} {1e3 * getattr(split, name):.1f}"


def _conditions(trace: Trace, found: metrics.Latency) -> list[str]:
    replayed = int(found.replayed.sum())
    again = f" · {replayed} rounds replayed" if replayed else ""
    return [
        f"{trace.conditions}{again}",
        *([] if found.clean.all() else ["▽ cold, contended or stepped singly: in no speed"]),
    ]


def _alt(trace: Trace, found: metrics.Latency) -> str:
    split = metrics.latency_split(trace)
    left_out = f"{int((~found.clean).sum())} are cold, contended or stepped singly and in no speed."
    start = f"Time of each of {len(found.draft)} rounds; {left_out}"
    if split is None:
        return start
    means = ", ".join(f"{name} {1e3 * getattr(split, name):.2f}" for name in MEANING)
    return f"{start} A clean round takes {1e3 * split.total:.2f} ms on average: {means}."
