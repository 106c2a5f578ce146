"""Making in the background what a draft needs beside its pair, such as a copy of the target in fewer bits."""

from contextlib import suppress
from typing import TYPE_CHECKING

from specdec_core.models.progress import Cancelled, Meter, Progress
from specdec_core.ui.background import Work

if TYPE_CHECKING:
    from specdec_core.experiments.drafts import DraftKind
    from specdec_core.models.pair import Pair


class Preparing:
    """A draft being made ready; begun at once.

    Args:
        kind: the kind of draft.
        pair: the loaded pair it shall draft for.
    """

    def __init__(self, kind: "DraftKind", pair: "Pair") -> None:
        self._meter = Meter()
        self._work = Work("preparing a draft", lambda: self._prepare(kind, pair), ValueError)

    @property
    def done(self) -> bool:
        """Whether it is ready, or will not be."""
        return self._work.done or self._meter.cancelled

    @property
    def trouble(self) -> str:
        """Why it is not ready, or ""."""
        return self._work.trouble

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return self._meter.progress

    def cancel(self) -> None:
        """Give up."""
        self._meter.cancel()

    def _prepare(self, kind: "DraftKind", pair: "Pair") -> None:
        with suppress(Cancelled):
            kind.prepare(pair, self._meter)
