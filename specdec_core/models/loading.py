"""From a pair's key to two loaded models that every session shares.

Whoever asks first starts the loading, in a thread of its own; all who ask meanwhile wait for
the same one, see its progress, and may give up without stopping it for the others. It is
stopped when the last of them gives up. A few pairs stay loaded for the next visitor.
"""

import logging
import threading
import weakref
from collections.abc import Callable
from typing import NamedTuple

import torch

from specdec_core.models.assembling import Way, held_bytes, make_pair
from specdec_core.models.checklist import Checklist
from specdec_core.models.errors import PairError
from specdec_core.models.inspection import inspect
from specdec_core.models.machine import default_device, default_dtype, placed
from specdec_core.models.pair import Pair
from specdec_core.models.progress import Cancelled, Meter, Progress
from specdec_core.models.registry import find_pair
from specdec_core.models.shelf import Shelf
from specdec_core.models.specs import PairSpec

PAIRS_KEPT = 3
"""Pairs that stay in memory though no run uses them."""

_LOG = logging.getLogger(__name__)


class Key(NamedTuple):
    """What makes two requests the same: which pair, and where and how it runs."""

    spec: PairSpec
    way: Way


_shelf: Shelf[Pair] = Shelf(PAIRS_KEPT)
_jobs: dict[Key, "_Job"] = {}
_beginning = threading.Lock()


class Loading:
    """One visitor's view of a pair on its way.

    Example of a page that polls it::

        loading = begin(spec)
        while not loading.done:
            show(loading.progress)          # stage, bytes_done, bytes_total, seconds
        pair = loading.pair() if loading.error is None else None
    """

    def __init__(self, job: "_Job") -> None:
        self._job = job
        self._left = False

    @property
    def progress(self) -> Progress:
        """How far it is: stage, bytes of the stage done and in all, seconds since it began."""
        return self._job.meter.progress

    @property
    def done(self) -> bool:
        """Whether the pair is there, or will not come, for this visitor."""
        return self._left or self._job.done.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether this visitor gave up, or all others did."""
        return self._left or isinstance(self._job.error, Cancelled)

    @property
    def error(self) -> str | None:
        """Why there is no pair, for a visitor to read; None while it is on its way or once it is there."""
        if self.cancelled:
            return "Loading was cancelled."
        if self._job.error is None:
            return None
        if isinstance(self._job.error, PairError):
            return str(self._job.error)
        return "The pair could not be loaded; the server's log says why."

    @property
    def held(self) -> Pair | None:
        """The pair if it is in memory now; None while it is on its way, and after it had to go."""
        return None if self._left else self._job.result()

    def pair(self, timeout: float | None = None) -> Pair:
        """The pair; waits for it.

        Args:
            timeout: most seconds to wait.

        Raises:
            PairError: it cannot run here; says why.
            Cancelled: this visitor gave up, or all did.
            TimeoutError: it is still on its way.
        """
        if self._left:
            raise Cancelled(self.progress.stage)
        if not self._job.done.wait(timeout):
            raise TimeoutError(f"still {self.progress.stage}")
        if self._job.error is not None:
            raise self._job.error
        # A page left open for long holds on to no weights: what had to go meanwhile is loaded again.
        return self._job.result() or begin(self._job.key.spec, *self._job.key.way).pair(timeout)

    def cancel(self) -> None:
        """Give up. Loading goes on while somebody else waits for it, and otherwise stops."""
        self._left = True
        self._job.leave(self)


class _Job:
    """One pair being loaded, for all who wait for it."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.meter, self.done = Meter(), threading.Event()
        self.result: Callable[[], Pair | None] = lambda: None
        self.error: Exception | None = None
        # Weak, so that visitors who closed their page do not keep it going against all others' will.
        self._waiting: weakref.WeakSet[Loading] = weakref.WeakSet()

    @classmethod
    def of(cls, key: Key, pair: Pair) -> "_Job":
        """A job that is done."""
        job = cls(key)
        job.finish(pair)
        return job

    def finish(self, pair: Pair) -> None:
        """The pair is there; the shelf and the runs keep it, the job does not."""
        self.meter.stage("ready")
        self.result = weakref.ref(pair)
        self.done.set()

    def join(self) -> Loading:
        """One more visitor waits."""
        loading = Loading(self)
        self._waiting.add(loading)
        return loading

    def leave(self, loading: Loading) -> None:
        """A visitor no longer waits; when nobody does, the work stops."""
        with _beginning:
            self._waiting.discard(loading)
            if not self._waiting:
                self.meter.cancel()

    def run(self) -> None:
        """Load the pair; meant for a thread of its own."""
        try:
            pair = make_pair(self.key.spec, self.key.way, self.meter, _shelf)
            self.meter.check()
            _shelf.put(self.key, pair)
            self.finish(pair)
        except (Cancelled, PairError) as error:
            self.error = error
        except Exception as error:
            _LOG.exception("loading a pair")
            self.error = error
        finally:
            self.done.set()
            with _beginning:
                if _jobs.get(self.key) is self:
                    del _jobs[self.key]


def begin(
    spec: PairSpec,
    device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
    compiled: bool = False,
) -> Loading:
    """Start loading a pair, or join those who wait for it; returns at once.

    Args:
        spec: which pair.
        device: where it runs; the default device if left out. ``cuda`` without a number spreads
            what is too large for one GPU over all of them.
        dtype: number format of its weights; the pair's own if left out, else the device's default.
        compiled: whether its passes are compiled, which takes about a minute more; see ``compiled``
            for what that brings, and ``compiled.cannot_compile`` for where it cannot be done.
    """
    key = Key(spec, _way(spec, device, dtype, compiled))
    with _beginning:
        if pair := _shelf.get(key):
            return _Job.of(key, pair).join()
        job = _jobs.get(key)
        if job is None or job.done.is_set() or job.meter.cancelled:
            job = _jobs[key] = _Job(key)
            threading.Thread(target=job.run, name=f"load {spec.key}", daemon=True).start()
        return job.join()


def load_pair(
    key: str,
    device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
    compiled: bool = False,
) -> Pair:
    """The pair of that key, ready to run; loaded by the first who asks, shared with all others.

    Args:
        key: a preset's key, or two models as ``registry.find_pair`` reads them.
        device, dtype, compiled: as in ``begin``.

    Raises:
        PairError: there is no such pair, a file is missing or unreadable, or the two models
            do not belong together.
    """
    return load_spec(find_pair(key), device, dtype, compiled)


def load_spec(
    spec: PairSpec,
    device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
    compiled: bool = False,
) -> Pair:
    """Like ``load_pair``, for a pair described by the caller."""
    loading = begin(spec, device, dtype, compiled)
    try:
        return loading.pair()
    except KeyboardInterrupt:
        loading.cancel()
        raise


def check_pair(
    spec: PairSpec,
    device: str | torch.device | None = None,
    meter: Meter | None = None,
    *,
    dtype: torch.dtype | None = None,
) -> Checklist:
    """The checklist of a pair as it would be loaded now; memory of idle pairs counts as free.

    Args:
        spec, device, dtype: as in ``begin``.
        meter: told of the little that is fetched; a cancelled meter ends the work.
    """
    way = _way(spec, device, dtype)
    return inspect(spec, way.device, meter, dtype=way.dtype, reclaimable=held_bytes(_shelf, way.device))


def loaded_pairs() -> list[Pair]:
    """The pairs that stay in memory, the one unused for longest first."""
    return _shelf.kept()


def _way(
    spec: PairSpec, device: str | torch.device | None, dtype: torch.dtype | None, compiled: bool = False
) -> Way:
    place = placed(device) if device is not None else default_device()
    own = getattr(torch, spec.dtype) if spec.dtype else None
    return Way(place, dtype or own or default_dtype(place), compiled)
