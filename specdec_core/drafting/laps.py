"""The time of each of several steps, one after the other."""

from time import perf_counter


class Laps:
    """A stopwatch that starts when it is made.

    Attributes:
        seconds: what each lap took.

    Example:
        >>> laps = Laps()
        >>> laps.end(); laps.end()
        >>> len(laps.seconds)
        2
    """

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._last = perf_counter()

    def end(self) -> None:
        """One step is done; the next one has begun."""
        now = perf_counter()
        self.seconds.append(now - self._last)
        self._last = now
