"""Charts with a round in each column: running acceptance and tokens per round."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from specdec_core.figures.columns import DENSE, bar_paint, columns, dense_outline, no_columns
from specdec_core.figures.palette import Palette, faint
from specdec_core.figures.style import NO_VALUE, axis, coloured, line, share_of, small
from specdec_core.traces import metrics
from specdec_core.traces.trace import Trace


def running_acceptance(trace: Trace, palette: Palette, cursor: int = -1) -> go.Figure:
    """Kept of tested after each round with its 95 % interval, each round alone, and the overlap β.

    Args:
        cursor: round to highlight, from 0; -1 highlights none.
    """
    y = axis(palette, "kept of tested", tickformat=".0%", range=[-0.04, 1.04], dtick=0.25)
    if not trace.rounds:
        return no_columns(palette, "The line starts with the first round.", y)
    found = metrics.running(trace)
    at = _shown(trace, cursor)
    x = np.arange(1, len(trace.rounds) + 1)
    kept = f"<b>kept of tested {share_of(int(found.accepted[at]), int(found.tested[at]))}</b>"
    interval = f"95 % interval {_span(found.low[at], found.high[at])}"
    return columns(
        palette,
        [
            *_band(palette, x, found.low, found.high),
            _each_round(palette, x, found),
            _overlap_line(palette, x, found.overlap),
            _running_line(palette, x, found),
        ],
        count=len(x),
        cursor=cursor,
        y=y,
        alt=f"Kept of tested after {at + 1} of {len(x)} rounds: {found.accepted[at]} of {found.tested[at]}, "
        f"{interval}. "
        f"Mean overlap of draft and target there: {_two(found.overlap[at])}.",
        heading=f"{coloured(kept, palette.ink)} · {interval}"
        f"<br>○ one round alone · dashed: overlap β, mean {_two(found.overlap[at])}",
    )


def _band(palette: Palette, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[dict[str, Any]]:
    edge = {"type": "scatter", "mode": "lines", "x": x, "line": {"width": 0}, "hoverinfo": "skip"}
    return [
        edge | {"y": small(low)},
        edge | {"y": small(high), "fill": "tonexty", "fillcolor": faint(palette.grey, 0.18)},
    ]


def _each_round(palette: Palette, x: np.ndarray, found: metrics.Running) -> dict[str, Any]:
    accepted, tested = np.diff(found.accepted, prepend=0), np.diff(found.tested, prepend=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(tested > 0, accepted / tested, np.nan)
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": small(share),
        "marker": {
            "symbol": "circle-open",
            "size": 7 if len(x) < DENSE else 4,
            "color": palette.grey,
            "line": {"width": 1.5},
        },
        "customdata": small(np.stack([x - 1, accepted, tested], axis=1)),
        "hovertemplate": "round %{x} alone: %{customdata[1]} of %{customdata[2]} tested drafts kept"
        "<extra></extra>",
    }


def _running_line(palette: Palette, x: np.ndarray, found: metrics.Running) -> dict[str, Any]:
    return line(
        x,
        found.kept_of_tested,
        palette.ink,
        "rounds 1 to %{x}: accepted / tested = %{customdata[1]} / %{customdata[2]} = %{y:.1%}"
        "<br>95 % interval (Wilson) %{customdata[3]:.1%} to %{customdata[4]:.1%}",
        width=2.5,
        mode="lines+markers",
        marker={"size": 5 if len(x) < DENSE else 1, "color": palette.ink},
        customdata=small(np.stack([x - 1, found.accepted, found.tested, found.low, found.high], axis=1)),
    )


def _overlap_line(palette: Palette, x: np.ndarray, overlap: np.ndarray) -> dict[str, Any]:
    words = "rounds 1 to %{x}: mean of β = Σ min(p, q)<br>over tested places = %{y:.3f}"
    return line(x, overlap, palette.grey, words, dash="dash")


def tokens_per_round(trace: Trace, palette: Palette, cursor: int = -1) -> go.Figure:
    """Kept drafts and the target's own token of each round, the most it could give, and the mean.

    Args:
        cursor: round to highlight, from 0; -1 highlights none.
    """
    y = axis(palette, "tokens", nticks=6)
    if not trace.rounds:
        return no_columns(palette, "The bars start with the first round.", y)
    found = metrics.running(trace)
    at = _shown(trace, cursor)
    x = np.arange(1, len(trace.rounds) + 1)
    kept = np.diff(found.accepted, prepend=0)
    mean, most = float(found.tokens_per_round[at]), metrics.most_tokens_per_round(trace, at + 1)
    words = (
        f"{coloured('kept drafts', palette.draft_text)} + {coloured('target’s own', palette.target_text)} · "
        f"{coloured(f'<b>mean {mean:.2f}</b>', palette.ink)} of at most {most:.3g}"
    )
    rows = small(np.stack([x - 1, kept, found.emitted - kept, found.most], axis=1))
    return columns(
        palette,
        [
            _token_bars(palette.draft_fill, palette.draft_line, x, kept, rows),
            _token_bars(palette.target_fill, palette.target_line, x, found.emitted - kept, rows),
            *dense_outline(palette, kept),
            _most_ticks(palette, x, found.most),
            _mean_line(palette, x, found.tokens_per_round),
        ],
        count=len(x),
        cursor=cursor,
        y=y | {"range": [0, 1.08 * float(found.most.max())]},
        alt=f"Tokens of each of {len(x)} rounds. After round {at + 1} the mean is {mean:.2f} of at most "
        f"{most:.3g}; round {at + 1} gave {found.emitted[at]}, {kept[at]} of them kept drafts.",
        heading=words,
    )


def _token_bars(fill: str, line: str, x: np.ndarray, y: np.ndarray, rows: np.ndarray) -> dict[str, Any]:
    return {
        "type": "bar",
        "x": x,
        "y": y,
        "marker": bar_paint(fill, line, len(x)),
        "customdata": rows,
        "hovertemplate": "round %{x}: %{customdata[1]} kept + %{customdata[2]} of the target’s own,"
        "<br>of at most γ + 1 = %{customdata[3]}<extra></extra>",
    }


def _most_ticks(palette: Palette, x: np.ndarray, most: np.ndarray) -> dict[str, Any]:
    """The most each round could give, as one line with steps from bar to bar."""
    edges = small(np.stack([x - 0.45, x + 0.45, np.full(len(x), np.nan)], axis=1).ravel())
    return line(edges, np.repeat(most, 3), palette.grey, "")


def _mean_line(palette: Palette, x: np.ndarray, mean: np.ndarray) -> dict[str, Any]:
    return line(x, mean, palette.ink, "rounds 1 to %{x}: emitted / rounds = %{y:.2f} tokens", width=2.5)


def _shown(trace: Trace, cursor: int) -> int:
    """The round that the words speak of: the cursor's, or the last before the first is chosen."""
    return min(cursor, len(trace.rounds) - 1) if cursor >= 0 else len(trace.rounds) - 1


def _span(low: float, high: float) -> str:
    return f"{100 * low:.0f} to {100 * high:.0f} %" if np.isfinite(low) else NO_VALUE


def _two(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else NO_VALUE
