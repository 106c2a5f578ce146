"""Public bug reports about numbers: a loss is shown as one."""

import pytest

from specdec_core.decoding.types import RoundTimes
from specdec_core.traces import metrics
from specdec_core.ui import strip
from tests.traces.factory import make_trace


def test_a_run_slower_than_the_target_alone_says_so_and_is_never_rounded_up_to_one():
    """B62: 61.8 against 69.8 tokens a second is a factor below 1."""
    slow = RoundTimes(draft=(0.05,) * 4, verify=0.05, sample=0.01, other=0.0)
    trace = make_trace(("R...",) * 6, times=(slow,) * 6)
    measured = metrics.speedup_measured(trace)
    assert measured == pytest.approx(metrics.baseline_time_per_token(trace) / 0.26)
    assert measured < 0.5
    shown = strip.figures(trace, 6, 4)[3].values[0][0]
    assert shown.startswith(f"{measured:.2f}×")
