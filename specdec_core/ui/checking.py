"""Looking at a pair before it is loaded, in the background: the checklist may have to ask the hub."""

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from specdec_core.models.progress import Cancelled, Meter, Progress
from specdec_core.models.registry import find_pair
from specdec_core.ui.background import Work
from specdec_core.ui.loading import Request, imported

if TYPE_CHECKING:
    from specdec_core.models.checklist import Checklist

_AT_ONCE = threading.Semaphore(2)
"""Visitors who choose many pairs make each other wait, rather than the hub or this machine."""


class Check:
    """A pair's checklist on its way.

    Args:
        request: which pair, and how it would run.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self._meter = Meter()
        self._work: Work[Checklist | None] = Work("checking a pair", self._look)

    @property
    def done(self) -> bool:
        """Whether there is a checklist, or will not be one."""
        return self._work.done

    @property
    def found(self) -> "Checklist | None":
        """The checklist; None until it is there, and if there is none."""
        return self._work.result

    @property
    def trouble(self) -> str:
        """Why there is no checklist, or ""."""
        return self._work.trouble

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return self._meter.progress

    def cancel(self) -> None:
        """Look no further; meant for checks that nobody will see."""
        self._meter.cancel()

    def _look(self) -> "Checklist | None":
        models = imported()
        with _AT_ONCE, suppress(Cancelled):
            return models.check_pair(find_pair(self.request.pair), meter=self._meter, **self.request.way())
