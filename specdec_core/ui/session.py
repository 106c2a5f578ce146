"""What one visitor has on screen: a trace, where they are in it, and the live run behind it.

``Session`` is the only state a page keeps besides the values of its controls. Everything
shown is derived from its trace and cursor.
"""

from dataclasses import asdict, dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Literal

import streamlit as st

from specdec_core.decoding.types import RoundSettings
from specdec_core.traces.trace import Trace
from specdec_core.ui import links, offer, recorded
from specdec_core.ui.run_view import Cursor
from specdec_core.ui.settings import NAMES, Settings, cleaned

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

_STATE, _KEPT = "explore", "explore_controls"


@dataclass
class Session:
    """One visitor's run.

    Attributes:
        shown: the recorded trace, while there is no live run.
        cursor: where the reader is; its round is -1 before the first.
        live: the live run, or None while the recorded trace is shown.
        timing: the background measurements of the live run.
        mode: whether rounds follow each other by themselves.
        trouble: a sentence about what went wrong last, or "".
        prompt_trouble: why the prompt could not be run, or "".
        remarks: what of the link could not be taken as it was, until the visitor has read it.
        corrected: by the name of a setting, what was made of a value typed into its field.
        runs: how many live runs have been started.
        last_tick: when Play or Run to end last went on.
        painted: the browser has drawn the round, so what takes longer no longer delays it.
        news: what the badge knew when it was last drawn.
        owed: parts of the page that have still to be drawn anew.
    """

    shown: Trace
    cursor: Cursor
    live: "LiveRun | None" = None
    timing: "Timing | None" = None
    mode: Mode = "paused"
    trouble: str = ""
    prompt_trouble: str = ""
    remarks: tuple[str, ...] = ()
    corrected: dict[str, str] = field(default_factory=dict)
    runs: int = 0
    last_tick: float = 0.0
    painted: bool = False
    news: tuple = ()
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

    def forward(self, settings: RoundSettings) -> None:
        """Show the next round, computing it if the reader is at the newest one."""
        if self.cursor.round < self.newest:
            self.go(self.cursor.round + 1)
        elif self.live and not self.exhausted:
            self._compute(settings, single=True)
            self.go(self.newest)

    def run_slice(self, settings: RoundSettings) -> None:
        """Compute rounds back to back for a moment; the first follows a pause and is marked so."""
        stop, first = monotonic() + SLICE_SECONDS, True
        while self.live and self.mode == "run" and self.trace.end is None and monotonic() < stop:
            self._compute(settings, single=first)
            first = False
        self.go(self.newest)

    def _compute(self, settings: RoundSettings, *, single: bool) -> None:
        # The index keeps two scripts of one visitor from making two rounds out of one click.
        self.live.next_round(settings, single=single, index=self.newest + 1)
        if self.timing:
            self.timing.touch()

    def same_run(self, settings: Settings) -> Settings:
        """Settings that start the run on screen again."""
        trace = self.trace
        return replace(
            settings,
            pair=trace.pair.key,
            prompt=trace.prompt,
            seed=trace.run.seed,
            rule=trace.run.rule,
            max_tokens=trace.run.max_new_tokens,
        )

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


def chosen() -> Settings:
    """What the controls say now, every value checked."""
    raw = {name: st.session_state.get(key(name)) for name in NAMES}
    return cleaned({name: value for name, value in raw.items() if value is not None}, offer.presets())


def single_keys() -> bool:
    """Whether the visitor wants single keys to press buttons."""
    return bool(st.session_state.get(key("single_keys"), True))


def restore() -> None:
    """Give the controls their values when the page has just been opened: the visitor's own, else the link's.

    Only then: a value set while the visitor is typing would take the typed text away.
    """
    if _KEPT not in st.session_state:
        settings, current().remarks = links.read(st.query_params.to_dict(), offer.presets())
        st.session_state[_KEPT] = asdict(settings) | {"single_keys": True}
    for name, value in st.session_state[_KEPT].items():
        put(name, value)


def put(name: str, value: object) -> None:
    """Give a control a value; must come before the control is drawn."""
    st.session_state[key(name)] = str(value) if name in TYPED else value


def keep() -> None:
    """Hold on to the values of the controls, which Streamlit drops while another page is shown."""
    st.session_state[_KEPT] = asdict(chosen()) | {"single_keys": single_keys()}
