"""The recorded trace that is on screen before any model is loaded."""

from pathlib import Path

import streamlit as st

from specdec_core.decoding.types import Source, Verdict
from specdec_core.traces import json_codec
from specdec_core.traces.trace import Trace

PATH = Path(__file__).parents[2] / "assets" / "traces" / "opening.json"


@st.cache_resource(show_spinner=False)
def trace() -> Trace:
    """The recorded trace; immutable, so all visitors share it."""
    return json_codec.loads(PATH.read_text(encoding="utf-8"))


def opening_round(recorded: Trace) -> int:
    """The round to open on: the first that both kept and rejected a draft, else the last."""
    for item in recorded.rounds:
        verdicts = set(item.verdicts.tolist())
        if {Verdict.ACCEPTED, Verdict.REJECTED} <= verdicts and Source.CORRECTION in item.sources:
            return item.index
    return len(recorded.rounds) - 1
