"""Settings name what is wrong with them, and a rule is known by its name alone."""

from dataclasses import replace

import numpy as np
import pytest

from specdec_core.decoding.rules import RULES
from specdec_core.decoding.settings import MOST_DRAFTED
from specdec_core.decoding.types import RoundSettings, RuleName, RunSettings, Sampling


def test_the_rules_are_called_what_screens_links_and_old_records_call_them():
    assert [str(rule) for rule in RuleName] == ["speculative sampling", "greedy", "exact match"]


def test_every_rule_name_has_its_rule_and_no_rule_lacks_a_name():
    assert list(RULES) == list(RuleName)
    assert all(RULES[name].name is name for name in RuleName)


@pytest.mark.parametrize("rule", RuleName)
def test_the_text_of_a_rule_will_do(rule):
    assert RunSettings((0,), str(rule)).rule is rule
    assert RunSettings((0,), str(rule)) == RunSettings((0,), rule)


@pytest.mark.parametrize("rule", ["typical", "Greedy", "", None, 1, ["greedy"]])
def test_an_unknown_rule_is_refused_with_the_rules_there_are(rule):
    with pytest.raises(ValueError, match="rule is .*speculative sampling, greedy or exact match"):
        RunSettings((0,), rule)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Sampling(top_k=2.5), "top_k is 2.5"),
        (lambda: RoundSettings(gamma=1.5), "gamma is 1.5"),
        (lambda: RoundSettings(gamma=MOST_DRAFTED + 1), "gamma is 65"),
        (lambda: RunSettings((1,), seed=1.5), "seed is 1.5"),
        (lambda: RunSettings((1,), branch="2"), "branch is 2"),
        (lambda: RunSettings((1,), max_new_tokens=8.0), "max_new_tokens is 8.0"),
    ],
)
def test_what_is_counted_must_be_whole(make, says):
    with pytest.raises(ValueError, match=f"{says}; it must be a whole number"):
        make()


def test_whole_numbers_of_numpy_will_do():
    assert RunSettings((1,), seed=np.uint64(2**64 - 1)).seed == 2**64 - 1
    assert RoundSettings(gamma=np.int64(3)).gamma == 3


def test_argmax_changes_the_temperature_alone():
    warm = Sampling(0.7, top_k=5, top_p=0.9, min_p=0.1, repetition_penalty=1.2)
    assert warm.argmax() == replace(warm, temperature=0.0)
    assert warm.argmax().greedy and not warm.greedy
