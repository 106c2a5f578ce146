"""How far a slow piece of work has come, for those who wait for it, and their way to stop it."""

import threading
import time
from dataclasses import dataclass


class Cancelled(Exception):
    """Nobody waits for this work any longer; it stopped and left nothing half done."""


@dataclass(frozen=True)
class Progress:
    """What is known of the work at one moment.

    Attributes:
        stage: what is being done, in words for a person.
        bytes_done: bytes of this stage that are done.
        bytes_total: bytes that the stage has in all; None where nobody knows.
        seconds: since the work began.
    """

    stage: str
    bytes_done: int = 0
    bytes_total: int | None = None
    seconds: float = 0.0

    @property
    def fraction(self) -> float | None:
        """Share of the stage that is done, from 0 to 1; None where its size is unknown.

        >>> Progress("downloading", 50, 200).fraction
        0.25
        """
        return min(1.0, self.bytes_done / self.bytes_total) if self.bytes_total else None


class Meter:
    """What the one who works writes to and those who wait read from.

    Every method of the working side raises ``Cancelled`` once ``cancel`` has been called, so
    work that reports its progress can also be stopped.

    Example:
        >>> meter = Meter()
        >>> meter.stage("reading weights", total=200)
        >>> meter.add(50)
        >>> meter.progress.bytes_done, meter.progress.bytes_total
        (50, 200)
        >>> meter.cancel()
        >>> meter.add(50)
        Traceback (most recent call last):
        ...
        specdec_core.models.progress.Cancelled: reading weights
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        self._stage, self._done, self._total = "starting", 0, None
        self._cancelled = threading.Event()

    @property
    def progress(self) -> Progress:
        """How far the work is now."""
        with self._lock:
            seconds = time.monotonic() - self._begun
            return Progress(self._stage, self._done, self._total, seconds)

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin another stage, of ``total`` bytes if that is known."""
        self.check()
        with self._lock:
            self._stage, self._done, self._total = name, 0, total

    def add(self, count: int) -> None:
        """Note that ``count`` further bytes of this stage are done."""
        self.check()
        with self._lock:
            self._done += count

    def reach(self, count: int) -> None:
        """Note that ``count`` bytes of this stage are done in all."""
        self.check()
        with self._lock:
            self._done = count

    def cancel(self) -> None:
        """Ask the work to stop; it does so at its next report."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether the work was asked to stop."""
        return self._cancelled.is_set()

    def check(self) -> None:
        """Stop here if the work was cancelled.

        Raises:
            Cancelled: naming the stage.
        """
        if self.cancelled:
            raise Cancelled(self._stage)
