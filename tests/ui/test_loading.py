"""A pair that cannot be loaded stays explained until somebody asks for it again."""

import pytest

from specdec_core.models.errors import PairError
from specdec_core.ui import loading


class _Models:
    """Stands for ``models.loading``: refuses as often as it is told to."""

    def __init__(self, refusals):
        self.refusals, self.asked = list(refusals), 0

    def begin(self, spec):
        self.asked += 1
        return self

    def pair(self):
        if self.refusals:
            raise self.refusals.pop(0)
        return "the pair"


@pytest.fixture
def serve(monkeypatch):
    """Has pairs loaded by a stand-in that raises these errors first."""

    def serve_(*refusals):
        models = _Models(refusals)
        monkeypatch.setattr(loading, "_imported", lambda: models)
        monkeypatch.setattr(loading, "_spare_the_collector", lambda: None)
        return models

    loading.loading.clear()
    yield serve_
    loading.loading.clear()


def test_a_pair_is_loaded_once_for_all_who_ask(serve):
    models = serve()
    assert [loading.pair("embedded"), loading.pair("embedded")] == ["the pair", "the pair"]
    assert models.asked == 1 and loading.loading("embedded").done


def test_a_refusal_is_kept_and_tried_again_only_when_asked_for(serve):
    serve(PairError("A file is missing."))
    with pytest.raises(loading.PairUnavailable, match="A file is missing"):
        loading.pair("embedded")
    assert loading.loading("embedded").trouble == "A file is missing."
    assert loading.pair("embedded") == "the pair" and not loading.loading("embedded").trouble


def test_an_unforeseen_error_shows_no_details(serve):
    serve(KeyError("secret"))
    with pytest.raises(loading.PairUnavailable, match="server's log"):
        loading.pair("embedded")


def test_a_pair_that_does_not_ship_is_loaded_only_when_somebody_asks(serve):
    models = serve(PairError("The hub is silent."))
    waiting = loading.loading("qwen3-8b")
    waiting.begin()
    with pytest.raises(loading.PairUnavailable, match="press “Load this pair”"):
        loading.pair("qwen3-8b")
    assert waiting.done and waiting.to_be_asked and models.asked == 0
    loading.ask("qwen3-8b")
    with pytest.raises(loading.PairUnavailable, match="hub is silent"):
        waiting.pair()
    with pytest.raises(loading.PairUnavailable, match="hub is silent"):
        loading.pair("qwen3-8b")
    assert models.asked == 1
    loading.ask("qwen3-8b")
    assert loading.pair("qwen3-8b") == "the pair" and models.asked == 2
