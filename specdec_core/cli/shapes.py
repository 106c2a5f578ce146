"""The measured pairs of random weights as text for people; part of `bench`."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specdec_core.experiments.shape_bench import ShapeResult

HEAD = """\
Larger pairs, weights of noise: they take as long to multiply as trained ones, so the times are a
real pair's, while drafts are kept by fiat. What follows says what this device makes of such sizes."""

NOTES = """\
t(n)        target pass over n tokens, beside it in units of t(1)
waits       times a round that the processor waits for the device, – where the two are one
kept        chance of a tested draft to be kept, as it was set
γ           the draft length that the costs make best (at least 1)
E           tokens a round, as it came out
× plain     measured; predicted is E / (γ·c + v(γ))"""

COLUMNS = ("kept", "γ", "E", "× plain", "predicted")


def lines(result: "ShapeResult") -> Iterator[str]:
    """One pair: its size, what its parts cost, and its runs at a forced acceptance."""
    target, draft = (f"{count / 1e6:,.0f} M" for count in result.parameters)
    costs = result.costs
    yield f"{result.title}: target {target}, draft {draft} parameters, {result.dtype}, batch 1"
    passes = zip(costs.tokens, costs.target, strict=True)
    shown = [f"{n}: {1e3 * seconds:.2f} ({seconds / costs.target[0]:.2f})" for n, seconds in passes]
    width = max(map(len, shown)) + 3
    for start in range(0, len(shown), 4):
        cells = "".join(cell.ljust(width) for cell in shown[start : start + 4])
        yield f"{'' if start else 't(n), ms':12}{cells}".rstrip()
    yield f"draft step  {1e3 * costs.draft:.2f} ms; plain token {1e3 * costs.plain:.2f} ms; c = {costs.c:.3f}"
    waits = "–" if result.waits is None else f"{result.waits:.1f} at γ = {result.waits_gamma}"
    yield f"waits       {waits}"
    yield _row(COLUMNS)
    for run in result.runs:
        numbers = (run.tokens_per_round, run.measured, run.predicted)
        yield _row((f"{run.acceptance:.2f}", str(run.gamma), *(f"{number:.2f}" for number in numbers)))


def to_json(result: "ShapeResult") -> dict[str, Any]:
    """Everything measured of one pair as plain values, with c beside the costs."""
    return {**asdict(result), "costs": {**asdict(result.costs), "c": result.costs.c}}


def _row(cells: Sequence[str]) -> str:
    return "  ".join(cell.rjust(len(head)) for cell, head in zip(cells, COLUMNS, strict=True))
