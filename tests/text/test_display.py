"""Tokens become text that shows everything and can harm nothing."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_core.text.display import label, running_text

HOSTILE = [*"\u202a\u202e\u2066\u2069\u200e\u200b\ufeff\x00\x1b\x7f\x85\u2028"]
FORBIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("piece", "shown"),
    [
        (b" king", "·king"),
        (b"king", "king"),
        (b"\n\n", "⏎⏎"),
        (b"\r\n", "␍⏎"),
        (b"\t", "⇥"),
        (b"\xf0", "<F0>"),
        (b"\x9f\x98", "<9F><98>"),
        (b" \xe6\x97", "·<E6><97>"),
        ("日本".encode(), "日本"),
        ("\u00a0".encode(), "<U+00A0>"),
        ("\u3164".encode(), "<U+3164>"),
        ("\u0301".encode(), "◌\u0301"),
        ("👩\u200d🚀".encode(), "👩<U+200D>🚀"),
        (b"<img src=x>", "<img·src=x>"),
        (b"", "∅"),
    ],
)
def test_labels_show_everything(piece, shown):
    assert label(piece) == shown


@pytest.mark.parametrize("character", HOSTILE)
def test_hidden_characters_are_named(character):
    name = f"<U+{ord(character):04X}>"
    assert label(character.encode()) == name
    assert running_text([character.encode()]) == [name]


@given(st.binary(max_size=12))
def test_a_label_has_no_hidden_character_and_is_never_empty(piece):
    shown = label(piece)
    assert shown
    assert not any(unicodedata.category(c) in FORBIDDEN | {"Zs"} for c in shown)


@given(st.lists(st.binary(max_size=5), max_size=12))
def test_running_text_has_one_safe_string_for_each_token(pieces):
    shown = running_text(pieces)
    assert len(shown) == len(pieces)
    for text in shown:
        text.encode("utf-8")
        assert not any(unicodedata.category(c) in FORBIDDEN for c in text if c not in "\n\t\u200c\u200d")


@given(st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=20), st.data())
def test_running_text_joins_to_the_text_however_it_is_cut(text, data):
    whole, pieces = text.encode(), []
    while whole:
        size = data.draw(st.integers(1, 4))
        pieces.append(whole[:size])
        whole = whole[size:]
    assert "".join(running_text(pieces)) == text


def test_a_character_belongs_to_its_last_token():
    assert running_text([b"a\xf0", b"\x9f", b"\x98\x80!"]) == ["a", "", "😀!"]


def test_bytes_that_never_become_a_character_are_replaced():
    assert running_text([b"\xf0", b"a"]) == ["", "\ufffda"]
    assert running_text([b"\xff"]) == ["\ufffd"]


def test_line_breaks_and_joined_emoji_stay_in_running_text():
    assert running_text([b"a\n\tb", "👩\u200d🚀".encode()]) == ["a\n\tb", "👩\u200d🚀"]
