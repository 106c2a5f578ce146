"""The rounds as a table: the numbers behind the charts, for reading, sorting and copying."""

import pandas as pd
import streamlit as st

from specdec_core.text.display import label
from specdec_core.traces import metrics
from specdec_core.traces.trace import Trace


def show(trace: Trace) -> None:
    """Draw a row for each round."""
    st.dataframe(frame(trace), hide_index=True, key="rounds_table", height=280)


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


def _ms(seconds) -> list[float]:
    return [round(1000 * float(value), 2) for value in seconds]


def _times(clean: bool, replayed: bool) -> str:
    return "replayed" if replayed else "trusted" if clean else "in no speed"
