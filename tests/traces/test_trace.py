"""The trace itself: growing, sharing, refusing what cannot follow, and the prices of passes."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest

from specdec_core.decoding.types import EndReason
from specdec_core.traces.trace import CostTable
from tests.traces.factory import make_costs, make_round, make_trace


def test_a_new_round_leaves_the_old_trace_as_it_was_and_shares_its_rounds():
    before = make_trace(["AAAA", "R.."])
    after = before.append(make_round("A", index=2), {1: b"x", 61: b"y"})
    assert (len(before.rounds), len(after.rounds)) == (2, 3)
    assert all(old is new for old, new in zip(before.rounds, after.rounds, strict=False))
    assert after.pieces.keys() >= before.pieces.keys()


def test_known_pieces_are_kept_as_they_were_first_seen():
    before = make_trace(["AAAA"])
    known = next(iter(before.pieces))
    after = before.append(make_round("A", index=1), {known: b"something else"})
    assert after.pieces[known] == before.pieces[known]
    assert after.pieces is before.pieces


@pytest.mark.parametrize("index", [0, 2, 7])
def test_only_the_next_round_can_follow(index):
    with pytest.raises(ValueError, match=f"round {index} cannot follow 1"):
        make_trace(["AAAA"]).append(make_round(index=index), {})


def test_nothing_follows_the_end():
    ended = make_trace(["AA--"], end=EndReason.END_TOKEN)
    assert ended.end is EndReason.END_TOKEN
    with pytest.raises(ValueError, match="end token"):
        ended.append(make_round(index=1), {})


def test_emitted_tokens_follow_each_other_through_the_rounds():
    trace = make_trace()
    starts = [item.start for item in trace.rounds]
    lengths = [len(item.emitted) for item in trace.rounds]
    assert np.diff(starts).tolist() == lengths[:-1]
    assert len(trace.emitted) == sum(lengths)
    assert make_trace([]).emitted == [] and make_trace([]).end is None


def test_a_trace_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        make_trace([]).name = "other"


def test_verifying_nothing_costs_one_plain_pass():
    assert make_costs().verify_cost(0) == 1.0


def test_prices_are_linear_between_measured_counts_and_go_on_beyond_them():
    table = make_table((1, 3, 5), (0.009, 0.010, 0.013), (0.001, 0.002, 0.003))
    assert [table.verify_cost(gamma) for gamma in (1, 2, 3, 4)] == pytest.approx([1.1, 1.2, 1.4, 1.6])
    assert table.verify_cost(6) == pytest.approx(2.0)
    assert table.c == pytest.approx(0.2)


def test_noise_does_not_make_longer_passes_cheaper_beyond_what_was_measured():
    falling = make_table((1, 5, 9), (0.010, 0.013, 0.012), (0.0, 0.0, 0.0))
    assert falling.verify_cost(40) == falling.verify_cost(8)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"target": (0.01,)}, "for each count"),
        ({"rest": (0.01,)}, "for each count"),
        ({"tokens": (2, 3)}, "the first of them 1"),
        ({"tokens": (), "target": (), "rest": ()}, "the first of them 1"),
        ({"tokens": (1, 1)}, "rise"),
        ({"target": (0.0, 0.01)}, "above 0"),
        ({"rest": (0.0, -0.01)}, "above 0"),
        ({"plain": 0.0}, "above 0"),
        ({"draft": -0.001}, "above 0"),
    ],
)
def test_a_cost_table_that_cannot_be_is_refused(change, word):
    with pytest.raises(ValueError, match=word):
        replace(make_table((1, 2), (0.01, 0.02), (0.0, 0.0)), **change)


def test_a_single_measured_pass_stands_for_all():
    assert make_table((1,), (0.01,), (0.0,)).verify_cost(8) == 1.0


def make_table(tokens, target, rest) -> CostTable:
    """A table with 10 ms a token of plain decoding and 2 ms a draft step."""
    return CostTable(tokens, target, rest, plain=0.010, draft=0.002, context=64, repeats=5)
