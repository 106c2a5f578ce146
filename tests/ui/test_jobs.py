"""Background measurements end with the visitor for whom they are made."""

import gc
from types import SimpleNamespace

from specdec_core.decoding.types import Sampling
from specdec_core.ui import jobs
from specdec_core.ui.jobs import IDLE_SECONDS, Timing


class Visitor:
    """Stands for a session, which Streamlit drops once its tab has been closed."""


def test_nothing_is_measured_for_a_visitor_who_has_gone(monkeypatch):
    monkeypatch.setattr(Timing, "_work_on", lambda self: None)
    visitor = Visitor()
    timing = Timing(live=None, sampling=Sampling(), owner=visitor)
    assert not timing.stopped
    del visitor
    gc.collect()
    assert timing.stopped


def test_the_target_alone_is_timed_before_the_first_round_and_after_that_only_in_pauses(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(jobs, "monotonic", lambda: clock.now)
    monkeypatch.setattr(jobs, "sleep", lambda seconds: setattr(clock, "now", clock.now + seconds))
    monkeypatch.setattr(Timing, "_work_on", lambda self: None)
    moments = []

    def measure_baseline(sampling, *, cancel):
        for _ in range(3):  # tokens; a round comes after the first
            assert not cancel.is_set()
            moments.append(clock.now)
            if len(moments) == 1:
                timing.touch()
        return SimpleNamespace(contended=False)

    timing = Timing(SimpleNamespace(measure_baseline=measure_baseline), Sampling())
    timing._baseline()
    assert moments == [100.0, 100.0 + IDLE_SECONDS, 100.0 + IDLE_SECONDS]
