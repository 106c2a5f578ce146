"""Loading a pair for a visitor, in the background.

A pair that does not ship with the app is left alone until the visitor has asked for it: neither
choosing it nor opening a link that names it may fetch or load anything.

Importing torch and reading the weights takes seconds, during which the page already shows
the recorded trace. So both happen in a thread of their own, and nothing imported by the
pages imports torch. The weights themselves are loaded once for all visitors
(``models.loading``); what is kept here is one visitor's view of it.
"""

import gc
import threading
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from specdec_core.models.progress import Progress
from specdec_core.models.registry import PAIRS, find_pair
from specdec_core.ui.background import Work

if TYPE_CHECKING:
    from specdec_core.models import loading as models
    from specdec_core.models.pair import Pair

NOT_ASKED = "This pair is loaded when you ask for it: whether it can, and the button, stand below its name."
REFUSED = "This pair cannot run here; what is in the way stands below its name."
ON_ITS_WAY = "This pair is still being loaded; its progress stands beside its name."

IMPORTING = "importing PyTorch, once for all visitors, mostly 5 to 20 s"
"""Stage of whatever is asked for before anything else that needs torch."""

POLL = 0.1
"""Seconds between two looks at whether the pair is there."""

_MOMENT = 0.2
"""Most seconds to wait for a pair that may be in memory already, so that it is not said to be loading."""

_importing = threading.Lock()
_imported = threading.Event()


class PairUnavailable(Exception):
    """The pair could not be loaded, or is not there yet; the message is for the visitor."""


class Request(NamedTuple):
    """What a visitor wants to have loaded.

    Attributes:
        pair: key of the pair, as ``models.registry.find_pair`` reads it.
        device, dtype: where and how it runs, as torch writes them; "" for the default.
        compiled: whether its passes are compiled first, which takes minutes.
    """

    pair: str
    device: str = ""
    dtype: str = ""
    compiled: bool = False

    @property
    def by_itself(self) -> bool:
        """Whether it may be loaded without being asked for: it comes with the app and takes seconds.

        >>> Request("embedded").by_itself, Request("embedded", compiled=True).by_itself
        (True, False)
        >>> Request("qwen3-8b").by_itself, Request("no such pair").by_itself
        (False, False)
        """
        known = PAIRS.get(self.pair)
        return known is not None and all(model.shipped for model in known.models) and not self.compiled

    def way(self) -> dict[str, object]:
        """Device and number format as ``models.loading`` takes them. Imports torch."""
        import torch

        dtype = getattr(torch, self.dtype) if self.dtype else None
        return {"device": self.device or None, "dtype": dtype}


class Loading:
    """A pair on its way to one visitor. It holds no weights: what had to go meanwhile is loaded again.

    Args:
        request: which pair, and how.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self._work: Work[None] | None = None
        self._cancelled = threading.Event()
        self._models: models.Loading | None = None

    def begin(self) -> None:
        """Start loading, unless it has been started or is to be asked for first."""
        if self.request.by_itself:
            self.ask()

    def ask(self) -> None:
        """Start loading because the visitor has asked for it, unless it has been started."""
        if self._work is None:
            self._work = Work("loading a pair", self._load)
            if torch_is_there():
                self._work.wait(_MOMENT)

    def cancel(self) -> None:
        """Give up; the weights are loaded on only if another visitor waits for them."""
        self._cancelled.set()
        if self._models:
            self._models.cancel()

    @property
    def over(self) -> bool:
        """Whether it has failed, was given up, or made room for others: asking again takes another one."""
        ended = self._work is not None and self._work.done
        return self._cancelled.is_set() or (ended and self.held is None)

    @property
    def ending(self) -> str:
        """How it has come to be over, as a sentence, where no trouble tells; "" while it is not over."""
        if not self.over or self.trouble:
            return ""
        if self._cancelled.is_set():
            return "Loading was cancelled. What was already fetched is not fetched again."
        return "It was loaded, and has made room for another pair since."

    @property
    def to_be_asked(self) -> bool:
        """Whether nothing happens before the visitor asks for the pair."""
        return not self.request.by_itself and (self._work is None or self.over)

    @property
    def held(self) -> "Pair | None":
        """The pair if it is in memory now. Asking waits for nothing and loads nothing."""
        return self._models.held if self._models and self._work.done else None

    @property
    def trouble(self) -> str:
        """Why the pair could not be loaded, or ""."""
        return self._work.trouble if self._work else ""

    @property
    def on_its_way(self) -> bool:
        """Whether something is being done for it."""
        return self._work is not None and not (self._work.done or self._cancelled.is_set())

    @property
    def progress(self) -> Progress:
        """How far it is."""
        if self._models:
            return self._models.progress
        return Progress(IMPORTING, seconds=self._work.seconds if self._work else 0.0)

    def pair(self) -> "Pair":
        """The pair; waits for one that is loaded by itself, which is a matter of seconds.

        Raises:
            PairUnavailable: it could not be loaded, is not there yet, or has to be asked for first.
        """
        if self.to_be_asked:
            raise PairUnavailable(self.trouble or NOT_ASKED)
        self.ask()
        if self.on_its_way and not self.request.by_itself:
            raise PairUnavailable(ON_ITS_WAY)
        self._work.wait()
        if (held := self.held) is None:
            raise PairUnavailable(self.trouble or NOT_ASKED)
        return held

    def _load(self) -> None:
        models = imported()
        self._models = begun = models.begin(
            find_pair(self.request.pair), compiled=self.request.compiled, **self.request.way()
        )
        there = begun.done
        while not (begun.done or self._cancelled.wait(POLL)):
            pass
        if self._cancelled.is_set():
            begun.cancel()  # also when it was given up before there was anything to cancel
            return
        begun.pair()
        if not there:
            _spare_the_collector()


def torch_is_there() -> bool:
    """Whether torch and all that needs it have been imported, so that importing them takes no time."""
    return _imported.is_set()


def imported() -> ModuleType:
    """The module that loads pairs, imported with all else that needs torch.

    By one thread at a time: transformers hands out its parts before they are whole.
    """
    with _importing:
        import_module("specdec_core.experiments.live")
        from specdec_core.models import loading as models
        from specdec_core.models.machine import set_threads

        set_threads()
        _imported.set()
        return models


def _spare_the_collector() -> None:
    """Exempt what is loaded by now from garbage collection.

    torch and transformers leave half a million objects that live as long as the process;
    looking through them takes a quarter of a second, which would fall into measured rounds.
    """
    gc.collect()
    gc.freeze()
