"""The cost table has every size asked for and disturbs nobody."""

import threading

import pytest

from specdec_core.experiments.costs import measure_costs
from specdec_core.models.loading import load_spec
from tests.models.tiny import pair_spec


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return load_spec(pair_spec(tmp_path_factory.mktemp("pair")), "cpu")


def test_each_size_has_a_time(pair):
    table = measure_costs(pair, tokens=(5, 2), context=20, repeats=2)
    assert table.tokens == (1, 2, 5)
    assert min(table.target) > 0 and table.draft > 0
    assert (table.context, table.repeats) == (20, 2)


def test_a_pass_over_more_tokens_than_the_context_can_be_measured(pair):
    assert measure_costs(pair, tokens=(8,), context=4, repeats=1).tokens == (1, 8)


def test_the_context_shrinks_to_what_the_model_holds(pair):
    limit = pair.info.target.context_length
    assert measure_costs(pair, tokens=(9,), context=10 * limit, repeats=1).context < limit


def test_a_draft_that_holds_few_tokens_is_measured_within_them(tmp_path):
    short = load_spec(pair_spec(tmp_path, draft_context=16), "cpu")
    table = measure_costs(short, tokens=(5,), repeats=1)
    assert table.context <= 16 and table.draft > 0


def test_others_get_the_device_meanwhile(pair):
    options = {"tokens": (2,), "context": 8, "repeats": 30}
    thread = threading.Thread(target=measure_costs, args=(pair,), kwargs=options, daemon=True)
    thread.start()
    turns = 0
    while thread.is_alive():
        with pair.runner.turn(timeout=60):
            turns += 1
    thread.join(60)
    assert turns >= 10
