"""A run ends with the token that completes a stop string, wherever token and round boundaries lie."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_core.decoding.types import EndReason, RoundSettings
from specdec_core.text.stopping import stop_at
from tests.decoding.toys import scripted, toy_decoder

PIECES = [b"a", b"b", b"ab", b"ba", b"\n", b"\n\n", "é".encode()[:1], "é".encode()[1:]]
IDS = st.lists(st.integers(0, len(PIECES) - 1), max_size=30)
STRINGS = st.lists(st.text("ab\né", min_size=1, max_size=4), min_size=1, max_size=3)


@given(IDS, STRINGS)
def test_the_first_completed_text_decides_and_no_token_after_it_counts(ids, strings):
    met = stop_at(strings, PIECES.__getitem__)(ids)
    texts = [b"".join(PIECES[id_] for id_ in ids[:count]) for count in range(len(ids) + 1)]
    first = next((n for n, text in enumerate(texts) if any(s.encode() in text for s in strings)), None)
    assert met == (None if first is None else (first, EndReason.STOP_STRING))


def test_no_texts_are_no_condition_and_an_empty_one_is_refused():
    assert stop_at([], PIECES.__getitem__) is None
    with pytest.raises(ValueError, match="empty"):
        stop_at(["a", ""], PIECES.__getitem__)


@pytest.mark.parametrize("strings", [["\n\n"], ["aba"], ["bb", "b\n"]])
def test_what_is_written_does_not_depend_on_the_draft_length(strings):
    # B31, B32: the text may be complete early in a large kept block, across blocks, or in the target's token.
    script = [0, 1, 4, 0, 2, 0, 1, 1, 4, 4, 0, 5, 3, 2, 0]
    texts = []
    for gamma in range(8):
        stop = stop_at(strings, PIECES.__getitem__)
        decoder = toy_decoder(scripted(script, 8), scripted(script, 8), 8, stop=stop, max_new_tokens=14)
        list(decoder.rounds(RoundSettings(gamma)))
        texts.append((tuple(decoder.emitted), decoder.end))
    assert len(set(texts)) == 1 and texts[0][1] is EndReason.STOP_STRING
