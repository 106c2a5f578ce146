"""A pair is loaded in the background; one that does not ship with the app only when a visitor asks."""

import gc
import threading

import pytest

from specdec_core.models.errors import PairError
from specdec_core.models.progress import Progress
from specdec_core.ui import loading
from specdec_core.ui.loading import PairUnavailable, Request
from specdec_core.ui.waiting import Waiting

SHIPS, HUGE = Request("embedded"), Request("qwen3-8b")


class _Models:
    """Stands for ``models.loading``: refuses as often as it is told to, and is slow while it is told to."""

    def __init__(self, refusals):
        self.refusals, self.asked, self.cancelled = list(refusals), 0, 0
        self.slow, self.gone = threading.Event(), threading.Event()

    def begin(self, spec, device, dtype, compiled):
        self.asked += 1
        self.gone.clear()
        return _Begun(self, self.refusals.pop(0) if self.refusals else None)


class _Begun:
    """Stands for ``models.loading.Loading``."""

    progress = Progress("downloading", 50, 200, 3.0)

    def __init__(self, models, refusal):
        self._models, self._refusal = models, refusal

    @property
    def done(self):
        return not self._models.slow.is_set()

    @property
    def held(self):
        return None if self._refusal or not self.done or self._models.gone.is_set() else "the pair"

    def pair(self):
        if self._refusal:
            raise self._refusal
        return "the pair"

    def cancel(self):
        self._models.cancelled += 1


@pytest.fixture
def serve(monkeypatch):
    """Has pairs loaded by a stand-in that raises these errors first."""

    def serve_(*refusals):
        models = _Models(refusals)
        monkeypatch.setattr(loading, "imported", lambda: models)
        monkeypatch.setattr(loading, "_spare_the_collector", lambda: None)
        return models

    return serve_


def test_a_pair_that_ships_is_loaded_by_itself_and_once(serve):
    models, waiting = serve(), Waiting()
    waiting.begin(SHIPS)
    assert [waiting.pair(SHIPS), waiting.pair(SHIPS)] == ["the pair", "the pair"]
    assert models.asked == 1 and waiting.loading(SHIPS).held == "the pair"


def test_a_refusal_is_kept_and_tried_again_only_when_asked_for(serve):
    waiting = Waiting()
    serve(PairError("A file is missing."))
    waiting.begin(SHIPS)
    waiting.loading(SHIPS)._work.wait()
    waiting.begin(SHIPS)
    assert waiting.loading(SHIPS).trouble == "A file is missing."
    assert waiting.pair(SHIPS) == "the pair" and not waiting.loading(SHIPS).trouble


def test_an_unforeseen_error_shows_no_details(serve):
    serve(KeyError("secret"))
    with pytest.raises(PairUnavailable, match="server's log"):
        Waiting().pair(SHIPS)


def test_a_pair_that_does_not_ship_is_loaded_only_when_somebody_asks(serve):
    models, waiting = serve(PairError("The hub is silent.")), Waiting()
    waiting.loading(HUGE).begin()
    with pytest.raises(PairUnavailable, match="loaded when you ask for it"):
        waiting.pair(HUGE)
    assert waiting.loading(HUGE).to_be_asked and models.asked == 0
    waiting.ask(HUGE)
    waiting.loading(HUGE)._work.wait()
    with pytest.raises(PairUnavailable, match="hub is silent"):
        waiting.pair(HUGE)
    assert models.asked == 1
    waiting.ask(HUGE)
    waiting.loading(HUGE)._work.wait()
    assert waiting.pair(HUGE) == "the pair" and models.asked == 2


def test_what_is_on_its_way_shows_its_progress_and_can_be_given_up(serve):
    models, waiting = serve(), Waiting()
    models.slow.set()
    waiting.ask(HUGE)
    going = waiting.loading(HUGE)
    assert going.on_its_way and waiting.busy(SHIPS) and waiting.elsewhere(SHIPS) == [going]
    with pytest.raises(PairUnavailable, match="still being loaded"):
        waiting.pair(HUGE)
    while going.progress.bytes_done == 0:
        pass
    assert going.progress.fraction == 0.25
    going.cancel()
    going._work.wait()
    assert going.to_be_asked and not going.on_its_way and models.cancelled
    assert going.ending.startswith("Loading was cancelled")
    models.slow.clear()
    waiting.ask(HUGE)
    waiting.loading(HUGE)._work.wait()
    assert waiting.pair(HUGE) == "the pair" and not waiting.loading(HUGE).ending


def test_a_pair_that_made_room_for_others_is_asked_for_again_unless_it_ships(serve):
    models, waiting = serve(), Waiting()
    waiting.ask(HUGE)
    waiting.loading(HUGE)._work.wait()
    models.gone.set()
    assert waiting.loading(HUGE).to_be_asked and waiting.loading(HUGE).held is None
    assert "made room for another" in waiting.loading(HUGE).ending
    with pytest.raises(PairUnavailable, match="loaded when you ask for it"):
        waiting.pair(HUGE)
    assert waiting.pair(SHIPS) == "the pair" and models.asked == 2
    models.gone.set()
    assert waiting.pair(SHIPS) == "the pair" and models.asked == 3


def test_what_is_loaded_differs_by_device_and_number_format(serve):
    models, waiting = serve(), Waiting()
    for request in (SHIPS, SHIPS._replace(dtype="bfloat16"), SHIPS):
        waiting.pair(request)
    assert models.asked == 2
    assert waiting.loading(SHIPS._replace(compiled=True)).to_be_asked, "compiling takes minutes"


def test_what_nobody_waits_for_any_more_is_given_up(serve):
    models, waiting = serve(), Waiting()
    models.slow.set()
    waiting.ask(HUGE)
    work = waiting.loading(HUGE)._work
    del waiting
    gc.collect()
    assert work.wait(20) and models.cancelled


def test_a_pair_that_a_link_has_put_together_is_not_even_looked_at(serve):
    serve()
    waiting, own = Waiting(), Request("hub:a/b<-hub:a/c")
    waiting.begin(own)
    assert waiting.loading(own).to_be_asked and not waiting.checks and not waiting.busy(own)


def test_a_visitor_who_tries_many_pairs_keeps_few(serve):
    serve()
    waiting = Waiting()
    for number in range(30):
        waiting.loading(Request(f"hub:a/b{number}"))
    assert len(waiting.loadings) <= 9
