"""The rounds as a table: the numbers behind the charts, for reading, sorting and copying."""

import numpy as np
import pandas as pd
import streamlit as st

from specdec_core.text.display import label
from specdec_core.traces import metrics
from specdec_core.traces.trace import Trace

_HELP = {
    "γ": "Draft length: how many tokens the draft was asked for.",
    "drafted": "How many it drafted.",
    "tested": "Drafts up to and with the first rejected one.",
    "kept": "Drafts that the target accepted.",
    "emitted": "Tokens added to the text: the kept drafts and one of the target's own.",
    "draft, ms": "All draft steps of the round together.",
    "verify, ms": "The one target pass.",
    "sample, ms": "Testing the drafts and drawing the target's token.",
    "other, ms": "The rest of the round, recording aside.",
    "times": "Counted: they measure a speed. Replayed: the round was made once more without pauses, and "
    "these times are the replay's. Not counted: stepped singly, cold or disturbed by another run.",
    "text": "What the round added to the text; · is a space.",
}
_NARROW = 74
"""Pixels of a column of numbers, so that the text has room."""


def show(trace: Trace) -> None:
    """Draw a row for each round."""
    rows = frame(trace)
    st.dataframe(
        rows,
        hide_index=True,
        key="rounds_table",
        height=280,
        row_height=30,
        column_config={name: _column(name) for name in rows.columns},
    )


def _column(name: str) -> st.column_config.Column:
    if name == "text":
        return st.column_config.TextColumn(help=_HELP[name], width=420)
    if name == "times":
        return st.column_config.TextColumn(help=_HELP[name], width=100)
    form = "%.2f" if name.endswith("ms") else "%d"
    return st.column_config.NumberColumn(help=_HELP.get(name), format=form, width=_NARROW)


def frame(trace: Trace) -> pd.DataFrame:
    """One row a round: settings, counts, times in milliseconds, and the text it added."""
    times = metrics.latency(trace)
    rows = trace.rounds
    return pd.DataFrame(
        {
            "round": [item.index + 1 for item in rows],
            "γ": [item.settings.gamma for item in rows],
            "drafted": [len(item.drafted) for item in rows],
            "tested": [item.tested for item in rows],
            "kept": [item.accepted for item in rows],
            "emitted": [len(item.emitted) for item in rows],
            "draft, ms": _ms(times.draft),
            "verify, ms": _ms(times.verify),
            "sample, ms": _ms(times.sample),
            "other, ms": _ms(times.other),
            "times": [_times(clean, again) for clean, again in zip(times.clean, times.replayed, strict=True)],
            "text": ["".join(label(trace.pieces[int(id_)]) for id_ in item.emitted) for item in rows],
        }
    )


def _ms(seconds: np.ndarray) -> list[float]:
    return [1000 * float(value) for value in seconds]


def _times(clean: bool, replayed: bool) -> str:
    return "replayed" if replayed else "counted" if clean else "not counted"
