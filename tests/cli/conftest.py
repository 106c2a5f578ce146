"""A tiny random pair under the name "tiny", for commands run in this process."""

import pytest

from specdec_core.models import registry
from tests.models.tiny import pair_spec


@pytest.fixture(scope="session")
def tiny_spec(tmp_path_factory):
    return pair_spec(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(autouse=True)
def tiny_pair(monkeypatch, tiny_spec):
    monkeypatch.setitem(registry.PAIRS, "tiny", tiny_spec)
