"""A pair that loads in a second, for tests of pages that run models."""

import pytest

from specdec_core.models.loading import load_spec
from tests.models.tiny import pair_spec


@pytest.fixture(scope="session")
def tiny_pair(tmp_path_factory):
    return load_spec(pair_spec(tmp_path_factory.mktemp("pair")))
