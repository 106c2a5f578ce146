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

UNSTEADY = 1.5
"""Two times of the same thing further apart than this are marked."""


@dataclass(frozen=True)
class Figure:
    """One figure of the strip.

    Attributes:
        label: what it is.
        values: each number with the words that go with it, set small: ``("14", "of 20 tested")``.
        formula: how it is computed, and its circumstances.
        mark: a word on how it was come by, with its meaning in ``formula``.
    """

    label: str
    values: tuple[tuple[str, str], ...]
    formula: str
    mark: str = ""


def figures(trace: Trace, upto: int, gamma: int) -> list[Figure]:
    """The figures for the first ``upto`` rounds of a trace, γ being that of the round shown."""
    note, mark = _speed_note(trace, upto), _speed_mark(trace, upto)
    return [
        _kept(trace, upto),
        _per_pass(trace, upto, gamma),
        _time(trace, upto, note, mark),
        _speedup(trace, upto, note, mark),
        _costs(trace, gamma),
    ]


def html(items: list[Figure]) -> str:
    """The strip as HTML; every text in it is shown literally."""
    cards = "".join(_card(item) for item in items)
    return f'<div class="strip-room"><div class="strip" role="list">{cards}</div></div>'


def _kept(trace: Trace, upto: int) -> Figure:
    counts = metrics.counts(trace, upto)
    return Figure(
        "drafts kept",
        _kept_values(counts.accepted, counts.tested, counts.drafted),
        "kept of tested: accepted / tested. Tested are the drafts up to and with the first rejected one of "
        f"each round. Kept of drafted: accepted / drafted. {_rounds(upto)}",
    )


def _kept_values(accepted: int, tested: int, drafted: int) -> tuple[tuple[str, str], ...]:
    """Counts while they are few, each with its own whole; percentages when there are a hundred.

    >>> _kept_values(14, 20, 35)
    (('14', 'of 20 tested'), ('14', 'of 35 drafted'))
    >>> _kept_values(140, 200, 350)
    (('70.0 %', 'of tested'), ('40.0 %', 'of drafted'))
    """
    if not tested:
        return ((NOTHING, "of tested"), (NOTHING, "of drafted"))
    if tested < COUNTED_UNTIL:
        return ((f"{accepted}", f"of {tested} tested"), (f"{accepted}", f"of {drafted} drafted"))
    return ((_percent(accepted, tested), "of tested"), (_percent(accepted, drafted), "of drafted"))


def _per_pass(trace: Trace, upto: int, gamma: int) -> Figure:
    value, most = metrics.tokens_per_round(trace, upto), metrics.most_tokens_per_round(trace, upto)
    mean = f", here {most:.2f}" if most else ""
    return Figure(
        "tokens per target pass",
        ((NOTHING if value is None else f"{value:.2f}", f"of at most {_most(trace, upto, gamma)}"),),
        "emitted tokens / target passes, the correction or bonus of each round counted. "
        f"A round with draft length γ emits 1 to γ + 1, so the most on average is that of γ + 1{mean}. "
        f"{_rounds(upto)}",
    )


def _most(trace: Trace, upto: int, gamma: int) -> str:
    """The most tokens that a round could give, γ + 1; from the least to the greatest if γ was changed."""
    bounds = {item.settings.gamma + 1 for item in trace.rounds[:upto]} or {gamma + 1}
    return " to ".join(map(str, sorted({min(bounds), max(bounds)})))


def _time(trace: Trace, upto: int, note: str, mark: str) -> Figure:
    own, alone = metrics.time_per_token(trace, upto), metrics.baseline_time_per_token(trace)
    return Figure(
        "time per token",
        ((_ms(own), "here"), (_ms(alone), "target alone")),
        "here: seconds of the rounds whose times count / tokens they emitted. Target alone: the same for the "
        "target without a draft, a token a pass, on this prompt: the mean of all its tokens. Reading the "
        f"prompt is in neither. {note}",
        mark,
    )


def _speedup(trace: Trace, upto: int, note: str, mark: str) -> Figure:
    closed = metrics.speedup_model(trace, upto)
    return Figure(
        "speed-up",
        (
            (_times(metrics.speedup_measured(trace, upto)), "measured"),
            (_times(metrics.speedup_expected(trace, upto)), "model"),
        ),
        "over the target alone. Measured: time per token of the target alone / of this run. Model: "
        "E / (γ·c + v(γ)), E being the tokens per target pass. With E from the closed form and the measured "
        "overlap, verifying taken to cost no more than one token (Leviathan et al. 2023, Theorem 3.8): "
        f"{_times(closed)}. {note}",
        mark,
    )


def _costs(trace: Trace, gamma: int) -> Figure:
    costs = trace.costs
    return Figure(
        "cost, in tokens of the target alone",
        (
            (f"{costs.c:.2f}" if costs else NOTHING, "draft step"),
            (f"{costs.verify_cost(gamma):.2f}" if costs else NOTHING, _checking(gamma)),
        ),
        "c: time of one draft step / of one token of plain decoding. v(γ): time of a target pass over γ + 1 "
        "tokens with its tests and its draw / of the same one token. Medians measured on this machine. "
        f"{_unsteadiness(trace)}{trace.conditions}.",
    )


def _checking(gamma: int) -> str:
    return f"checking {gamma}" if gamma else "a pass alone"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"


def _rounds(upto: int) -> str:
    return "No round yet." if upto == 0 else "Round 1." if upto == 1 else f"Rounds 1 to {upto}."


def _ms(seconds: float | None) -> str:
    return NOTHING if seconds is None else f"{seconds * 1000:.{1 if seconds < 0.1 else 0}f} ms"


def _times(ratio: float | None) -> str:
    return NOTHING if ratio is None else f"{ratio:.2f}×"


def _speed_note(trace: Trace, upto: int) -> str:
    times = metrics.latency(trace, upto)
    counted, replayed = int(times.clean.sum()), int(times.replayed.sum())
    note = f"The times of {counted} of {upto} rounds count: those stepped singly, cold or disturbed do not. "
    if replayed:
        note += (
            f"Of {replayed} a replay stands in: the same rounds made once more without pauses, in turns with "
            "the target alone, so that both meet the same machine. "
        )
    return f"{note}{_unsteadiness(trace)}{trace.conditions}."


def _speed_mark(trace: Trace, upto: int) -> str:
    """Which times a speed is made of, where they are not simply those of all rounds."""
    times = metrics.latency(trace, upto)
    counted = int(times.clean.sum())
    if _unsteadiness(trace):
        return "unsteady"
    if counted < upto:
        return f"{counted} of {upto} rounds"
    return "replayed" if times.replayed.any() else ""


def _unsteadiness(trace: Trace) -> str:
    """That the target alone was timed twice with quite different results, or "" if it was not."""
    alone = metrics.baseline_time_per_token(trace)
    if alone is None or trace.costs is None:
        return ""
    table = trace.costs.plain
    if max(alone, table) <= UNSTEADY * min(alone, table):
        return ""
    return (
        f"Unsteady: a token of the target alone took {_ms(alone)} beside this run, but {_ms(table)} when its "
        "costs were measured, so the machine was busy at one of those times. "
    )


def _card(item: Figure) -> str:
    mark = f' <span class="mark">{escape(item.mark)}</span>' if item.mark else ""
    values = " ".join(_value(*each) for each in item.values)
    return (
        '<div class="figure" role="listitem" tabindex="0">'
        f'<div class="label">{escape(item.label)}{mark}</div>'
        f'<div class="values">{values}</div>'
        f'<div class="formula" role="tooltip">{escape(item.formula)}</div></div>'
    )


def _value(number: str, words: str) -> str:
    """A number and its words, which are never torn apart by the end of a line."""
    return f'<span class="value"><b>{escape(number)}</b> {escape(words)}</span>'
