"""Tokens made visible: a label for one token, and running text in whole characters.

A token is a string of bytes and may hold half a character, a control character that would
turn the page around, or nothing visible at all. Both functions return text that is safe to
set as the text of an element: no control characters, no surrogates.
"""

import codecs
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

VISIBLE = {" ": "·", "\n": "⏎", "\r": "␍", "\t": "⇥"}
"""Signs for whitespace in a label."""

EMPTY = "∅"
"""Label of a token without bytes."""

BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that count as letters or marks but show nothing."""

JOINERS = frozenset("\u200c\u200d")
"""Invisible, but they make one sign out of several; running text keeps them."""


@lru_cache(maxsize=65_536)
def label(piece: bytes) -> str:
    """One token as a person should see it alone: whitespace, bytes and hidden characters named.

    >>> label(b" king"), label(b"\\n"), label(b"\\xf0")
    ('·king', '⏎', '<F0>')
    >>> label("\\u202eevil".encode())
    '<U+202E>evil'
    """
    # Bytes that are no UTF-8 come out as lone surrogates U+DC80 to U+DCFF, which tells them apart.
    text = piece.decode("utf-8", errors="surrogateescape")
    if text and unicodedata.combining(text[0]):
        text = "◌" + text
    return "".join(map(_sign, text)) or EMPTY


def running_text(pieces: Sequence[bytes]) -> list[str]:
    """The text that tokens make together, one string for each token.

    A character spread over several tokens belongs to the last of them; the others get "".
    Bytes that never become a character turn into U+FFFD. Line breaks and tabs stay, other
    control characters and those that change the direction of text are named.

    >>> running_text([b"a \\xf0\\x9f", b"\\x98\\x80", b"!"])
    ['a ', '😀', '!']
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    return ["".join(map(_in_running_text, decoder.decode(piece))) for piece in pieces]


def _sign(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"<{code - 0xDC00:02X}>"
    return VISIBLE.get(character) or (f"<U+{code:04X}>" if _hidden(character) else character)


def _in_running_text(character: str) -> str:
    if character in "\n\t" or character in JOINERS or unicodedata.category(character) not in _UNSAFE:
        return character
    return f"<U+{ord(character):04X}>"


def _hidden(character: str) -> bool:
    """Whether a character shows nothing of itself: control, format, odd space, unassigned."""
    if character == " ":
        return False
    return unicodedata.category(character) in _HIDDEN or character in BLANK


_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_HIDDEN = _UNSAFE | {"Co", "Cn", "Zs"}
