"""Loading a pair once for all visitors, in the background.

A pair that does not ship with the app is left alone until a visitor has asked for it: neither
choosing it nor opening a link that names it may fetch or load anything.

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
from specdec_core.models.registry import PAIRS, find_pair

if TYPE_CHECKING:
    from specdec_core.models import loading as models
    from specdec_core.models.pair import Pair

_NOT_ASKED = "This pair does not come with the app, so it waits to be asked for: press “Load this pair”."

_LOG = logging.getLogger(__name__)
_IMPORTING = threading.Lock()


class PairUnavailable(Exception):
    """The pair could not be loaded, or nobody has asked for it; the message is for the visitor."""


def ships(key: str) -> bool:
    """Whether all models of a pair come with the app, so that loading it fetches nothing.

    >>> ships("embedded"), ships("qwen3-8b"), ships("no such pair")
    (True, False, False)
    """
    return key in PAIRS and all(model.shipped for model in PAIRS[key].models)


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
        """Start loading, unless it has been started or is to be asked for first."""
        if ships(self.key):
            self.ask()

    def ask(self) -> None:
        """Start loading because a visitor has asked for it, unless it has been started."""
        if self._begun.acquire(blocking=False):
            threading.Thread(target=self._load, name=f"load {self.key}", daemon=True).start()

    @property
    def to_be_asked(self) -> bool:
        """Whether nothing happens before a visitor asks for the pair."""
        return not (self._begun.locked() or ships(self.key))

    @property
    def loaded(self) -> bool:
        """Whether the pair has been loaded."""
        return self._done.is_set() and not self.trouble

    @property
    def done(self) -> bool:
        """Whether nothing is on its way: the pair has been loaded, has failed to, or must be asked for."""
        return self._done.is_set() or self.to_be_asked

    def pair(self) -> "Pair":
        """The pair; waits for it.

        Raises:
            PairUnavailable: it could not be loaded, or has to be asked for first.
        """
        if self.to_be_asked:
            raise PairUnavailable(_NOT_ASKED)
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
    """The pair, loaded now if it ships with the app; one that has failed to load is tried again.

    Raises:
        PairUnavailable: it could not be loaded, or has to be asked for first.
    """
    if loading(key).trouble and ships(key):
        loading.clear(key)
    return loading(key).pair()


def ask(key: str) -> None:
    """Start loading a pair because a visitor has asked for it, also after it has failed."""
    if loading(key).trouble:
        loading.clear(key)
    loading(key).ask()
