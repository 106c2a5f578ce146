"""The race: milliseconds against tokens, this run in jumps, the target alone a token at a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specdec_core.figures.palette import Palette
from specdec_core.figures.style import NO_VALUE, axis, coloured, empty, figure, note, small
from specdec_core.traces import metrics
from specdec_core.traces.trace import Trace


@dataclass(frozen=True)
class _Joint:
    """Where the cursor stands: tokens after its round, and when each side had as many (ms)."""

    round: int
    tokens: int
    run: float
    alone: float | None

    @property
    def words(self) -> str:
        run, alone = _ms(self.run), _ms(self.alone)
        return f"after round {self.round + 1}, {self.tokens} tokens: {run}, target alone {alone} for as many"


def race(trace: Trace, palette: Palette, cursor: int = -1) -> go.Figure:
    """This run against the target alone on the same prompt.

    Args:
        cursor: round after which the two are joined at equal tokens, from 0; -1 joins nothing.
    """
    x, y = axis(palette, "milliseconds since the prompt was read"), axis(palette, "tokens")
    if not trace.rounds:
        return empty(palette, "The race starts with the first round.", x=x, y=y)
    both = metrics.race(trace)
    timed = len(both.target_ms) > 1
    joint = _joint(both, cursor)
    data = ([_alone_line(palette, both)] if timed else []) + _run_lines(palette, both)
    if joint is not None and joint.alone is not None:
        data.append(_bridge(palette, joint))
    end = max(both.run_ms[-1], both.target_ms[-1])
    return figure(
        palette,
        data,
        x=x | {"range": [-0.01 * end, 1.03 * end]},
        y=y | {"range": [0, 1.22 * max(both.run_tokens[-1], both.target_tokens[-1])]},
        alt=_alt(both, joint, timed),
        heading="<br>".join(filter(None, (_heading(palette, both, joint), _conditions(trace, both)))),
        notes=[
            _run_label(palette, both),
            *([_alone_label(palette, both, _same_law(trace))] if timed else []),
        ],
    )


def _joint(both: metrics.Race, cursor: int) -> _Joint | None:
    if not 0 <= cursor < len(both.run_ms) - 1:
        return None
    tokens = int(both.run_tokens[cursor + 1])
    alone = metrics.when(both.target_ms, both.target_tokens, tokens) if len(both.target_ms) > 1 else None
    return _Joint(cursor, tokens, float(both.run_ms[cursor + 1]), alone)


def _run_lines(palette: Palette, both: metrics.Race) -> list[dict[str, Any]]:
    """The run's line: an outline below, since the light fill alone is too faint on white, and the fill."""
    rounds = np.arange(-1, len(both.run_ms) - 1)
    took, gave = np.diff(both.run_ms, prepend=0), np.diff(both.run_tokens, prepend=0)
    steps = {"type": "scatter", "x": small(both.run_ms), "y": both.run_tokens}
    outline = {"shape": "hv", "width": 5, "color": palette.draft_line}
    return [
        steps | {"mode": "lines", "line": outline, "hoverinfo": "skip"},
        steps
        | {
            "name": "this run",
            "mode": "lines+markers",
            "line": {"shape": "hv", "width": 2.5, "color": palette.draft_fill},
            "marker": {"size": 5 if len(rounds) < 60 else 1, "color": palette.draft_line},
            "customdata": small(np.stack([rounds, rounds + 1, gave, took], axis=1)),
            "hovertemplate": "round %{customdata[1]}: %{customdata[2]} tokens in %{customdata[3]:.1f} ms"
            "<br>so far %{y} tokens in %{x:.1f} ms, sums over rounds<extra>%{fullData.name}</extra>",
        },
    ]


def _alone_line(palette: Palette, both: metrics.Race) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": "target alone",
        "mode": "lines",
        "x": small(both.target_ms),
        "y": both.target_tokens,
        "line": {"shape": "hv", "width": 2, "dash": "4px,2px", "color": palette.target_line},
        "hovertemplate": "%{y} tokens after %{x:.1f} ms, one pass each<extra>%{fullData.name}</extra>",
    }


def _bridge(palette: Palette, joint: _Joint) -> dict[str, Any]:
    """The cursor: a level line between the two moments at which both sides had the same tokens."""
    return {
        "type": "scatter",
        "name": "joins equal tokens",
        "mode": "lines+markers",
        "x": [joint.run, joint.alone],
        "y": [joint.tokens, joint.tokens],
        "line": {"color": palette.ink, "width": 1.5},
        "marker": {"size": 9, "color": palette.ink},
        "hovertemplate": f"{joint.words}<extra></extra>",
    }


def _run_label(palette: Palette, both: metrics.Race) -> dict[str, Any]:
    """The run's name in the upper left corner, which the lines leave free."""
    words = f"this run: {both.run_tokens[-1]} tokens, {_ms(both.run_ms[-1])}"
    corner = {"x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "top"}
    return note(words, palette.draft_text, **corner, xshift=6)


def _alone_label(palette: Palette, both: metrics.Race, same_law: bool) -> dict[str, Any]:
    """The target's name under its line, which leaves the lower right corner free."""
    words = f"target alone: {both.target_tokens[-1]} tokens, {_ms(both.target_ms[-1])}"
    if same_law:
        words += f"<br>{coloured('other dice, same distribution', palette.grey)}"
    corner = {"x": 1, "xref": "paper", "xanchor": "right", "y": 0, "yref": "paper", "yanchor": "bottom"}
    return note(words, palette.target_text, **corner, yshift=4, align="right")


def _heading(palette: Palette, both: metrics.Race, joint: _Joint | None) -> str:
    """The cursor's two times, or that there is nothing to race against."""
    if len(both.target_ms) == 1:
        return "the target alone is not timed yet"
    return "" if joint is None else coloured(joint.words, palette.ink)


def _conditions(trace: Trace, both: metrics.Race) -> str:
    """What was timed where, and whether all of it may enter a speed."""
    clock = "" if both.fair else " · not all times are clean, the speed-up leaves those out"
    return trace.conditions + (" · replayed" if both.replayed else "") + clock


def _same_law(trace: Trace) -> bool:
    """Whether both texts were drawn, and from one distribution: with the same settings in every round."""
    if trace.baseline is None:
        return False
    alone = trace.run.in_force(trace.baseline.sampling)
    laws = {trace.run.in_force(item.settings.sampling) for item in trace.rounds}
    return laws <= {alone} and not alone.greedy


def _alt(both: metrics.Race, joint: _Joint | None, timed: bool) -> str:
    run = f"This run gave {both.run_tokens[-1]} tokens in {_ms(both.run_ms[-1])}."
    alone = f"The target alone gave {both.target_tokens[-1]} in {_ms(both.target_ms[-1])}."
    if not timed:
        alone = "The target alone is not timed yet."
    return " ".join([run, alone, *([f"{joint.words[0].upper()}{joint.words[1:]}."] if joint else [])])


def _ms(value: float | None) -> str:
    if value is None:
        return NO_VALUE
    return f"{value:.0f} ms" if value >= 100 else f"{value:.1f} ms"
