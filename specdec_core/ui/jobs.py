"""Measuring in the background what a run needs for its speeds.

The cost table and the target alone are timed when a run starts, the rounds replayed without pauses,
in turns with the target alone. Nothing of it begins, and the target alone does not go on, before the
visitor has paused for a moment. All of it takes turns with the visitor's own rounds, so it never keeps
them waiting for more than one.
"""

import logging
import threading
import weakref
from collections.abc import Callable
from time import monotonic, sleep
from typing import TYPE_CHECKING

from specdec_core.decoding.types import Sampling

if TYPE_CHECKING:
    from specdec_core.experiments.live import LiveRun

_LOG = logging.getLogger(__name__)

IDLE_SECONDS = 2.0
"""A pause this long lets a measurement begin; before the first round none is needed."""

BASELINE_TRIES = 2
"""A baseline that others disturbed is timed once more, after a pause."""

STALE_SHARE = 0.1
"""A replay that lacks no more than this share of the rounds need not be made again."""


class _Pauses:
    """Tells whether to stop, but not before the visitor pauses: between two tokens their rounds go first."""

    def __init__(self, stopped: threading.Event, wait: Callable[[], None]) -> None:
        self._stopped, self._wait = stopped, wait

    def is_set(self) -> bool:
        self._wait()
        return self._stopped.is_set()


class Timing:
    """The background measurements of one live run.

    A thread lives only while there is something to measure, so none outlives its visitor for long.

    Args:
        live: the run.
        sampling: settings of the plain decoding it is compared with.
        owner: for whom; once nothing holds it any more (its tab was closed), nothing more is measured.
    """

    def __init__(self, live: "LiveRun", sampling: Sampling, owner: object | None = None) -> None:
        self._live, self._sampling = live, sampling
        self._lock = threading.Lock()
        self._stopped = stopped = threading.Event()
        self._owner = weakref.ref(owner, lambda _: stopped.set()) if owner is not None else None
        self._working = False
        self._last_activity = 0.0
        self._baseline_stale, self._tries, self._afresh = True, 0, False
        self.doing = ""
        self.trouble = ""
        self._work_on()

    def touch(self) -> None:
        """Note that the visitor has just made a round."""
        self._last_activity = monotonic()
        self._work_on()

    def again(self, sampling: Sampling) -> None:
        """Time the rounds and the target alone anew, the latter with these settings."""
        self._sampling, self._afresh, self._tries = sampling, True, 0
        self._baseline_stale = not self._live.trace.rounds
        self._work_on()

    def stop(self) -> None:
        """Measure nothing more."""
        self._stopped.set()

    @property
    def stopped(self) -> bool:
        """Whether nothing more will be measured."""
        return self._stopped.is_set()

    @property
    def working(self) -> bool:
        """Whether a measurement is in progress or about to begin."""
        return self._working

    def _work_on(self) -> None:
        with self._lock:
            if not self._working and not self._stopped.is_set():
                self._working = True
                threading.Thread(target=self._work, name="measuring", daemon=True).start()

    def _work(self) -> None:
        while work := self._next_or_rest():
            try:
                work()
            except Exception:
                # Whatever it was, the run itself goes on; only its speeds stay unknown.
                _LOG.exception("measuring failed")
                self.trouble = "The speeds could not be measured; the server's log says why."
                self._stopped.set()

    def _next_or_rest(self) -> Callable[[], None] | None:
        with self._lock:
            work = None if self._stopped.is_set() else self._due()
            if work is None:
                self._working, self.doing = False, ""
            return work

    def _due(self) -> Callable[[], None] | None:
        trace = self._live.trace
        if trace.costs is None:
            return self._costs
        if self._baseline_stale and self._tries < BASELINE_TRIES:
            return self._baseline
        lacking = len(trace.rounds) - len(trace.replay)
        enough = 0 if self._live.ended else STALE_SHARE * len(trace.rounds)
        return self._replay if trace.rounds and (self._afresh or lacking > enough) else None

    def _costs(self) -> None:
        self._wait_for_a_pause()
        self.doing = "measuring c and v"
        self._live.measure_costs()

    def _baseline(self) -> None:
        self._wait_for_a_pause()
        self.doing = "timing the target alone"
        self._tries += 1
        pauses = _Pauses(self._stopped, self._wait_for_a_pause)
        self._baseline_stale = self._live.measure_baseline(self._sampling, cancel=pauses).contended

    def _replay(self) -> None:
        self._wait_for_a_pause()
        self.doing = "timing rounds and target in turns"
        afresh, self._afresh = self._afresh, False
        for _ in self._live.replay(self._sampling, afresh=afresh, cancel=self._stopped):
            pass
        if len(self._live.trace.replay) < len(self._live.trace.rounds):
            # Another run wanted the device, or a round came meanwhile: give way, then try again.
            self._last_activity = monotonic()

    def _wait_for_a_pause(self) -> None:
        doing, self.doing = self.doing, ""  # the badge tells only of what goes on
        while not self._stopped.is_set() and (rest := self._last_activity + IDLE_SECONDS - monotonic()) > 0:
            sleep(rest)
        self.doing = doing
