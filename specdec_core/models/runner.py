"""One runner per device: sessions take turns at it, one round at a time, in order of arrival."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Busy(RuntimeError):
    """The device did not come free in time.

    Attributes:
        waiting: how many others were waiting when this one gave up.
    """

    def __init__(self, waiting: int) -> None:
        super().__init__(f"busy, {waiting} waiting")
        self.waiting = waiting


class Turn:
    """The right to use the device until the ``with`` block ends."""

    def __init__(self, runner: "Runner", waited: bool) -> None:
        self._runner = runner
        self._waited = waited

    @property
    def contended(self) -> bool:
        """Whether this turn had to wait, or another is waiting for it now.

        Read it at the end of the turn: a round that others waited for is no measure of speed.
        """
        return self._waited or self._runner.waiting > 0


class Runner:
    """Hands out a device in turns, first come, first served.

    A turn is meant to last one round and never to span a call into the user interface, so a
    session that plays a long run goes to the back of the queue after every round.

    Example:
        >>> runner = Runner()
        >>> with runner.turn(timeout=1.0) as turn:
        ...     turn.contended
        False
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()
        self._holder: int | None = None

    @property
    def waiting(self) -> int:
        """How many turns are waiting, the one in progress not counted."""
        return len(self._queue)

    @contextmanager
    def turn(self, timeout: float | None = None) -> Iterator[Turn]:
        """Wait for the device and hold it inside the ``with`` block.

        Args:
            timeout: most seconds to wait; None waits as long as it takes.

        Raises:
            Busy: it did not come free in time; says how many others are waiting.
            RuntimeError: this thread holds the device already and would wait for itself.
        """
        waited = self._take(timeout)
        try:
            yield Turn(self, waited)
        finally:
            self._give()

    def _take(self, timeout: float | None) -> bool:
        ticket = object()
        with self._changed:
            if self._holder == threading.get_ident():
                raise RuntimeError("this thread holds the device already; a turn cannot be nested")
            waited = self._holder is not None or bool(self._queue)
            self._queue.append(ticket)
            try:
                if not self._changed.wait_for(lambda: self._is_next(ticket), timeout):
                    raise Busy(len(self._queue) - 1)
                self._holder = threading.get_ident()
            finally:
                # Also after an interrupt: a ticket left behind would block all later ones.
                self._queue.remove(ticket)
                self._changed.notify_all()
        return waited

    def _is_next(self, ticket: object) -> bool:
        return self._holder is None and self._queue[0] is ticket

    def _give(self) -> None:
        with self._changed:
            self._holder = None
            self._changed.notify_all()


_RUNNERS: dict[str, Runner] = {}
_RUNNERS_LOCK = threading.Lock()


def runner_for(device: str) -> Runner:
    """The one runner of a device, shared by all pairs and sessions of this process."""
    with _RUNNERS_LOCK:
        return _RUNNERS.setdefault(device, Runner())
