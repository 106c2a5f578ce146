"""Curves of the closed forms: what an acceptance rate, a draft length and two costs lead to.

Nothing here is measured. What belongs to both models is ink or grey; the target alone is blue.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specdec_core import theory
from specdec_core.figures.palette import Palette
from specdec_core.figures.style import axis, figure, line, note, percent, small

ALPHAS = np.linspace(0.0, 1.0, 101)


def expected_tokens(
    palette: Palette, alpha: float, gamma: int, others: Sequence[int] = (1, 2, 4, 8)
) -> go.Figure:
    """Tokens per round against α, a curve for each draft length, the chosen one in ink.

    Source: Leviathan et al. 2023, equation 1.
    """
    lengths = sorted({*others, gamma})
    here = float(theory.expected_tokens(alpha, gamma))
    curves = [_length_curve(palette, length, chosen=length == gamma) for length in lengths]
    ends = [_curve_end(palette, length, chosen=length == gamma) for length in _spaced(lengths, gamma)]
    point = _point(palette, alpha, here, f"α = {alpha:.2f}, γ = {gamma}: %{{y:.2f}} tokens")
    return figure(
        palette,
        [*curves, point],
        x=axis(palette, "acceptance rate α", range=[0, 1], dtick=0.2),
        y=axis(palette, "expected tokens per round", rangemode="tozero"),
        alt=f"Expected tokens per round rise with the acceptance rate. At α {alpha:.2f} and γ {gamma} "
        f"they are {here:.2f} of at most {gamma + 1}.",
        notes=[*ends, _beside(palette, alpha, here, f"{here:.2f} tokens")],
        margin={"l": 52, "r": 50, "t": 24, "b": 44},
    )


def _length_curve(palette: Palette, gamma: int, *, chosen: bool) -> dict[str, Any]:
    return line(
        small(ALPHAS),
        theory.expected_tokens(ALPHAS, gamma),
        palette.ink if chosen else palette.grey,
        f"γ = {gamma}, α = %{{x:.2f}}<br>(1 − α^{gamma + 1}) / (1 − α) = %{{y:.2f}} tokens",
        width=2.5 if chosen else 1,
    )


def _spaced(lengths: Sequence[int], chosen: int) -> list[int]:
    """The lengths whose labels fit beside each other at the ends of their curves, the chosen one always."""
    named = [chosen]
    for length in sorted(lengths, reverse=True):
        if min(abs(length - other) for other in named) * 14 >= max(lengths):
            named.append(length)
    return named


def _curve_end(palette: Palette, gamma: int, *, chosen: bool) -> dict[str, Any]:
    words = f"<b>γ = {gamma}</b>" if chosen else f"γ = {gamma}"
    colour = palette.ink if chosen else palette.grey
    return note(words, colour, 1, gamma + 1, xanchor="left", xshift=6)


def speedup(
    palette: Palette, alpha: float, gamma: int, c: float, verify_cost: Callable[[int], float], most: int = 16
) -> go.Figure:
    """Speed-up against draft length with the best one marked.

    Args:
        c: time of a draft step over that of a token of plain decoding.
        verify_cost: v(γ), time of the pass over γ + 1 places with its tests and draw, over the same.
        most: largest draft length drawn.

    Source: Leviathan et al. 2023, theorem 3.8, with verifying costing v(γ) instead of 1.
    """
    lengths = np.arange(most + 1)
    tokens, costs = theory.expected_tokens(alpha, lengths), theory.round_costs(c, verify_cost, most)
    values, best = tokens / costs, theory.best_length(tokens, costs)
    hover = "γ = %{x}<br>E(γ) / (γ·c + v(γ)) = %{y:.2f}×"
    alone = _alone(palette, most)
    return figure(
        palette,
        [alone, _dotted(palette, lengths, values, hover), _point(palette, gamma, values[gamma], hover)],
        x=axis(palette, "draft length γ", range=[-0.5, most + 0.5], dtick=2),
        y=axis(palette, "speed-up ×", range=[0, 1.25 * max(values.max(), 1.2)]),
        alt=f"Speed-up over draft lengths 0 to {most} at α {alpha:.2f} and c {c:.2f}. "
        f"It is {values[gamma]:.2f} at γ {gamma} and highest, {values[best]:.2f}, at γ {best}.",
        notes=[
            _best(palette, best, float(values[best]), most),
            note("target alone", palette.target_text, most + 0.4, 1, xanchor="right", yanchor="top"),
        ],
        margin={"l": 52, "r": 16, "t": 24, "b": 44},
    )


def round_lengths(palette: Palette, alpha: float, gamma: int) -> go.Figure:
    """How often a round gives 1, 2, … γ + 1 tokens: the capped geometric distribution.

    Source: follows from Leviathan et al. 2023, section 3.1; its mean is their equation 1.
    """
    lengths = np.arange(1, gamma + 2)
    shares = theory.tokens_distribution(alpha, gamma)
    names = [f"{n} ↺" for n in lengths[:-1]] + [f"{gamma + 1} ★" if gamma else "1, nothing drafted"]
    mean = float(theory.expected_tokens(alpha, gamma))
    bars = {
        "type": "bar",
        "x": lengths,
        "y": small(shares),
        "marker": {"color": palette.grid, "line": {"color": palette.grey, "width": 1}},
        "customdata": lengths - 1,
        "hovertemplate": "%{customdata} kept and one of the target's: %{y:.1%} of rounds<extra></extra>",
    }
    ticks = {"tickmode": "array", "tickvals": lengths, "ticktext": names} if gamma <= 8 else {}
    return figure(
        palette,
        [bars],
        x=axis(palette, "tokens in a round: ↺ a draft fell, ★ all were kept", **ticks),
        y=axis(palette, "share of rounds", tickformat=".0%", rangemode="tozero"),
        alt=f"At α {alpha:.2f} a round of γ = {gamma} gives 1 token in {percent(shares[0])} of rounds "
        f"and all {gamma + 1} in {percent(shares[-1])}; the mean is {mean:.2f}.",
        notes=[note(f"mean {mean:.2f}", palette.ink, mean, 1, yref="paper", yanchor="bottom")],
        shapes=[_upright(palette, mean)],
        margin={"l": 52, "r": 16, "t": 24, "b": 44},
    )


def _point(palette: Palette, x: float, y: float, hover: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [x],
        "y": [y],
        "marker": {"size": 10, "color": palette.ink},
        "hovertemplate": f"{hover}<extra></extra>",
    }


def _beside(palette: Palette, x: float, y: float, words: str) -> dict[str, Any]:
    right = {"xanchor": "right", "xshift": -8, "yshift": 4}
    side = right if x > 0.35 else {"xanchor": "left", "xshift": -2, "yshift": 12}
    return note(f"<b>{words}</b>", palette.ink, x, y, yanchor="bottom", **side)


def _dotted(palette: Palette, x: np.ndarray, y: np.ndarray, hover: str) -> dict[str, Any]:
    dots = {"size": 6, "color": palette.surface, "line": {"color": palette.ink, "width": 1.5}}
    return line(x, y, palette.ink, hover, mode="lines+markers", marker=dots)


def _alone(palette: Palette, most: int) -> dict[str, Any]:
    return line([-0.5, most + 0.5], [1, 1], palette.target_line, "the target alone", dash="dash")


def _best(palette: Palette, gamma: int, value: float, most: int) -> dict[str, Any]:
    words = f"<b>best γ = {gamma}: {value:.2f}×</b>"
    side = "left" if gamma < most / 5 else "right" if gamma > most * 4 / 5 else "center"
    return note(words, palette.ink, gamma, value, yanchor="bottom", yshift=8, xanchor=side)


def _upright(palette: Palette, x: float) -> dict[str, Any]:
    line = {"color": palette.ink, "width": 1.5, "dash": "dot"}
    return {"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1, "line": line}
