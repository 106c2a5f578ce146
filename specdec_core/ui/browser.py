"""What only the browser can do: ask again after a while, fold the side panel away, copy a text.

Two small components. Their data are lists: of a dictionary Streamlit would ask whether its
values are data frames, and import pandas for that before the first paint.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

import streamlit as st

_HERE = Path(__file__).parent
_LEAVING = _HERE.parents[1] / "assets" / "components" / "leaving.js"


def pulse(
    after: float | None, *, key: str, on_tick: Callable[[], None] = lambda: None, runs: int = 0
) -> None:
    """Let the browser ask again ``after`` seconds from when it has drawn this, or never for None.

    It then calls ``on_tick`` and redraws the fragment around, unless the callback asks for
    other fragments. Unlike ``run_every`` it waits for a slow browser, and each draw may say
    anew how long to wait. A change of theme is told at once.

    Args:
        after: seconds.
        key: of this pulse.
        on_tick: the callback.
        runs: how many runs the visitor has started; another number folds the side panel away
            on a narrow screen.
    """
    wait = None if after is None else round(1000 * after)
    _pulse()(key=key, data=[wait, runs, monotonic()], on_tick_change=on_tick)


def copy_button(label: str, text: str, *, key: str, remark: str = "") -> None:
    """A button that puts ``text`` on the clipboard; ``remark`` stands below it."""
    _copy_button()(key=key, data=[label, text, remark])


@cache
def _pulse() -> Any:
    leaving = _LEAVING.read_text(encoding="utf-8")
    return st.components.v2.component("pulse", js=f"{leaving}\n{_read('browser.js')}")


@cache
def _copy_button() -> Any:
    return st.components.v2.component("copy_button", js=_read("copy_button.js"), css=_read("copy_button.css"))


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
