"""Values from a browser are never trusted: whatever is typed, settings are valid and changes said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_core.decoding.settings import RuleName
from specdec_core.ui.settings import (
    DEFAULT,
    MAX_GAMMA,
    MAX_SEED,
    NAMES,
    PROMPT_LIMIT,
    cleaned,
    over_limit,
    understood,
)

PAIRS = ("embedded", "embedded-weak")

anything = st.one_of(st.text(), st.floats(), st.integers(), st.none(), st.lists(st.integers(), max_size=2))
names = st.sampled_from([*NAMES, "no such setting"])


@given(st.dictionaries(names, anything))
def test_any_values_become_settings_that_a_round_accepts(raw):
    settings = cleaned(raw, PAIRS)
    assert settings.pair in PAIRS and settings.rule in tuple(RuleName)
    assert isinstance(settings.prompt, str)
    assert 0 <= settings.round.gamma <= MAX_GAMMA
    assert 0 <= settings.seed <= MAX_SEED and isinstance(settings.seed, int)
    assert 1 <= settings.max_tokens <= 512 and isinstance(settings.max_tokens, int)


@given(st.sampled_from(NAMES), anything)
def test_what_is_used_instead_of_a_value_is_said_and_what_is_used_as_it_is_is_not(name, value):
    used, remark = understood(name, value, PAIRS)
    assert understood(name, used, PAIRS) == (used, "")
    same = used == value or str(used) == str(value).strip()
    assert not remark or not same
    assert remark == "" or remark.endswith("used.") or name == "prompt"


@pytest.mark.parametrize(
    ("typed", "used", "words"),
    [
        ("-1", 0, "less than the least, 0"),
        ("99999999999999999999", MAX_SEED, "more than the most, 18446744073709551615"),
        (str(MAX_SEED - 2), MAX_SEED - 2, ""),
        ("1e12", 10**12, ""),
        ("1.5", 2, "not a whole number"),
        ("abc", DEFAULT.seed, "not a number"),
        ("", DEFAULT.seed, "not a number"),
        (" 7 ", 7, ""),
    ],
)
def test_a_seed_that_is_none_is_answered_with_the_one_that_is_used(typed, used, words):
    value, remark = understood("seed", typed, PAIRS)
    assert value == used and words in remark
    assert bool(remark) == bool(words)


def test_a_prompt_is_never_cut_but_its_length_and_the_limit_are_said():
    prompt = "x" * (PROMPT_LIMIT + 1)
    assert cleaned({"prompt": prompt}, PAIRS).prompt == prompt
    assert f"{PROMPT_LIMIT + 1:,}" in over_limit(prompt) and f"{PROMPT_LIMIT:,}" in over_limit(prompt)
    assert over_limit(prompt[1:]) == ""
