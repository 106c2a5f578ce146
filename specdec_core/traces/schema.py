"""Forms: what a value looks like in JSON, written down once for writing and for strict reading.

A form turns a value into what ``json`` can write, and what ``json`` has read back into the value. The
text may come from anyone: reading takes nothing for granted, and whatever is not as it should be raises
``TraceError`` with the path of the field and what is wrong with it. Forms of columns of numbers are in
``columns``.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NoReturn, Protocol


class TraceError(ValueError):
    """A trace cannot be read or written; the message says where and why, in words for its owner."""


class Form(Protocol):
    """How one value is written and read."""

    def write(self, value: Any) -> Any: ...

    def read(self, value: Any, path: str) -> Any: ...


def fail(path: str, problem: str) -> NoReturn:
    """Raise ``TraceError`` for the field at ``path``, "" for the whole trace."""
    raise TraceError(f"{path or 'the trace'} {problem}")


def shown(value: Any) -> str:
    """A found value in a few characters, for a message.

    >>> shown("maybe"), shown([1, 2]), shown(None), shown(10**60)
    ("'maybe'", 'a list', 'null', '1000000000000000000000000000000000000...')
    """
    kinds = {list: "a list", dict: "an object", type(None): "null", bool: "true" if value else "false"}
    text = kinds.get(type(value)) or ascii(value)
    return text if len(text) <= 40 else text[:37] + "..."


@dataclass(frozen=True)
class Integer:
    """A whole number from ``low`` to ``high``."""

    low: int = 0
    high: int = 2**31 - 1

    def write(self, value: int) -> int:
        return int(value)

    def read(self, value: Any, path: str) -> int:
        if type(value) is not int or not self.low <= value <= self.high:
            fail(path, f"must be a whole number from {self.low} to {self.high}, not {shown(value)}")
        return value


@dataclass(frozen=True)
class Key:
    """A whole number of up to 64 bits, written as decimal text: JavaScript would lose its last bits."""

    def write(self, value: int) -> str:
        return str(value)

    def read(self, value: Any, path: str) -> int:
        if type(value) is not str or not re.fullmatch(r"0|[1-9][0-9]{0,19}", value) or int(value) >= 2**64:
            fail(path, f"must be a whole number from 0 to 2^64 - 1 as text, not {shown(value)}")
        return int(value)


@dataclass(frozen=True)
class Number:
    """A finite number from ``low`` to ``high``, read as a float."""

    low: float = 0.0
    high: float = 1e18

    def write(self, value: float) -> float:
        return float(value)

    def read(self, value: Any, path: str) -> float:
        # Compared before it is converted, since a huge whole number does not fit a float.
        if type(value) not in (int, float) or not self.low <= value <= self.high:
            fail(path, f"must be a number from {self.low:g} to {self.high:g}, not {shown(value)}")
        return float(value)


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def write(self, value: bool) -> bool:
        return bool(value)

    def read(self, value: Any, path: str) -> bool:
        if type(value) is not bool:
            fail(path, f"must be true or false, not {shown(value)}")
        return value


@dataclass(frozen=True)
class Text:
    """Text of at most ``most`` characters that has a UTF-8 form."""

    most: int = 200

    def write(self, value: str) -> str:
        # A subclass of str, such as torch's version, is written as what it says.
        return self.read(str(value) if isinstance(value, str) else value, f"the text {shown(value)}")

    def read(self, value: Any, path: str) -> str:
        if type(value) is not str:
            fail(path, f"must be text, not {shown(value)}")
        if len(value) > self.most:
            fail(path, f"has {len(value)} characters; at most {self.most} are read")
        if not _has_utf8(value):
            fail(path, "holds half of a surrogate pair, which is no character")
        return value


@dataclass(frozen=True)
class Choice:
    """One of the values of an enumeration or of a list of words, written as its text."""

    values: type[Enum] | tuple[str, ...]

    def write(self, value: Any) -> str:
        return str(value.value) if isinstance(value, Enum) else value

    def read(self, value: Any, path: str) -> Any:
        allowed = {self.write(each): each for each in self.values}
        if type(value) is not str or value not in allowed:
            fail(path, f"must be one of {', '.join(allowed)}, not {shown(value)}")
        return allowed[value]


@dataclass(frozen=True)
class Maybe:
    """A value or null."""

    form: Form

    def write(self, value: Any) -> Any:
        return None if value is None else self.form.write(value)

    def read(self, value: Any, path: str) -> Any:
        return None if value is None else self.form.read(value, path)


@dataclass(frozen=True)
class Items:
    """A list of at most ``most`` values of one form, read into ``make``; sets are written sorted."""

    form: Form
    most: int
    make: Callable[[Iterable[Any]], Any] = tuple

    def write(self, value: Iterable[Any]) -> list[Any]:
        return [self.form.write(each) for each in (sorted(value) if isinstance(value, frozenset) else value)]

    def read(self, value: Any, path: str) -> Any:
        items = as_list(value, path)
        if len(items) > self.most:
            fail(path, f"has {len(items)} entries; at most {self.most} are read")
        return self.make([self.form.read(each, f"{path}[{place}]") for place, each in enumerate(items)])


@dataclass(frozen=True)
class Record:
    """An object with exactly these fields, read into ``make``."""

    make: Callable[..., Any]
    fields: Mapping[str, Form]

    def write(self, value: Any) -> dict[str, Any]:
        return {name: form.write(getattr(value, name)) for name, form in self.fields.items()}

    def read(self, value: Any, path: str) -> Any:
        found = as_object(value, path)
        if missing := [name for name in self.fields if name not in found]:
            fail(path, f"lacks the field {missing[0]}")
        if unknown := [name for name in found if name not in self.fields]:
            fail(path, f"has a field {shown(unknown[0])}, which this version does not know")
        prefix = f"{path}." if path else ""
        values = {name: form.read(found[name], prefix + name) for name, form in self.fields.items()}
        try:
            return self.make(**values)
        except ValueError as error:
            fail(path, f"is not valid: {error}")


@dataclass(frozen=True)
class Pieces:
    """Bytes by token id: an object from the id to text, or to ``{"hex": ...}`` where they are no UTF-8."""

    most: int
    longest: int

    def write(self, value: Mapping[int, bytes]) -> dict[str, Any]:
        return {str(id_): _write_piece(value[id_]) for id_ in sorted(value)}

    def read(self, value: Any, path: str) -> dict[int, bytes]:
        found = as_object(value, path)
        if len(found) > self.most:
            fail(path, f"has {len(found)} entries; at most {self.most} are read")
        return {self._id(key, path): self._piece(each, f"{path}.{key}") for key, each in found.items()}

    def _id(self, key: str, path: str) -> int:
        if not re.fullmatch(r"0|[1-9][0-9]{0,9}", key):
            fail(path, f"must be keyed by token ids, not {shown(key)}")
        return int(key)

    def _piece(self, value: Any, path: str) -> bytes:
        if type(value) is str:
            return Text(self.longest).read(value, path).encode()
        digits = as_object(value, path).get("hex")
        if len(value) != 1 or type(digits) is not str or not re.fullmatch(r"([0-9a-f]{2})+", digits):
            fail(path, 'must be text or {"hex": "..."} with two digits from 0 to f for each byte')
        return bytes.fromhex(digits[: 2 * self.longest])


def as_list(value: Any, path: str) -> list[Any]:
    if type(value) is not list:
        fail(path, f"must be a list, not {shown(value)}")
    return value


def as_object(value: Any, path: str) -> dict[str, Any]:
    if type(value) is not dict:
        fail(path, f"must be an object, not {shown(value)}")
    return value


def _write_piece(piece: bytes) -> Any:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return {"hex": piece.hex()}


def _has_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
