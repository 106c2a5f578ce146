"""Loading a pair once for all visitors, in the background.

Importing torch and reading the weights takes seconds, during which the page already shows
the recorded trace. So both happen in a thread of their own, and nothing imported by the
pages imports torch.
"""

import gc
import logging
import threading
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import streamlit as st

from specdec_core.models.errors import PairError
from specdec_core.models.registry import find_pair

if TYPE_CHECKING:
    from specdec_core.models import loading as models
    from specdec_core.models.pair import Pair

_LOG = logging.getLogger(__name__)
_IMPORTING = threading.Lock()


class PairUnavailable(Exception):
    """The pair could not be loaded; the message is for the visitor."""


class Loading:
    """A pair on its way. It holds no weights: a pair that had to go meanwhile is loaded again.

    Args:
        key: name of the pair, a key of ``models.registry.PAIRS``.

    Attributes:
        trouble: why the pair could not be loaded, or "".
    """

    def __init__(self, key: str) -> None:
        self.key, self.trouble = key, ""
        self._models: models.Loading | None = None
        self._begun, self._done = threading.Lock(), threading.Event()

    def begin(self) -> None:
        """Start loading, unless it has been started."""
        if self._begun.acquire(blocking=False):
            threading.Thread(target=self._load, name=f"load {self.key}", daemon=True).start()

    @property
    def done(self) -> bool:
        """Whether the pair has been loaded, or has failed to."""
        return self._done.is_set()

    def pair(self) -> "Pair":
        """The pair; waits for it.

        Raises:
            PairUnavailable: it could not be loaded.
        """
        self.begin()
        self._done.wait()
        if self._models is None or self.trouble:
            raise PairUnavailable(self.trouble)
        return self._models.pair()

    def _load(self) -> None:
        try:
            models = _imported()
            self._models = models.begin(find_pair(self.key))
            self._models.pair()
            _spare_the_collector()
        except PairError as error:
            _LOG.warning("the pair %s cannot be loaded: %s", self.key, error)
            self.trouble = str(error)
        except Exception:
            _LOG.exception("loading the pair %s", self.key)
            self.trouble = "The pair could not be loaded; the server's log says why."
        finally:
            self._done.set()


def _imported() -> ModuleType:
    """The module that loads pairs, imported with all else that needs torch.

    By one thread at a time: transformers hands out its parts before they are whole.
    """
    with _IMPORTING:
        import_module("specdec_core.experiments.live")
        from specdec_core.models import loading as models
        from specdec_core.models.machine import set_threads

        set_threads()
        return models


def _spare_the_collector() -> None:
    """Exempt what is loaded by now from garbage collection.

    torch and transformers leave half a million objects that live as long as the process;
    looking through them takes a quarter of a second, which would fall into measured rounds.
    """
    gc.collect()
    gc.freeze()


@st.cache_resource(show_spinner=False, max_entries=4)
def loading(key: str) -> Loading:
    """The one loading of a pair that all visitors share; ``begin`` starts it."""
    return Loading(key)


def pair(key: str) -> "Pair":
    """The pair, loaded now if need be; a loading that has failed before is tried again.

    Raises:
        PairUnavailable: it could not be loaded.
    """
    if loading(key).trouble:
        loading.clear(key)
    return loading(key).pair()
