"""The race: milliseconds against tokens, this run in jumps, the target alone a token at a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specdec_core.decoding.settings import RuleName
from specdec_core.figures.palette import Palette
from specdec_core.figures.style import NO_VALUE, axis, coloured, empty, figure, note, small
from specdec_core.traces import metrics
from specdec_core.traces.trace import Trace

AHEAD = 1.5
"""While a run goes on, the frame reaches so many times as far as the race has come."""


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
        return f"{_tokens(self.tokens)} after round {self.round + 1}: {run}, target alone {alone}"


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
    end, most = _frame(both, ended=trace.end is not None)
    return figure(
        palette,
        data,
        x=x | {"range": [-0.01 * end, 1.03 * end]},
        y=y | {"range": [0, 1.22 * most]},
        alt=_alt(both, joint, timed),
        heading="<br>".join(
            filter(None, (_key(palette, both), _at_cursor(palette, joint), _conditions(trace, both)))
        ),
        notes=[_text_note(palette, trace)] if timed and _same_law(trace) else [],
    )


def _frame(both: metrics.Race, *, ended: bool) -> tuple[float, int]:
    """The time and the tokens that are in sight: all of them, once the run is over.

    Until then the target alone, timed to its end, would leave the run a corner of the figure.
    """
    end = max(both.run_ms[-1], both.target_ms[-1])
    if not ended:
        alone = metrics.when(both.target_ms, both.target_tokens, both.run_tokens[-1]) or 0
        end = min(end, AHEAD * max(both.run_ms[-1], alone))
    inside = int(np.searchsorted(both.target_ms, end, side="right")) - 1
    return end, max(both.run_tokens[-1], inside)


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


def _text_note(palette: Palette, trace: Trace) -> dict[str, Any]:
    """Why the two texts differ or not, in the upper left corner, which the lines leave free.

    Exact match draws the target's own tokens with the uniforms that plain decoding draws them with.
    """
    same = trace.run.rule == RuleName.EXACT_MATCH
    words = "same dice, same text" if same else "other dice, same distribution"
    corner = {"x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "top"}
    return note(f"the target alone: {words}", palette.grey, **corner, xshift=6)


def _key(palette: Palette, both: metrics.Race) -> str:
    """Both sides in their colours, with what each has in all."""
    words = f"this run: {_tokens(both.run_tokens[-1])}, {_ms(both.run_ms[-1])}"
    run = coloured(words, palette.draft_text)
    if len(both.target_ms) == 1:
        return f"{run} · target alone not timed yet"
    alone = f"target alone: {both.target_tokens[-1]}, {_ms(both.target_ms[-1])}"
    return f"{run} · {coloured(alone, palette.target_text)}"


def _at_cursor(palette: Palette, joint: _Joint | None) -> str:
    return "" if joint is None else coloured(joint.words, palette.ink)


def _conditions(trace: Trace, both: metrics.Race) -> str:
    """What was timed where, and whether all of it may enter a speed."""
    clock = "" if both.fair else " · not all times count"
    return trace.conditions + (" · replayed" if both.replayed else "") + clock


def _same_law(trace: Trace) -> bool:
    """Whether both texts were drawn, and from one distribution: with the same settings in every round."""
    if trace.baseline is None:
        return False
    alone = trace.run.in_force(trace.baseline.sampling)
    laws = {trace.run.in_force(item.settings.sampling) for item in trace.rounds}
    return laws <= {alone} and not alone.greedy


def _alt(both: metrics.Race, joint: _Joint | None, timed: bool) -> str:
    run = f"This run gave {_tokens(both.run_tokens[-1])} in {_ms(both.run_ms[-1])}."
    alone = f"The target alone gave {both.target_tokens[-1]} in {_ms(both.target_ms[-1])}."
    if not timed:
        alone = "The target alone is not timed yet."
    return " ".join([run, alone, *([f"{joint.words}."] if joint else [])])


def _tokens(count: int) -> str:
    return "1 token" if count == 1 else f"{count} tokens"


def _ms(value: float | None) -> str:
    if value is None:
        return NO_VALUE
    if value >= 10_000:
        return f"{value / 1000:.1f} s"
    return f"{value:.0f} ms" if value >= 100 else f"{value:.1f} ms"
