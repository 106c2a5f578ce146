"""Bounds the memory of caches that nobody is using just now.

A visitor who reads, or who has gone to lunch, keeps a run open, and its caches with it. Those
of the runs that were used longest ago are given back when all of them together grow too large.
Such a run loses nothing: its next round reads the sequence anew, which takes the time of one
prompt and gives the same tokens.
"""

import threading
import weakref
from typing import Protocol

MOST_BYTES = 2 * 2**30
"""Bytes that the caches of all runs in a process may take together, the newest run's own aside."""


class Caching(Protocol):
    """A run with caches."""

    @property
    def cache_bytes(self) -> int: ...

    def rest(self) -> None:
        """Give the caches back, unless the run is in the middle of a round."""
        ...


class IdleCaches:
    """The runs of a process in the order in which they were last used.

    Args:
        most_bytes: see ``MOST_BYTES``.

    Example:
        >>> class Run:
        ...     cache_bytes = 600
        ...     def rest(self): self.cache_bytes = 0
        >>> shelf, first, second = IdleCaches(1000), Run(), Run()
        >>> shelf.used(first); shelf.used(second)
        >>> first.cache_bytes, second.cache_bytes
        (0, 600)
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._runs: weakref.WeakKeyDictionary[Caching, int] = weakref.WeakKeyDictionary()
        self._clock = 0

    def used(self, run: Caching) -> None:
        """A run has just been used; others may have to give their caches back."""
        with self._lock:
            self._clock += 1
            self._runs[run] = self._clock
            oldest_first = sorted(self._runs.items(), key=lambda item: item[1])
        total = sum(other.cache_bytes for other, _ in oldest_first)
        for other, _ in oldest_first[:-1]:
            if total <= self._most:
                return
            total -= other.cache_bytes
            other.rest()
