"""Every figure that is made of a trace, by subject: the one place to import them from.

A figure is a pure function of a trace and of how many of its rounds to look at (``upto``, by default
all), so that a cursor shows the figures as they stood then. None, or NaN in an array, means that
nothing was counted or measured, and is shown as "–".
"""

from specdec_core.traces.acceptance import (
    Counts,
    Running,
    accepted_histogram,
    counts,
    kept_of_drafted,
    kept_of_tested,
    mean_expected,
    mean_overlap,
    most_tokens_per_round,
    running,
    tokens_per_round,
)
from specdec_core.traces.break_even import BreakEven, break_even
from specdec_core.traces.shares import wilson
from specdec_core.traces.speed import (
    Latency,
    Race,
    Split,
    baseline_time_per_token,
    inter_token_latency,
    latency,
    latency_split,
    race,
    speedup_expected,
    speedup_measured,
    speedup_model,
    time_per_token,
    time_to_first_token,
    times_of,
    when,
)
from specdec_core.traces.survival import Survival, survival

__all__ = [
    "BreakEven",
    "Counts",
    "Latency",
    "Race",
    "Running",
    "Split",
    "Survival",
    "accepted_histogram",
    "baseline_time_per_token",
    "break_even",
    "counts",
    "inter_token_latency",
    "kept_of_drafted",
    "kept_of_tested",
    "latency",
    "latency_split",
    "mean_expected",
    "mean_overlap",
    "most_tokens_per_round",
    "race",
    "running",
    "speedup_expected",
    "speedup_measured",
    "speedup_model",
    "survival",
    "time_per_token",
    "time_to_first_token",
    "times_of",
    "tokens_per_round",
    "when",
    "wilson",
]
