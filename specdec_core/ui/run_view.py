"""The one interactive picture of a run: text, round, inspector of a place, carpet.

The browser holds the rounds of a run and moves, hovers and scrubs on its own. This module
sends each round once, learns where the reader is, and decides whose move was the later one.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import streamlit as st

from specdec_core.decoding.types import Round
from specdec_core.traces.trace import Trace
from specdec_core.ui import payload

_ASSETS = Path(__file__).resolve().parents[2] / "assets" / "components"

_LOADER = "loader.js"
"""The script that Streamlit knows of and sends every time; it is handed the others once."""

SCRIPTS = (
    *("dom.js", "leaving.js", "store.js", "text.js"),
    *("lanes.js", "inspector.js", "carpet.js", "keys.js", "run_view.js"),
)
"""The script in its parts, joined in this order into one module."""

STYLES = ("frame.css", "text.css", "inspector.css", "lanes.css", "rows.css", "carpet.css")
"""The style sheet in its parts, joined in this order."""


@dataclass(frozen=True)
class Cursor:
    """Where the reader is.

    Attributes:
        round: index of a round, -1 before the first.
        place: index of a place in it, or None for the most telling one.
    """

    round: int
    place: int | None = None


@dataclass
class Link:
    """What one mounted view and this session know of each other.

    Attributes:
        run: name of the run, new for every session and every time rounds are taken back.
        coded: the browser has been sent the view's script and style.
        sent, replayed: how many rounds and replayed times the browser has been sent.
        retimed: the first of those times; another means that all have been measured anew.
        seen, last: how many rounds the trace had last time, and what the last of them looked like.
        cursor, returned: where the reader is, and where the page was told that they are.
        seq: number of the page's last move.
        opened: the round and place whose full record the reader asked for.
    """

    run: str = ""
    coded: bool = False
    sent: int = 0
    replayed: int = 0
    retimed: tuple = ()
    seen: int = 0
    last: tuple = ()
    cursor: Cursor | None = None
    returned: Cursor | None = None
    seq: int = 0
    opened: tuple[int, int] | None = None
    nonce: str = field(default_factory=lambda: secrets.token_hex(4))
    restarts: int = 0


def run_view(trace: Trace, cursor: Cursor, *, key: str, on_rest: Callable[[], None] | None = None) -> Cursor:
    """Draw a run and let the reader move in it.

    The page keeps the returned cursor and passes it again on the next run; one that differs
    from what was returned is a move of the page's own and wins over the browser.

    Args:
        trace: the run; later calls with more rounds send the new ones alone.
        cursor: where the page wants the reader to be.
        key: of this view, and of the component in the session state.
        on_rest: a callback of the page's, called once the browser has painted a new round or
            cursor (and when it has first painted the view) and the reader has come to rest there:
            the moment for everything that would otherwise keep the reader waiting for the round.

    Returns:
        Where the reader is.
    """
    here = reader(trace, cursor, key=key)
    link = _link(key)
    data = _data(trace, link) | {"rest": on_rest is not None}
    _component()(
        key=key,
        # In a list, since Streamlit imports pandas to look at the values of a dictionary.
        data=[data],
        on_cursor_change=partial(_on_cursor, key),
        on_have_change=partial(_on_have, key),
        on_open_change=partial(_on_open, key),
        on_rest_change=on_rest or _nothing,
    )
    link.coded, link.sent, link.replayed = True, len(trace.rounds), len(trace.replay)
    return here


def reader(trace: Trace, cursor: Cursor, *, key: str) -> Cursor:
    """Where the reader is, for parts of the page that are drawn before the view."""
    link = _link(key)
    _follow(link, trace)
    if cursor != link.returned:
        link.cursor, link.seq = cursor, link.seq + 1
    link.cursor = link.returned = _inside(link.cursor or cursor, trace)
    return link.cursor


@cache
def _component() -> Any:
    return st.components.v2.component("run_view", js=_joined((_LOADER,)))


@cache
def _code() -> dict[str, str]:
    """The view's own script and style, some 60 kB."""
    return {"script": _joined(SCRIPTS), "style": _joined(STYLES)}


def _joined(names: tuple[str, ...]) -> str:
    return "\n".join((_ASSETS / name).read_text(encoding="utf-8") for name in names)


def _link(key: str) -> Link:
    return st.session_state.setdefault(f"_{key}_link", Link())


def _follow(link: Link, trace: Trace) -> None:
    """Start afresh when the trace is another run, or the same run begun again."""
    count = len(trace.rounds)
    again = count < link.seen or (link.seen > 0 and _looks(trace.rounds[link.seen - 1]) != link.last)
    other = payload.run_id(trace) != link.run.partition("-")[0]
    if again or other:
        link.restarts += 1
        link.run = f"{payload.run_id(trace)}-{link.nonce}-{link.restarts}"
        link.sent, link.replayed, link.opened = 0, 0, None
    if trace.replay[:1] != link.retimed:
        link.replayed, link.retimed = 0, trace.replay[:1]
    link.seen, link.last = count, _looks(trace.rounds[-1]) if count else ()


def _looks(item: Round) -> tuple:
    """Enough of a round to tell it from the same round of a run begun again."""
    return item.index, item.start, item.drafted.tobytes(), item.emitted.tobytes(), item.times


def _inside(cursor: Cursor, trace: Trace) -> Cursor:
    index = min(max(cursor.round, -1), len(trace.rounds) - 1)
    places = len(trace.rounds[index].drafted) if index >= 0 else -1
    place = cursor.place if cursor.place is not None and 0 <= cursor.place <= places else None
    return Cursor(index, place)


def _data(trace: Trace, link: Link) -> payload.Json:
    opened = link.opened if link.opened and link.opened[0] == link.cursor.round else None
    return {
        "run": link.run,
        "code": None if link.coded else _code(),
        "head": payload.head(trace),
        "alone": payload.one_token_alone(trace),
        "base": link.sent,
        "append": payload.compact_rounds(trace, link.sent),
        "replay": {"base": link.replayed, "append": payload.replayed_times(trace, link.replayed)},
        "cursor": {"round": link.cursor.round, "place": link.cursor.place, "seq": link.seq},
        "detail": payload.detail(trace, *opened) if opened else None,
    }


def _message(key: str, event: str) -> dict:
    """What the browser reported; a browser may send anything, so anything else counts as nothing."""
    value = st.session_state[key].get(event)
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _nothing() -> None:
    """Stands for a callback that the page has no use for."""


def _on_cursor(key: str) -> None:
    link, told = _link(key), _message(key, "cursor")
    index, seq = _count(told.get("round")), _count(told.get("seq"))
    # A report made before the reader saw the page's latest move is out of date.
    if told.get("run") == link.run and index is not None and seq == link.seq:
        link.cursor = Cursor(index, _count(told.get("place")))


def _on_have(key: str) -> None:
    link, told = _link(key), _message(key, "have")
    count, replayed = _count(told.get("count")), _count(told.get("replayed"))
    if told.get("run") == link.run and count is not None and replayed is not None:
        link.coded = link.coded and told.get("code") is not False
        link.sent = min(max(count, 0), link.sent)
        link.replayed = min(max(replayed, 0), link.replayed)


def _on_open(key: str) -> None:
    link, told = _link(key), _message(key, "open")
    index, place = _count(told.get("round")), _count(told.get("place"))
    if told.get("run") == link.run and index is not None and place is not None:
        link.opened = (index, place)
