"""Slow work in a thread of its own, which the page looks in on now and then."""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Generic, TypeVar

from specdec_core.models.errors import PairError
from specdec_core.models.progress import Cancelled, Meter, Progress

T = TypeVar("T")

_LOG = logging.getLogger(__name__)


class Work(Generic[T]):
    """Something slow, begun at once and done once.

    Args:
        name: what is done, for the log and as the thread's name.
        do: the work.
        foreseen: the error whose message is meant for a person; others are described in the log alone.

    Attributes:
        result: what came out; None until it is done, and if it failed.
        trouble: why nothing came out, as a sentence for the visitor, or "".

    Example:
        >>> work = Work("adding", lambda: 1 + 1)
        >>> work.wait(), work.result, work.trouble
        (True, 2, '')
    """

    def __init__(self, name: str, do: Callable[[], T], foreseen: type[ValueError] = PairError) -> None:
        self.result: T | None = None
        self.trouble = ""
        self._name, self._do, self._foreseen = name, do, foreseen
        self._begun, self._ended = monotonic(), threading.Event()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    @property
    def done(self) -> bool:
        """Whether it has come to an end, good or bad."""
        return self._ended.is_set()

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return monotonic() - self._begun

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end, at most so many seconds; whether it has come."""
        return self._ended.wait(timeout)

    def _run(self) -> None:
        do, self._do = self._do, None  # what it holds, such as a model, is held no longer than it takes
        try:
            self.result = do()
        except self._foreseen as error:
            _LOG.warning("%s: %s", self._name, error)
            self.trouble = str(error) or self._unforeseen()
        except Exception:
            _LOG.exception(self._name)
            self.trouble = self._unforeseen()
        finally:
            self._ended.set()

    def _unforeseen(self) -> str:
        return f"Something went wrong while {self._name}; the server's log says what."


class MeteredWork(Generic[T]):
    """Slow work that tells how far it is and may be given up; begun at once.

    Args:
        name, foreseen: as in ``Work``.
        do: the work, given the meter that it tells.
    """

    def __init__(self, name: str, do: Callable[[Meter], T], foreseen: type[ValueError] = PairError) -> None:
        self._meter = meter = Meter()
        self._work: Work[T | None] = Work(name, lambda: _unless_cancelled(do, meter), foreseen)

    @property
    def done(self) -> bool:
        """Whether it has come to an end, or was given up."""
        return self._work.done or self._meter.cancelled

    @property
    def trouble(self) -> str:
        """Why nothing came out, or ""."""
        return self._work.trouble

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return self._meter.progress

    def cancel(self) -> None:
        """Give up."""
        self._meter.cancel()


def _unless_cancelled(do: Callable[[Meter], T], meter: Meter) -> T | None:
    with suppress(Cancelled):
        return do(meter)
