"""The bytes behind each token id of a tokenizer."""

import re
from typing import Any

BYTE_FALLBACK = re.compile(r"<0x([0-9A-Fa-f]{2})>")
"""How SentencePiece vocabularies write a token of one byte."""

WORD_START = "▁"
"""How SentencePiece vocabularies write a space."""


def token_pieces(tokenizer: Any, vocab_size: int) -> list[bytes]:
    """The bytes of every id below ``vocab_size``.

    Byte-level vocabularies (GPT-2 and its heirs) spell each byte as one printable
    character, so their pieces are exact. Of others, word-start marks and byte-fallback
    tokens are translated. Special tokens stand for their own name. An id that the
    tokenizer does not know, such as padding of the embedding, is named.

    Args:
        tokenizer: a transformers tokenizer.
        vocab_size: V, number of ids of the model.
    """
    to_bytes = _byte_level_piece if _is_byte_level(tokenizer) else _other_piece
    pieces = [f"<id {id_}>".encode() for id_ in range(vocab_size)]
    for token, id_ in tokenizer.get_vocab().items():
        if id_ < vocab_size:
            pieces[id_] = to_bytes(token)
    for id_, token in tokenizer.added_tokens_decoder.items():
        if id_ < vocab_size:
            pieces[id_] = _utf8(str(token))
    return pieces


def byte_table() -> dict[str, int]:
    """GPT-2's printable character for each of the 256 bytes, inverted (``bytes_to_unicode``).

    Printable Latin-1 characters stand for themselves, the other 68 bytes for U+0100 and up.

    >>> table = byte_table()
    >>> table["a"], table["Ġ"], table["Ċ"], len(table)
    (97, 32, 10, 256)
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


_BYTES = byte_table()


def _is_byte_level(tokenizer: Any) -> bool:
    """Whether all tokens but the special ones are spelt in GPT-2's byte alphabet."""
    special = {str(token) for token in tokenizer.added_tokens_decoder.values()}
    tokens = [token for token in tokenizer.get_vocab() if token not in special]
    spelt = all(character in _BYTES for token in tokens for character in token)
    return spelt and any("Ġ" in token for token in tokens)


def _byte_level_piece(token: str) -> bytes:
    # A special token is spelt in plain text and replaced afterwards, hence the default.
    return bytes(_BYTES.get(character, 0) for character in token)


def _other_piece(token: str) -> bytes:
    if match := BYTE_FALLBACK.fullmatch(token):
        return bytes([int(match[1], 16)])
    return _utf8(token.replace(WORD_START, " "))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", errors="replace")
