"""What one visitor has on screen: a trace, where they are in it, and the live run behind it.

``Session`` is the only state a page keeps besides the values of its controls. Everything
shown is derived from its trace and cursor.
"""

from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from specdec_core.decoding.types import RoundSettings
from specdec_core.models.errors import PairError
from specdec_core.models.registry import PAIRS
from specdec_core.models.specs import PairSpec
from specdec_core.traces.trace import Trace
from specdec_core.ui import hardware, links, offer, recorded
from specdec_core.ui.loading import Request
from specdec_core.ui.run_view import Cursor
from specdec_core.ui.settings import NAMES, ROUND_NAMES, Settings, cleaned
from specdec_core.ui.waiting import Waiting

if TYPE_CHECKING:
    from specdec_core.experiments.live import LiveRun
    from specdec_core.ui.jobs import Timing

Mode = Literal["paused", "play", "run"]

PLAY_SECONDS = 0.6
"""Between two rounds of Play: long enough to see what happened."""

SLICE_SECONDS = 0.25
"""How long Run to end computes before it lets the page be drawn."""

PARTS = ("round", "panel", "badge", "charts")
"""The fragments that Explore is made of, in the order in which they are drawn anew."""

TYPED = ("seed", "max_tokens")
"""Numbers that are typed as text, so that whatever is typed can be answered."""

OWN = {"device": "", "dtype": "", "compiled": False, "single_keys": True}
"""Controls that belong to this machine or this visitor, not to a run: no link carries them."""

VIEW = "run"
"""Key of the interactive picture."""

_STATE, _KEPT = "explore", "explore_controls"


@dataclass
class Session:
    """One visitor's run.

    Attributes:
        shown: the recorded trace, while there is no live run.
        cursor: where the reader is; its round is -1 before the first.
        live: the live run, or None while the recorded trace is shown.
        started: what the live run was started with.
        timing: the background measurements of the live run.
        waiting: the pairs and checklists that the visitor has begun.
        customs: pairs that the visitor or a link has put together, by their keys.
        mode: whether rounds follow each other by themselves.
        trouble: a sentence about what went wrong last, or "".
        pair_trouble: why the models named last make no pair, or "".
        prompt_trouble: why the prompt could not be run, or "".
        remarks: what of the link could not be taken as it was, until the visitor has read it.
        corrected: by the name of a setting, what was made of a value typed into its field.
        runs: how many live runs have been started.
        last_tick: when Play or Run to end last went on.
        painted: the browser has drawn the round, so what takes longer no longer delays it.
        news: what the badge knew when it was last drawn.
        panel_news: what was on its way when the side panel was last drawn.
        owed: parts of the page that have still to be drawn anew.
    """

    shown: Trace
    cursor: Cursor
    live: "LiveRun | None" = None
    started: Settings | None = None
    timing: "Timing | None" = None
    waiting: Waiting = field(default_factory=Waiting)
    customs: dict[str, PairSpec] = field(default_factory=dict)
    mode: Mode = "paused"
    trouble: str = ""
    pair_trouble: str = ""
    prompt_trouble: str = ""
    remarks: tuple[str, ...] = ()
    corrected: dict[str, str] = field(default_factory=dict)
    runs: int = 0
    last_tick: float = 0.0
    painted: bool = False
    news: tuple = ()
    panel_news: Hashable = None
    owed: set[str] = field(default_factory=set)

    @property
    def trace(self) -> Trace:
        return self.live.trace if self.live else self.shown

    @property
    def newest(self) -> int:
        """Index of the newest round, -1 if there is none."""
        return len(self.trace.rounds) - 1

    @property
    def exhausted(self) -> bool:
        """Whether there is no round after the cursor and none can be computed."""
        return self.cursor.round >= self.newest and (self.live is None or self.trace.end is not None)

    def go(self, index: int) -> None:
        """Move the cursor to a round that there is, -1 being before the first."""
        self.cursor = Cursor(min(max(index, -1), self.newest), None)

    def forward(self, settings: RoundSettings, *, by_hand: bool = True) -> None:
        """Show the next round, computing it if the reader is at the newest one.

        A round made by hand comes at once, cold as it is; others are warmed up, so that their times count.
        """
        if self.cursor.round < self.newest:
            self.go(self.cursor.round + 1)
        elif self.live and not self.exhausted:
            self._compute(settings, single=by_hand, warm_up=not by_hand)
            self.go(self.newest)

    def run_slice(self, settings: RoundSettings) -> None:
        """Compute rounds back to back for a moment; the first follows a pause and is warmed up."""
        stop, first = monotonic() + SLICE_SECONDS, True
        while self.live and self.mode == "run" and self.trace.end is None and monotonic() < stop:
            self._compute(settings, warm_up=first)
            first = False
        self.go(self.newest)

    def _compute(self, settings: RoundSettings, *, single: bool = False, warm_up: bool = False) -> None:
        # The index keeps two scripts of one visitor from making two rounds out of one click.
        self.live.next_round(settings, single=single, warm_up=warm_up, index=self.newest + 1)
        if self.timing:
            self.timing.touch()

    def same_run(self, settings: Settings) -> Settings:
        """Settings that start the run on screen again, its later rounds as the controls say now."""
        now = {name: getattr(settings, name) for name in ROUND_NAMES}
        return replace(self.started or settings, **now)

    def leave(self) -> None:
        """Give up the live run: its models' caches are freed, nothing more is measured."""
        if self.timing:
            self.timing.stop()
        if self.live:
            self.live.close()

    def due(self) -> bool:
        """Whether Play owes the reader a round."""
        wait = PLAY_SECONDS if self.mode == "play" else 0.0
        if self.mode == "paused" or monotonic() - self.last_tick < 0.8 * wait:
            return False
        self.last_tick = monotonic()
        return True


def current() -> Session:
    """The visitor's session, made on first use around the recorded trace."""
    if _STATE not in st.session_state:
        trace = recorded.trace()
        st.session_state[_STATE] = Session(trace, Cursor(recorded.opening_round(trace), None))
    return st.session_state[_STATE]


def key(name: str) -> str:
    """Key of the control for one field of ``Settings``."""
    return f"set_{name}"


def offered() -> tuple[str, ...]:
    """Keys of the pairs that this visitor can choose from."""
    return (*offer.presets(), *current().customs)


def spec(pair: str) -> PairSpec:
    """What there is to know of a pair on offer."""
    return PAIRS[pair] if pair in PAIRS else current().customs[pair]


def chosen() -> Settings:
    """What the controls say now, every value checked."""
    return cleaned({name: value for name in NAMES if (value := value_of(name)) is not None}, offered())


def value_of(name: str) -> object:
    """The value of a setting; None before the page was opened."""
    return st.session_state.get(key(name))


def request() -> Request:
    """The pair that is chosen, and how it shall run."""
    device, dtype = hardware.known(*(str(value_of(name) or "") for name in ("device", "dtype")))
    compiled = bool(value_of("compiled")) and not hardware.why_not_compiled(device)
    return Request(chosen().pair, device, dtype, compiled)


def single_keys() -> bool:
    """Whether the visitor wants single keys to press buttons."""
    return bool(st.session_state.get(key("single_keys"), True))


def restore() -> None:
    """Give the controls their values when the page has just been opened: the visitor's own, else the link's.

    Only then: a value set while the visitor is typing would take the typed text away.
    """
    if _KEPT not in st.session_state:
        state, query = current(), st.query_params.to_dict()
        refused = _take_custom_pair(state, query)
        settings, remarks = links.read(query, offered())
        state.remarks = (*refused, *remarks)
        st.session_state[_KEPT] = asdict(settings) | OWN
    for name, value in st.session_state[_KEPT].items():
        put(name, value)


def now_and_then(name: str, then: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Key and callback of a control that is not always on screen; must come before it is drawn.

    Of a control that is not drawn Streamlit forgets the value, so the control only lends its key.

    Args:
        name: of the setting.
        then: what else to do when it has changed.
    """
    shown = f"shown_{name}"
    # Not each time: a value set while the visitor is typing would take the typed text away.
    if st.session_state.get(shown) != value_of(name):
        st.session_state[shown] = value_of(name)
    return {"key": shown, "on_change": _take, "args": (name, then)}


def _take(name: str, then: Callable[[], None]) -> None:
    put(name, st.session_state[f"shown_{name}"])
    then()


def put(name: str, value: object) -> None:
    """Give a control a value; must come before the control is drawn."""
    st.session_state[key(name)] = str(value) if name in TYPED else value


def keep() -> None:
    """Hold on to the values of the controls, which Streamlit drops while they are not shown."""
    st.session_state[_KEPT] = asdict(chosen()) | {name: value_of(name) for name in OWN}


def add_pair(found: PairSpec) -> None:
    """Offer a pair that the visitor has put together, and choose it."""
    if found.key not in PAIRS:
        current().customs[found.key] = found
    put("pair", found.key)


def _take_custom_pair(state: Session, query: dict[str, str]) -> list[str]:
    """Offer the pair that a link has put together; what to say if it cannot be."""
    pair = query.get("pair", "")
    if not offer.is_custom(pair):
        return []
    try:
        found = offer.custom(pair)
    except PairError as error:
        del query["pair"]
        return [str(error)]
    state.customs[found.key], query["pair"] = found, found.key
    return []
