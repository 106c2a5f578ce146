"""What one visitor is waiting for: checklists, pairs on their way, drafts that are being prepared."""

import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from specdec_core.models.progress import Progress
from specdec_core.models.registry import PAIRS
from specdec_core.ui.checking import Check
from specdec_core.ui.loading import Loading, Request, torch_is_there
from specdec_core.ui.preparing import Preparing

if TYPE_CHECKING:
    from specdec_core.experiments.drafts import DraftKind
    from specdec_core.models.pair import Pair

K, T = TypeVar("K", bound=Hashable), TypeVar("T")

KEPT = 8
"""Checklists and loadings that a visitor may come back to."""


@dataclass
class Waiting:
    """All that one visitor has begun.

    Attributes:
        loadings: pairs that were begun, by what was wanted.
        checks: checklists, likewise.
        drafts: copies of a target that are being made, by what was wanted and the kind of draft.
    """

    loadings: dict[Request, Loading] = field(default_factory=dict)
    checks: dict[Request, Check] = field(default_factory=dict)
    drafts: dict[tuple[Request, str], Preparing] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # A visitor who has gone waits for nothing; what others wait for goes on.
        weakref.finalize(self, _give_up, self.loadings, self.checks, self.drafts).atexit = False

    def loading(self, request: Request) -> Loading:
        """The loading of a pair; begun by itself only if the pair ships with the app."""
        if request not in self.loadings:
            _keep(self.loadings, request, Loading(request), lambda old: old.on_its_way)
        return self.loadings[request]

    def begin(self, request: Request) -> None:
        """Do what may be done without being asked: load a pair that ships, look at another preset.

        A link may name any two models, so those are not even looked at before the visitor asks.
        """
        self.loading(request).begin()
        if self.loading(request).to_be_asked and request.pair in PAIRS and request not in self.checks:
            self.check(request)

    def check(self, request: Request) -> None:
        """Look at a pair, anew if there is a checklist already."""
        if old := self.checks.pop(request, None):
            old.cancel()
        _keep(self.checks, request, Check(request), lambda old: False)

    def refused(self, request: Request) -> bool:
        """Whether its checklist says that the pair cannot run here."""
        check = self.checks.get(request)
        return bool(check and check.refused)

    def ask(self, request: Request) -> None:
        """Load a pair because the visitor has asked for it."""
        if self.loading(request).over:
            del self.loadings[request]
        self.loading(request).ask()

    def pair(self, request: Request) -> "Pair":
        """The pair; one that ships and has failed to load is tried again.

        Raises:
            PairUnavailable: it could not be loaded, is not there yet, or has to be asked for first.
        """
        if request.by_itself and self.loading(request).over:
            del self.loadings[request]
        return self.loading(request).pair()

    def prepare(self, request: Request, kind: "DraftKind", pair: "Pair") -> None:
        """Make what a kind of draft needs beside its pair."""
        _keep(self.drafts, (request, kind.key), Preparing(kind, pair), lambda old: not old.done)

    def elsewhere(self, request: Request) -> list[Loading]:
        """Pairs on their way other than the one that is wanted now."""
        return [each for key, each in self.loadings.items() if key != request and each.on_its_way]

    def busy(self, request: Request) -> bool:
        """Whether anything that the visitor can see is on its way."""
        check = self.checks.get(request)
        return (
            self.loading(request).on_its_way
            or bool(check and not check.done)
            or bool(self.elsewhere(request))
            or any(not work.done for work in self.drafts.values())
        )

    def news(self, request: Request) -> Hashable:
        """What the side panel shows of all this, to tell whether it has to be drawn anew."""
        check, loading = self.checks.get(request), self.loading(request)
        moving = loading.progress if loading.on_its_way else None
        return (
            loading.held is not None,
            loading.trouble,
            moving and _moved(moving),
            check and (check.done or check.progress.stage),
            len(self.elsewhere(request)),
            tuple(work.done or _moved(work.progress) for work in self.drafts.values()),
            torch_is_there(),
        )


def _moved(now: Progress) -> Hashable:
    return now.stage, now.bytes_done, round(now.seconds)


def _keep(kept: dict[K, T], key: K, item: T, busy: Callable[[T], bool]) -> None:
    """Add an item; the oldest that is not busy goes if there are too many."""
    kept[key] = item
    idle = [each for each, old in kept.items() if each != key and not busy(old)]
    for each in idle[: max(0, len(kept) - KEPT)]:
        del kept[each]


def _give_up(
    loadings: dict[Request, Loading],
    checks: dict[Request, Check],
    drafts: dict[tuple[Request, str], Preparing],
) -> None:
    for work in (*loadings.values(), *checks.values(), *drafts.values()):
        work.cancel()
