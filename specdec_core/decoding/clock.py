"""Moments in the time of whatever computes.

A GPU works behind the host: when a pass returns, its work may have just begun. A moment is
therefore noted when the work is handed out, and asked for its time later, when the host has
waited for the results anyway. So taking the time makes nobody wait.
"""

from collections.abc import Callable
from time import perf_counter

Moment = Callable[[], float]
"""Seconds on the host's clock (``perf_counter``) at which the device had done all work given so far."""

Clock = Callable[[], Moment]
"""Notes a moment."""


def host_clock() -> Moment:
    """The moment of a device that is done when a call returns.

    Example:
        >>> before, after = host_clock(), host_clock()
        >>> before() <= after()
        True
    """
    now = perf_counter()
    return lambda: now
