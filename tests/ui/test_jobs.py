"""Background measurements end with the visitor for whom they are made."""

import gc

from specdec_core.decoding.types import Sampling
from specdec_core.ui.jobs import Timing


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
