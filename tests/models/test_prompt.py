"""A prompt is checked before any model sees it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_core.models.prompt import PromptError, clean, encode_prompt

from .tiny import tokenizer

BPE = tokenizer()


def test_an_empty_prompt_is_refused_kindly():
    with pytest.raises(PromptError, match="Type at least one character"):
        encode_prompt(BPE, "", 100)


def test_a_blank_is_a_prompt():
    assert len(encode_prompt(BPE, " ", 100)) == 1


def test_a_prompt_may_just_fill_the_limit():
    count = len(encode_prompt(BPE, "Once upon a time", 100))
    assert len(encode_prompt(BPE, "Once upon a time", count)) == count
    with pytest.raises(PromptError, match=f"has {count} tokens; this pair reads at most {count - 1}"):
        encode_prompt(BPE, "Once upon a time", count - 1)


def test_a_text_far_too_long_is_refused_unread():
    with pytest.raises(PromptError, match="1,000,000 characters"):
        encode_prompt(None, "a" * 1_000_000, 100)


def test_lone_surrogates_are_replaced_and_pairs_joined():
    assert clean("a\ud800b\udc00") == "a\ufffdb\ufffd"
    assert clean("\ud83d\ude00") == "😀"
    assert encode_prompt(BPE, "\ud800", 100) == encode_prompt(BPE, "\ufffd", 100)


@given(st.text(st.characters(), max_size=30))
def test_a_cleaned_text_can_always_be_encoded(text):
    clean(text).encode("utf-8")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_a_good_text_is_not_changed(text):
    assert clean(text) == text
