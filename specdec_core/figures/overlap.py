"""One place in two pictures: where draft and target overlap, and how the target's law is put back together.

The draft's bar runs from 0 to q, the target's outline from 0 to p. What lies under both is
kept; what the target has left over, (p − q)₊, is hatched in its colour; what the draft has
left over stays bare (Leviathan et al. 2023, algorithm 1 and appendix A.1).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from specdec_core.figures.palette import Palette
from specdec_core.figures.style import CLEAR, axis, coloured, figure, percent, plain, small


def overlap(
    palette: Palette, tokens: Sequence[str], target_probs: ArrayLike, draft_probs: ArrayLike
) -> go.Figure:
    """Draft bars, target outlines and the target's hatched overhang, a row for each token.

    Args:
        tokens: labels of V tokens, as literal text.
        target_probs: [V], p of each token.
        draft_probs: [V], q of each token.
    """
    p, q = np.asarray(target_probs, float), np.asarray(draft_probs, float)
    shared = float(np.minimum(p, q).sum())
    key = (
        f"{coloured('draft q', palette.draft_text)} filled, "
        f"{coloured('target p outlined, left over hatched', palette.target_text)}"
    )
    return _figure(
        palette,
        tokens,
        p,
        q,
        filled=q,
        key=key,
        hover="draft q %{customdata[1]:.1%}, target p %{customdata[0]:.1%}<br>under both, min(p, q): "
        "%{customdata[2]:.1%}<br>left over for the target, max(0, p − q): %{customdata[3]:.1%}",
        alt=f"Draft and target over {len(p)} tokens. They overlap in {percent(shared)}; "
        f"{percent(1 - shared)} is left over for the target. {_listed(tokens, p, q)}.",
    )


def rebuilt(
    palette: Palette, tokens: Sequence[str], target_probs: ArrayLike, draft_probs: ArrayLike
) -> go.Figure:
    """Kept drafts min(p, q) and drawn corrections (p − q)₊ end to end: together exactly p.

    Arguments as for ``overlap``.
    """
    p, q = np.asarray(target_probs, float), np.asarray(draft_probs, float)
    kept = np.minimum(p, q)
    key = (
        f"{coloured('drafted and kept', palette.draft_text)} + {coloured('correction', palette.target_text)} "
        f"= {coloured('target p', palette.target_text)}"
    )
    return _figure(
        palette,
        tokens,
        p,
        q,
        filled=kept,
        key=key,
        hover="drafted and kept, q · min(1, p/q): %{customdata[2]:.1%}<br>a draft was rejected and this "
        "token drawn instead: %{customdata[3]:.1%}<br>together the target's p: %{customdata[0]:.1%}",
        alt=f"For each of {len(p)} tokens, the chance of a kept draft and that of a correction add up to the "
        f"target's probability: {_sums(tokens, kept, p - kept)}.",
    )


def _figure(
    palette: Palette,
    tokens: Sequence[str],
    p: np.ndarray,
    q: np.ndarray,
    *,
    filled: np.ndarray,
    key: str,
    hover: str,
    alt: str,
) -> go.Figure:
    """Rows of a filled draft bar, the hatched (p − q)₊ from min(p, q) on, and the outline p."""
    shared = np.minimum(p, q)
    bar = {
        "type": "bar",
        "orientation": "h",
        "y": np.arange(len(p)),
        "width": 0.62,
        "customdata": small(np.stack([p, q, shared, p - shared], axis=1)),
        "hovertemplate": hover + "<extra></extra>",
    }
    draft = {"color": palette.draft_fill, "line": {"color": palette.draft_line, "width": 1}}
    outline = {"color": CLEAR, "line": {"color": palette.target_line, "width": 2}}
    return figure(
        palette,
        [
            bar | {"x": small(filled), "marker": draft, "width": 0.46},
            bar | {"x": small(p - shared), "base": small(shared), "marker": _hatching(palette)},
            bar | {"x": small(p), "marker": outline},
        ],
        x=axis(palette, "probability", tickformat=".0%", nticks=6)
        | {"range": [0, 1.04 * max(p.max(), q.max(), 0.05)]},
        y=_rows(palette, tokens),
        alt=alt,
        heading=key,
        barmode="overlay",
        height=78 + 42 * len(p),
    )


def _hatching(palette: Palette) -> dict[str, Any]:
    pattern = {"shape": "/", "fgcolor": palette.target_line, "bgcolor": CLEAR, "size": 7, "solidity": 0.35}
    return {"color": CLEAR, "pattern": pattern}


def _rows(palette: Palette, tokens: Sequence[str]) -> dict[str, Any]:
    """Rows by number, named by ticks: two tokens may look alike, and "1E1" is no number."""
    names = [plain(token) for token in tokens]
    ticks = {"type": "linear", "tickmode": "array", "tickvals": list(range(len(names))), "ticktext": names}
    font = {"tickfont": {"size": 13, "color": palette.ink}, "showgrid": False}
    return axis(palette, "", range=[len(names) - 0.5, -0.5], **ticks) | font


def _listed(tokens: Sequence[str], p: np.ndarray, q: np.ndarray) -> str:
    return "; ".join(
        f"“{token}”: draft {percent(b)}, target {percent(a)}"
        for token, a, b in zip(tokens, p, q, strict=True)
    )


def _sums(tokens: Sequence[str], kept: np.ndarray, left_over: np.ndarray) -> str:
    return "; ".join(
        f"“{token}”: {percent(a)} + {percent(b)} = {percent(a + b)}"
        for token, a, b in zip(tokens, kept, left_over, strict=True)
    )
