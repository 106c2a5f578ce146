"""The address of the page as a record of its settings: written for sharing, read when it is opened."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from urllib.parse import urlencode

from specdec_core.traces.trace import Trace
from specdec_core.ui.settings import (
    DEFAULT,
    NAMES,
    PROMPT_LIMIT,
    ROUND_NAMES,
    Settings,
    cleaned,
    finite,
    quoted,
    understood,
)

THEORY = {
    "alpha": ("Acceptance rate α", 0.0, 1.0),
    "gamma": ("Draft length γ", 0.0, 16.0),
    "c": ("Draft step c", 0.0, 1.0),
    "extra": ("Verify cost per draft", 0.0, 0.5),
}
"""Label, least and most of the sliders of the Theory page, which keep their values in the address."""

_MOST_NAMED = 3
"""Unknown parameters that are named one by one."""


def link(settings: Settings, page_url: str) -> str:
    """A link that opens the page with these settings; what equals the default is left out.

    So is a prompt that is too long to be run.
    """
    given, default = asdict(settings), asdict(DEFAULT)
    changed = {name: value for name, value in given.items() if value != default[name]}
    if len(settings.prompt) > PROMPT_LIMIT:
        del changed["prompt"]
    # A surrogate that no encoding knows must not break the page that offers the link.
    query = urlencode(changed, errors="replace")
    return page_url.partition("?")[0] + (f"?{query}" if query else "")


def read(query: Mapping[str, str], pairs: Sequence[str]) -> tuple[Settings, tuple[str, ...]]:
    """The settings that a link asks for, and a sentence for each part that could not be taken as it is.

    Args:
        query: the parameters of the address, as hostile as can be.
        pairs: keys of the pairs there are.

    >>> read({"gamma": "40"}, ())[1]
    ('Draft length γ 40 is more than the most, 16; 16 is used.',)
    """
    known = {name: value for name, value in query.items() if name in NAMES}
    remarks = [understood(name, value, pairs)[1] for name, value in known.items()]
    if len(prompt := known.get("prompt", "")) > PROMPT_LIMIT:
        known["prompt"] = prompt[:PROMPT_LIMIT]
        remarks.append(f"The prompt has {len(prompt):,} characters; the first {PROMPT_LIMIT:,} are used.")
    strangers = [name for name in query if name not in known and name not in THEORY]
    return cleaned(known, pairs), tuple([*filter(None, remarks), *_left_out(strangers)])


def about(trace: Trace, started: Settings, chosen: Settings) -> str:
    """What is to be known before the link of a live run is sent, or "": when it starts another run.

    Args:
        trace: the run on screen.
        started: what the controls said when it was started.
        chosen: what they say now, which is what the link carries.
    """
    rounds = {item.settings for item in trace.rounds}
    if len(rounds) > 1:
        return (
            "Settings were changed in the middle of this run, and a link cannot say that: it starts a run "
            "with those of now from the first round on."
        )
    run = replace(chosen, **{name: getattr(started, name) for name in ROUND_NAMES})
    if run != started or (rounds and rounds != {chosen.round}):
        return "The link carries the settings above; the run on screen was made with others."
    return ""


def theory_remarks(query: Mapping[str, str]) -> list[str]:
    """A sentence for each slider of the Theory page that a link sets to what it cannot show.

    >>> theory_remarks({"alpha": "2", "c": "0.2"})
    ['Acceptance rate α “2” is not from 0 to 1; its usual value is shown.']
    """
    return [
        f"{label} {quoted(query[name])} is not from {low:g} to {high:g}; its usual value is shown."
        for name, (label, low, high) in THEORY.items()
        if name in query and not _within(query[name], low, high)
    ]


def _within(value: str, low: float, high: float) -> bool:
    number = finite(value)
    return number is not None and low <= number <= high


def _left_out(names: Sequence[str]) -> list[str]:
    if len(names) > _MOST_NAMED:
        return [f"{len(names)} parameters are no settings; they are left out."]
    return [f"There is no setting “{name[:40]}”; it is left out." for name in names]
