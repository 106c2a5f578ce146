"""A choice of draft as one short text, for links and for the page: ``suffix,factor=1.5``.

Free of torch: whether there is such a draft for a pair is known once the pair is loaded.
"""

import re
from collections.abc import Mapping

Value = int | float | str

_FORM = re.compile(r"[a-z0-9-]{1,40}(,[a-z_]{1,30}=[A-Za-z0-9.-]{1,20}){0,8}")


def written(kind: str, options: Mapping[str, Value]) -> str:
    """A draft as text; its options are those that differ from their defaults.

    >>> written("suffix", {"max_match": 12, "factor": 1.5})
    'suffix,factor=1.5,max_match=12'
    """
    return ",".join([kind, *(f"{key}={value}" for key, value in sorted(options.items()))])


def tidied(text: str) -> str | None:
    """The text in the form of ``written``, or None if it is of no such form. Nothing is no choice.

    >>> tidied("suffix,max_match=12,factor=1.5"), tidied(""), tidied("<b>")
    ('suffix,factor=1.5,max_match=12', '', None)
    """
    text = text.strip()
    if text and not _FORM.fullmatch(text):
        return None
    return written(*read(text)) if text else ""


def read(text: str) -> tuple[str, dict[str, Value]]:
    """Kind and options of a text of that form; numbers are read as numbers.

    >>> read("suffix,factor=1.5,max_match=12")
    ('suffix', {'factor': 1.5, 'max_match': 12})
    """
    kind, *parts = text.split(",")
    return kind, {key: _value(value) for key, _, value in (part.partition("=") for part in parts)}


def _value(text: str) -> Value:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
