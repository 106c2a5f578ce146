"""Traces of older versions are read, with what they did not know filled in as it was then."""

import json

import pytest

from specdec_core.decoding.origin import Origin
from specdec_core.traces.json_codec import TraceError, dumps, loads
from specdec_core.traces.trace import TRACE_VERSION
from tests.traces.factory import make_trace

TRACE = make_trace(["AAR.", "AA"], replay=1)


def version_1() -> dict:
    """What the first version wrote of ``TRACE``."""
    whole = json.loads(dumps(TRACE)) | {"version": 1}
    for times in (*whole["replay"], *(item["times"] for item in whole["rounds"])):
        del times["record"]
    for item in whole["rounds"]:
        del item["origin"]
    del whole["costs"]["rest"], whole["costs"]["plain"]
    return whole


def test_a_trace_of_version_1_is_read_as_the_newest():
    trace = loads(json.dumps(version_1()))
    assert trace.version == TRACE_VERSION
    assert [item.times.total for item in trace.rounds] == [item.times.total for item in TRACE.rounds]
    assert {item.origin for item in trace.rounds} == {Origin()}
    assert trace.rounds[0].times.record == 0.0


def test_its_costs_are_those_of_bare_passes():
    costs = loads(json.dumps(version_1())).costs
    first, *_, last = TRACE.costs.target
    assert costs.c == TRACE.costs.draft / first
    assert costs.verify_cost(8) == last / first


def test_reading_and_writing_it_again_gives_the_newest_form():
    again = json.loads(dumps(loads(json.dumps(version_1()))))
    assert again["version"] == TRACE_VERSION and again["costs"]["rest"] == [0.0] * len(TRACE.costs.target)


@pytest.mark.parametrize(
    ("field", "value"),
    [("rounds", 3), ("rounds", [3]), ("replay", {}), ("costs", []), ("costs", {"target": 7}), ("costs", {})],
)
def test_a_malformed_trace_of_version_1_is_refused_like_any_other(field, value):
    with pytest.raises(TraceError, match=field):
        loads(json.dumps(version_1() | {field: value}))
