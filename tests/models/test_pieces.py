"""Every token id has the bytes that it stands for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from specdec_core.models.pieces import byte_table, token_pieces

from .tiny import tokenizer

BPE = tokenizer()
PIECES = token_pieces(BPE, len(BPE))


@pytest.fixture(scope="module")
def sentencepiece():
    """A vocabulary in the way of SentencePiece: word starts marked, single bytes spelt out."""
    vocabulary = {"<s>": 0, "▁Hello": 1, "▁": 2, "world": 3, "<0xF0>": 4, "<0x0A>": 5, "日本": 6}
    bpe = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<s>", byte_fallback=True))
    return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<s>")


def test_the_byte_table_covers_each_byte_once():
    assert sorted(byte_table().values()) == list(range(256))


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_the_pieces_of_any_text_join_to_its_utf8(text):
    ids = BPE(text, split_special_tokens=True)["input_ids"]
    assert b"".join(PIECES[id_] for id_ in ids) == text.encode()


def test_a_special_token_stands_for_its_name():
    assert PIECES[BPE.eos_token_id] == b"<|endoftext|>"


def test_an_added_token_with_a_space_is_spelt_as_it_is():
    extended = tokenizer()
    extended.add_tokens(["two words"], special_tokens=True)
    pieces = token_pieces(extended, len(extended))
    assert pieces[-1] == b"two words"
    assert pieces[:-1] == PIECES


def test_ids_beyond_the_tokenizer_are_named():
    pieces = token_pieces(BPE, len(BPE) + 2)
    assert pieces[-1] == f"<id {len(BPE) + 1}>".encode()
    assert len(pieces) == len(BPE) + 2


def test_other_vocabularies_keep_spaces_and_bytes(sentencepiece):
    pieces = token_pieces(sentencepiece, 7)
    assert pieces == [b"<s>", b" Hello", b" ", b"world", b"\xf0", b"\n", "日本".encode()]
