"""A run ends at the same token for the same reason, whether its tokens come singly or several at once."""

from hypothesis import given
from hypothesis import strategies as st

from specdec_core.decoding.ending import ending, room
from specdec_core.decoding.types import EndReason, RunSettings

PROMPT = (9, 9)
END = 0
runs = st.builds(
    lambda most, ends: RunSettings(PROMPT, max_new_tokens=most, end_ids=frozenset({END} if ends else ())),
    st.integers(1, 12),
    st.booleans(),
)
tokens = st.lists(st.integers(0, 3), min_size=1, max_size=14)


def two_ones(ids):
    """A text condition: the run ends with the second of two ones in a row, which stays."""
    place = next((i for i in range(1, len(ids)) if ids[i - 1] == ids[i] == 1), None)
    return None if place is None else (place + 1, EndReason.STOP_STRING)


def one_by_one(run, context, new, stop):
    """As plain decoding asks: after every token."""
    for count in range(1, len(new) + 1):
        if met := ending(run, context, new[: count - 1], new[count - 1 : count], stop):
            return count, met[1]
    return None


@given(runs, st.integers(3, 14), tokens, st.sampled_from([None, two_ones]))
def test_asking_once_or_after_every_token_is_the_same(run, context, new, stop):
    assert ending(run, context, [], new, stop) == one_by_one(run, context, new, stop)


@given(runs, st.integers(3, 14), tokens, st.integers(0, 13), st.sampled_from([None, two_ones]))
def test_where_a_round_begins_changes_nothing(run, context, new, cut, stop):
    before, after = new[:cut], new[cut:]
    if ending(run, context, [], before, stop) is None and after:
        whole, rest = ending(run, context, [], new, stop), ending(run, context, before, after, stop)
        assert rest == (whole and (whole[0] - len(before), whole[1]))


@given(runs, st.integers(3, 14), st.integers(0, 12))
def test_room_is_what_limit_and_context_leave(run, context, emitted):
    left, reason = room(run, context, emitted)
    assert left == min(run.max_new_tokens, context - len(PROMPT)) - emitted
    assert reason is (EndReason.LIMIT if len(PROMPT) + run.max_new_tokens <= context else EndReason.CONTEXT)


def test_a_text_condition_may_take_back_all_that_is_new():
    run = RunSettings(PROMPT, end_ids=frozenset({END}))
    met = ending(run, 100, [1, 2], [3, END], lambda ids: (2, EndReason.STOP_STRING))
    assert met == (0, EndReason.STOP_STRING)
