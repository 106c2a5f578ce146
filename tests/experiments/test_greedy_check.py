"""Every draft is held against plain greedy decoding; a fault would be seen, a tie is called one."""

from dataclasses import replace

import pytest

from specdec_core.cli.drafts import checked
from specdec_core.experiments import greedy_check
from specdec_core.experiments.drafts import DRAFTS
from specdec_core.experiments.greedy_check import GreedyCheck, check_greedy, check_prompt
from specdec_core.models.loading import load_spec
from tests.models.tiny import pair_spec


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return load_spec(pair_spec(tmp_path_factory.mktemp("pair"), context=512), "cpu")


def test_every_draft_to_be_had_is_checked_and_found_equal(pair):
    found = list(check_greedy(pair, check_prompt(pair), 30))
    assert [each.kind for each in found] == [key for key, kind in DRAFTS.items() if not kind.missing(pair)]
    assert all(each.passed and each.tokens == 30 for each in found)
    oracle = found[-1]
    assert oracle.accepted == oracle.tested > 0


def test_a_text_that_is_not_the_targets_own_is_found_out(pair, monkeypatch):
    def another(*given):
        for place, token in enumerate(plain(*given)):
            yield replace(token, id=token.id ^ 1) if place == 3 else token

    plain = greedy_check.decode_plain
    monkeypatch.setattr(greedy_check, "decode_plain", another)
    for each in check_greedy(pair, check_prompt(pair), 6):
        assert each.place == 3 and each.gap > greedy_check.TIE and not each.passed


def test_each_outcome_has_its_words():
    assert checked(GreedyCheck("model", 200, 90, 120)) == (
        "✓ model: equal to plain greedy over 200 tokens (90 of 120 tested drafts kept)"
    )
    assert checked(GreedyCheck("int8", 200, 1, 2, 16, 2e-5)).startswith("✓ int8: a tie at token 17, ")
    fault = GreedyCheck("int8", 200, 1, 2, 16, 0.5)
    assert not fault.passed
    assert checked(fault).startswith("✕ int8: differs at token 17, the target's best two are 0.5 apart")
