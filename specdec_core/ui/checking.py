"""Looking at a pair before it is loaded, in the background: the checklist may have to ask the hub."""

import threading
from typing import TYPE_CHECKING

from specdec_core.models.progress import Meter
from specdec_core.models.registry import find_pair
from specdec_core.ui.background import MeteredWork
from specdec_core.ui.loading import IMPORTING, Request, imported, torch_is_there

if TYPE_CHECKING:
    from specdec_core.models.checklist import Checklist

_AT_ONCE = threading.Semaphore(2)
"""Visitors who choose many pairs make each other wait, rather than the hub or this machine."""


class Check(MeteredWork["Checklist"]):
    """A pair's checklist on its way; begun at once.

    Args:
        request: which pair, and how it would run.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        super().__init__("checking a pair", self._look)

    @property
    def found(self) -> "Checklist | None":
        """The checklist; None until it is there, and if there is none."""
        return self._work.result

    @property
    def refused(self) -> bool:
        """Whether it is known that the pair cannot run here."""
        return self.found is not None and self.found.refusal is not None

    def _look(self, meter: Meter) -> "Checklist":
        if not torch_is_there():
            meter.stage(IMPORTING)
        models = imported()
        with _AT_ONCE:
            return models.check_pair(find_pair(self.request.pair), meter=meter, **self.request.way())
