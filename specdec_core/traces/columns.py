"""Forms of numpy columns: lists of numbers, ids, words or flags, one or two levels deep."""

from dataclasses import dataclass
from enum import IntEnum
from itertools import chain
from typing import Any

import numpy as np

from specdec_core.traces.schema import as_list, fail, shown

INFINITIES = {"Infinity": np.inf, "-Infinity": -np.inf}


@dataclass(frozen=True)
class Numbers:
    """float64 [n], or [n, m] if ``table``, each from ``low`` to ``high``.

    Not-a-number is written as null and the infinities as "Infinity" and "-Infinity"; each is read only
    where ``gaps`` and ``infinite`` allow it. Everything else is written with as many digits as it takes
    to read the same 64 bits back.
    """

    low: float = 0.0
    high: float = 1e18
    table: bool = False
    width: int | None = None
    gaps: bool = False
    infinite: bool = False

    def write(self, value: np.ndarray) -> list[Any]:
        if np.isfinite(value).all():
            return value.tolist()
        if np.isnan(value).any() and not self.gaps or np.isinf(value).any() and not self.infinite:
            fail("", "holds a number that is not finite where none can be")
        plain = value.astype(object)
        plain[np.isnan(value)] = None
        for word, number in INFINITIES.items():
            plain[value == number] = word
        return plain.tolist()

    def read(self, value: Any, path: str) -> np.ndarray:
        flat, shape = _flat(value, path, self.table, self.width)
        # numpy reads None as NaN; anything else that is no number is looked at one by one.
        fine = {int, float, type(None)} if self.gaps else {int, float}
        if not set(map(type, flat)) <= fine:
            flat = [self._special(each, path) for each in flat]
        try:
            column = np.array(flat, dtype=np.float64)
        except OverflowError:
            fail(path, f"holds a number beyond {self.high:g}")
        self._check_range(column, path)
        return column.reshape(shape)

    def _special(self, value: Any, path: str) -> Any:
        if value is None and self.gaps:
            return np.nan
        if self.infinite and type(value) is str and value in INFINITIES:
            return INFINITIES[value]
        if type(value) not in (int, float):
            fail(path, f"must hold numbers, not {shown(value)}")
        return value

    def _check_range(self, column: np.ndarray, path: str) -> None:
        fine = ((column >= self.low) & (column <= self.high)) | np.isnan(column)
        if self.infinite:
            fine |= np.isinf(column)
        if not fine.all():
            wrong = float(column[np.argmin(fine)])
            fail(path, f"must hold numbers from {self.low:g} to {self.high:g}, not {wrong:g}")


@dataclass(frozen=True)
class Ids:
    """int32 [n], or [n, m] if ``table``, each 0 or more."""

    table: bool = False

    def write(self, value: np.ndarray) -> list[Any]:
        return value.tolist()

    def read(self, value: Any, path: str) -> np.ndarray:
        flat, shape = _flat(value, path, self.table, None)
        if wrong := [each for each in flat if type(each) is not int or not 0 <= each < 2**31]:
            fail(path, f"must hold whole numbers from 0 to 2147483647, not {shown(wrong[0])}")
        return np.array(flat, dtype=np.int32).reshape(shape)


@dataclass(frozen=True)
class Words:
    """int8 [n], values of an enumeration, written as their names in lower case with spaces."""

    values: type[IntEnum]

    def write(self, value: np.ndarray) -> list[str]:
        return [_word(self.values(int(each))) for each in value]

    def read(self, value: Any, path: str) -> np.ndarray:
        allowed = {_word(each): each.value for each in self.values}
        found = as_list(value, path)
        for place, each in enumerate(found):
            if type(each) is not str or each not in allowed:
                fail(f"{path}[{place}]", f"must be one of {', '.join(allowed)}, not {shown(each)}")
        return np.array([allowed[each] for each in found], dtype=np.int8)


@dataclass(frozen=True)
class Flags:
    """bool [n]."""

    def write(self, value: np.ndarray) -> list[bool]:
        return value.tolist()

    def read(self, value: Any, path: str) -> np.ndarray:
        found = as_list(value, path)
        if not set(map(type, found)) <= {bool}:
            fail(path, "must hold true and false only")
        return np.array(found, dtype=bool)


def _flat(value: Any, path: str, table: bool, width: int | None) -> tuple[list[Any], tuple[int, ...]]:
    """All entries of a list, or of a list of equally long lists, and its shape."""
    rows = as_list(value, path)
    if not table:
        return rows, (len(rows),)
    lengths = {len(as_list(row, f"{path}[{place}]")) for place, row in enumerate(rows)}
    if width is not None and lengths - {width}:
        fail(path, f"must hold lists of {width} numbers")
    if len(lengths) > 1:
        fail(path, "must hold lists of equal length")
    return list(chain.from_iterable(rows)), (len(rows), lengths.pop() if lengths else width or 0)


def _word(value: IntEnum) -> str:
    return value.name.lower().replace("_", " ")
