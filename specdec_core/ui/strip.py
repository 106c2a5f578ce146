"""The five figures above the text, each with its formula, "–" where nothing was counted.

All of them look at the rounds up to the cursor. Speeds look only at rounds whose times can be
trusted: rounds stepped singly, cold or contended are left out, and a replay of the same
rounds without pauses stands in for them.
"""

from dataclasses import dataclass
from html import escape

from specdec_core.traces import metrics
from specdec_core.traces.trace import Trace

NOTHING = "–"
COUNTED_UNTIL = 100
"""Below this many, counts are given as counts."""


@dataclass(frozen=True)
class Figure:
    """One figure of the strip: what it is, its value, how it is computed, and its circumstances."""

    label: str
    value: str
    formula: str
    mark: str = ""


def figures(trace: Trace, upto: int, gamma: int) -> list[Figure]:
    """The figures for the first ``upto`` rounds of a trace, γ being that of the round shown."""
    return [
        _kept(trace, upto),
        _per_pass(trace, upto, gamma),
        _time(trace, upto),
        _speedup(trace, upto),
        _costs(trace, gamma),
    ]


def html(items: list[Figure]) -> str:
    """The strip as HTML; every text in it is shown literally."""
    return f'<div class="strip" role="list">{"".join(_card(item) for item in items)}</div>'


def _kept(trace: Trace, upto: int) -> Figure:
    counts = metrics.counts(trace, upto)
    return Figure(
        "kept of tested · of drafted",
        f"{_share(counts.accepted, counts.tested)} · {_share(counts.accepted, counts.drafted, 'of ')}",
        "accepted / tested, then accepted / drafted. Tested are the drafts up to and with the first "
        f"rejected one of each round. {_rounds(upto)}",
    )


def _per_pass(trace: Trace, upto: int, gamma: int) -> Figure:
    value, most = metrics.tokens_per_round(trace, upto), metrics.most_tokens_per_round(trace, upto)
    return Figure(
        f"tokens per target pass (most: {gamma + 1 if most is None else round(most, 1):g})",
        NOTHING if value is None else f"{value:.2f}",
        "emitted tokens / target passes, the correction or bonus of each round counted. "
        f"A round with draft length γ emits 1 to γ + 1, so the most is the mean of γ + 1. {_rounds(upto)}",
    )


def _time(trace: Trace, upto: int) -> Figure:
    own, alone = metrics.time_per_token(trace, upto), metrics.baseline_time_per_token(trace)
    return Figure(
        "time per token · target alone",
        f"{_ms(own)} · {_ms(alone)}",
        "seconds of the rounds whose times can be trusted / tokens they emitted; then the same for the "
        "target alone, a token a pass, on this prompt. Reading the prompt is in neither. "
        + _speed_note(trace, upto),
        _replayed(trace, upto),
    )


def _speedup(trace: Trace, upto: int) -> Figure:
    closed = metrics.speedup_model(trace, upto)
    return Figure(
        "speed-up: measured · model",
        f"{_times(metrics.speedup_measured(trace, upto))} · {_times(metrics.speedup_expected(trace, upto))}",
        "measured: time per token of the target alone / of this run. Model: E / (γ·c + v(γ)), E being the "
        "tokens per target pass. With E from the closed form and the measured overlap, verifying taken to "
        f"cost no more than one token (Leviathan et al. 2023, Theorem 3.8): {_times(closed)}. "
        + _speed_note(trace, upto),
        _replayed(trace, upto),
    )


def _costs(trace: Trace, gamma: int) -> Figure:
    costs = trace.costs
    return Figure(
        f"draft step c · verify cost v({gamma})",
        f"{costs.c:.2f} · {costs.verify_cost(gamma):.2f}" if costs else f"{NOTHING} · {NOTHING}",
        "c: time of one draft step / of a target pass over one token. v(γ): time of a target pass over "
        f"γ + 1 tokens / over one. Medians measured on this machine. {trace.conditions}.",
    )


def _share(part: int, whole: int, word: str = "") -> str:
    if not whole:
        return NOTHING
    if whole < COUNTED_UNTIL:
        return f"of {whole}" if word else f"{part} of {whole}"
    return f"{100 * part / whole:.1f} %"


def _rounds(upto: int) -> str:
    return "No round yet." if upto == 0 else "Round 1." if upto == 1 else f"Rounds 1 to {upto}."


def _ms(seconds: float | None) -> str:
    return NOTHING if seconds is None else f"{seconds * 1000:.1f} ms"


def _times(ratio: float | None) -> str:
    return NOTHING if ratio is None else f"{ratio:.2f}×"


def _speed_note(trace: Trace, upto: int) -> str:
    trusted = int(metrics.latency(trace, upto).clean.sum())
    return f"{trusted} of {upto} rounds can be trusted. {trace.conditions}."


def _replayed(trace: Trace, upto: int) -> str:
    """A mark where times of a replay stand in for those of rounds that were stepped."""
    stepped = any(not item.flags.clean for item in trace.rounds[:upto])
    return "replayed" if stepped and trace.replay and upto else ""


def _card(item: Figure) -> str:
    mark = f' <span class="mark">{escape(item.mark)}</span>' if item.mark else ""
    return (
        '<div class="figure" role="listitem" tabindex="0">'
        f'<div class="label">{escape(item.label)}{mark}</div>'
        f'<div class="value">{escape(item.value)}</div>'
        f'<div class="formula" role="tooltip">{escape(item.formula)}</div></div>'
    )
