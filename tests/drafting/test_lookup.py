"""Prompt lookup: which match is taken, what is copied, and where copying stops."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from specdec_core.decoding.origin import Choice
from specdec_core.decoding.proposal import Vocabulary
from specdec_core.decoding.types import DraftStop
from specdec_core.drafting.lookup import LookupDrafter, Match, NgramIndex
from tests.drafting.requests import request

V = 12


def propose(ids, limit=4, *, sizes=(1, 3), **options):
    drafter = LookupDrafter(Vocabulary(V), min_ngram=sizes[0], max_ngram=sizes[1])
    return drafter.propose(request(ids, limit, **options))


def longest_most_recent(ids, smallest, largest):
    """The definition, read off the text anew each time."""
    for size in range(largest, smallest - 1, -1):
        ends = [end for end in range(size, len(ids)) if ids[end - size : end] == ids[-size:]]
        if ends:
            return Match(size, ends[-1], len(ends))
    return None


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(1, 3), st.integers(0, 3))
def test_the_index_agrees_with_a_search_of_the_whole_text_at_every_length(ids, smallest, more):
    index = NgramIndex(smallest, smallest + more)
    for end in range(1, len(ids) + 1):
        assert index.find(ids[:end]) == longest_most_recent(ids[:end], smallest, smallest + more)


def test_the_longest_match_wins_and_among_equals_the_most_recent():
    assert propose([1, 2, 3, 9, 2, 3, 8, 5, 3, 7, 1, 2, 3]).ids[0] == 9
    assert propose([1, 2, 9, 0, 1, 2, 8, 0, 1, 2]).ids[0] == 8


def test_a_match_may_begin_in_the_prompt_and_end_in_the_output():
    drafter = LookupDrafter(Vocabulary(V))
    drafter.prefill([5, 6])
    assert drafter.propose(request([5, 6, 7, 8, 4, 6, 7], limit=2)).ids == (8, 4)


def test_what_is_copied_runs_on_into_what_was_just_proposed():
    assert propose([4, 1, 2, 1, 2], limit=5).ids == (1, 2, 1, 2, 1)


def test_nothing_is_proposed_without_a_match_or_below_the_shortest():
    for proposal in (propose([1, 2, 3]), propose([3, 1, 3], sizes=(2, 3)), propose([7])):
        assert proposal.ids == () and proposal.probs.shape == (0, V)
        assert proposal.stop is DraftStop.NO_MATCH


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_never_more_than_asked_for(limit):
    proposal = propose([1, 2, 3, 4, 5, 6, 7, 8, 9, 1], limit)
    assert len(proposal.ids) == len(proposal.seconds) == len(proposal.u) == limit
    assert proposal.stop is DraftStop.GAMMA


def test_copying_stops_after_an_end_token():
    proposal = propose([1, 2, 0, 5, 1], limit=4, end_ids={0})
    assert proposal.ids == (2, 0) and proposal.stop is DraftStop.END_TOKEN


def test_q_is_one_hot_and_the_origin_says_where_it_comes_from():
    proposal = propose([7, 1, 2, 9, 1, 2], limit=2)
    assert torch.equal(proposal.probs.argmax(-1), torch.tensor(proposal.ids))
    assert torch.equal(proposal.probs.sum(-1), torch.ones(2, dtype=torch.float64))
    assert proposal.logits is None
    assert proposal.origin.choice is Choice.COPIED and proposal.origin.one_hot
    assert proposal.origin.words == "match of 2 tokens, copied from token 3, seen once before"


def test_a_proposal_leaves_no_trace():
    """Asked again, whatever became of the first proposal, it answers from committed tokens alone."""
    ids = [1, 2, 3, 1, 2]
    drafter, fresh = LookupDrafter(Vocabulary(V)), LookupDrafter(Vocabulary(V))
    drafter.propose(request(ids))
    drafter.observe(len(ids) + 1)
    ids.append(9)
    for more in ([], [1], [1, 2]):
        mine, other = (each.propose(request(ids + more, round=1)) for each in (drafter, fresh))
        assert mine.ids == other.ids and mine.origin == other.origin and np.array_equal(mine.u, other.u)


def test_sizes_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="n-grams from 4 to 3"):
        NgramIndex(4, 3)
