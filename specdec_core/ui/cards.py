"""What a person should know of a pair before it runs, as HTML: its card, its checklist, its progress.

Every text in it is shown literally. Free of torch.
"""

from html import escape
from typing import TYPE_CHECKING

from specdec_core.models.progress import Progress
from specdec_core.models.specs import ModelRef, PairSpec, in_words

if TYPE_CHECKING:
    from specdec_core.models.checklist import Checklist, Item

_SIGNS = {"ok": "✓", "warn": "!", "refuse": "✕"}
_VERDICTS = {"ok": "fine", "warn": "mind", "refuse": "in the way"}
MIB, GIB = 1 << 20, 1 << 30


def card(spec: PairSpec) -> str:
    """What a pair is and teaches, and its facts."""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(words)}</dd>" for name, words in facts(spec))
    teaches = f"<p>{escape(spec.teaches)}</p>" if spec.teaches else ""
    return f'<div class="pair-card">{teaches}<dl>{rows}</dl></div>'


def facts(spec: PairSpec) -> list[tuple[str, str]]:
    """Name and words of every fact that is known of a pair.

    The expected acceptance is a range from elsewhere, and says from where.
    """
    found = [("Target", _model(spec.target)), ("Draft", _model(spec.draft) if spec.draft else "no model")]
    found.append(("Licence", spec.licence))
    if spec.memory:
        found.append(("Memory", f"{size(spec.memory)} for a run"))
    if spec.expected:
        low, high = spec.expected.low, spec.expected.high
        source = spec.expected.source if spec.expected.measured else "an estimate, not measured"
        found.append(
            ("Kept of tested", f"{100 * low:.0f} to {100 * high:.0f} % expected at γ = 4 ({source})")
        )
    return found


def checklist(found: "Checklist") -> str:
    """The checks that need attention, one by one; those that went well can be unfolded."""
    fine = [item for item in found.items if item.verdict == "ok"]
    rest = [item for item in found.items if item.verdict != "ok"]
    shown = "".join(map(_item, rest))
    count = f"{len(fine)} check{'' if len(fine) == 1 else 's'} went well"
    hidden = f"<details><summary>✓ {count}</summary><ul>{''.join(map(_item, fine))}</ul></details>"
    later = "" if found.complete or found.refusal else _LATER
    listed = f"<ul>{shown}</ul>" if shown else ""
    inside = f"{listed}{hidden if fine else ''}{later}"
    return f'<div class="checklist" role="group" aria-label="Checklist">{inside}</div>'


_LATER = (
    "<p>The rest can be checked only once it has been fetched; loading stops there if something is wrong.</p>"
)


def progress(now: Progress) -> str:
    """Stage, bytes and time in words.

    >>> progress(Progress("downloading", 45 << 20, 270 << 20, 12.4))
    'Downloading, 45 of 270 MiB, 12 s'
    """
    parts = [now.stage[:1].upper() + now.stage[1:]]
    if now.bytes_total:
        parts.append(f"{_of(now.bytes_done, now.bytes_total)}")
    elif now.bytes_done:
        parts.append(size(now.bytes_done))
    return escape(", ".join([*parts, duration(now.seconds)]))


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> duration(3.4), duration(192)
    ('3 s', '3 min 12 s')
    """
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def size(count: int) -> str:
    """Bytes in words.

    >>> size(93_000_000), size(16 << 30)
    ('89 MiB', '16.0 GiB')
    """
    return f"{count / MIB:,.0f} MiB" if count < GIB else f"{count / GIB:,.1f} GiB"


def _model(model: ModelRef) -> str:
    number = f", {in_words(model.parameters)} parameters" if model.parameters else ""
    return f"{model.title}{number}{', terms to accept on the hub' if model.gated else ''}"


def _item(item: "Item") -> str:
    no = ": no" if item.verdict == "refuse" else ""
    advice = f' <span class="advice">{escape(item.advice)}</span>' if item.advice else ""
    verdict = str(item.verdict.value)
    words = f"<div><b>{escape(item.title)}{no}</b> {escape(item.reason)}{advice}</div>"
    sign = f'<span class="sign" role="img" aria-label="{_VERDICTS[verdict]}">{_SIGNS[verdict]}</span>'
    return f'<li class="{verdict}">{sign}{words}</li>'


def _of(done: int, total: int) -> str:
    unit, name = (GIB, "GiB") if total >= GIB else (MIB, "MiB")
    digits = 1 if unit == GIB else 0
    return f"{done / unit:,.{digits}f} of {total / unit:,.{digits}f} {name}"
