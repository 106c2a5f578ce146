"""Any text survives the tokenizer, and nothing is added to it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core.training.tokenizer import (
    END_ID,
    END_OF_TEXT,
    encode_stories,
    load_tokenizer,
    save_tokenizer,
    train_tokenizer,
)

STORIES = ["Once upon a time there was a king who had three daughters.\nHe said so."] * 5


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(train_tokenizer(STORIES, vocabulary=300), folder)
    return load_tokenizer(folder)


@settings(max_examples=80, deadline=None)
@given(text=st.text().filter(lambda text: END_OF_TEXT not in text))
def test_any_unicode_text_survives_the_round_trip(tokenizer, text):
    text = text.encode("utf-8", "ignore").decode("utf-8")
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_token_zero_ends_a_text_and_no_token_stands_in_front(tokenizer):
    assert tokenizer.eos_token_id == END_ID == tokenizer.convert_tokens_to_ids(END_OF_TEXT)
    assert tokenizer.bos_token is None
    assert tokenizer("king")["input_ids"] == tokenizer.convert_tokens_to_ids(tokenizer.tokenize("king"))


def test_the_stream_has_an_end_token_after_each_story(tokenizer):
    stream = encode_stories(tokenizer, ["a king", "a hen"])
    ends = np.flatnonzero(stream == END_ID)
    assert len(ends) == 2 and ends[-1] == len(stream) - 1
    assert tokenizer.decode(stream[: ends[0]]) == "a king"
