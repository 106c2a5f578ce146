"""Loaded pairs that stay in memory for the next visitor: few, and never in the way of another pair."""

import gc
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from specdec_core.models.machine import give_back_memory

T = TypeVar("T")


class Shelf(Generic[T]):
    """The most recently used items, up to a number; the others live while somebody uses them.

    Example:
        >>> class Thing: pass
        >>> shelf = Shelf(most=1)
        >>> first, second = Thing(), Thing()
        >>> shelf.put("first", first); shelf.put("second", second)
        >>> shelf.get("first") is first, len(shelf)  # a run still holds it
        (True, 1)
        >>> del first
        >>> shelf.put("second", second)
        >>> shelf.get("first") is None
        True
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._alive: WeakValueDictionary[Hashable, T] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable) -> T | None:
        """The item of a key if it is in memory; it becomes the one used last."""
        with self._lock:
            item = self._alive.get(key)
            if item is not None:
                self._keep(key, item)
            return item

    def put(self, key: Hashable, item: T) -> None:
        """Keep an item; the one unused for longest goes if there are too many."""
        with self._lock:
            self._alive[key] = item
            gone = self._keep(key, item)
        if gone:
            collect()

    def kept(self) -> list[T]:
        """The items that the shelf itself keeps, the one unused for longest first."""
        with self._lock:
            return list(self._kept.values())

    def make_room(self, enough: Callable[[], bool]) -> None:
        """Give up items, the one unused for longest first, until there is room or none is left.

        What a run still uses stays in memory until the run is over.
        """
        while not enough():
            with self._lock:
                if not self._kept:
                    return
                self._kept.popitem(last=False)
            collect()

    def clear(self) -> None:
        """Give up all items."""
        self.make_room(lambda: False)

    def _keep(self, key: Hashable, item: T) -> bool:
        """Make an item the one used last; whether another had to go for it."""
        self._kept[key] = item
        self._kept.move_to_end(key)
        if len(self._kept) <= self._most:
            return False
        self._kept.popitem(last=False)
        return True


def collect() -> None:
    """Free what is no longer reachable, also where it was exempted from collection.

    The app freezes what it has loaded, so that collections do not fall into measured rounds;
    a model with a reference cycle in it would then stay for ever.
    """
    frozen = gc.get_freeze_count()
    if frozen:
        gc.unfreeze()
    gc.collect()
    if frozen:
        gc.freeze()
    give_back_memory()
