"""Settings name what is wrong with them, and a rule is known by its name alone."""

import pytest

from specdec_core.decoding.rules import RULES
from specdec_core.decoding.types import RuleName, RunSettings


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
