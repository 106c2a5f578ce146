"""Suffix matching: the most frequent path after the best suffix, as a suffix tree would give it."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_core.decoding.origin import Choice
from specdec_core.decoding.proposal import Vocabulary
from specdec_core.decoding.types import DraftStop
from specdec_core.drafting.suffix import SuffixDrafter
from tests.drafting.requests import request

V = 12


def propose(ids, limit=4, *, end_ids=(), **options):
    return SuffixDrafter(Vocabulary(V), **options).propose(request(ids, limit, end_ids=end_ids))


def best_path(ids, limit, max_match, factor, min_share):
    """The definition: every suffix that occurred before, each walked along its most frequent children."""
    paths = [((), 0.0, 0)]
    for size in range(1, min(max_match, len(ids) - 1) + 1):
        ends = [end for end in range(size, len(ids)) if ids[end - size : end] == ids[-size:]]
        tokens, share, score, places = [], 1.0, 0.0, ends
        while places and len(tokens) < min(limit, max(1, int(factor * size))):
            following = [(ids[place], place) for place in places if place < len(ids)]
            if not following:
                break
            counts = Counter(token for token, _ in following)
            last = {token: place for token, place in following}
            token = max(counts, key=lambda each: (counts[each], last[each]))
            share *= counts[token] / len(following)
            if share < min_share:
                break
            tokens.append(token)
            score += share
            places = [place + 1 for each, place in following if each == token]
        paths.append((tuple(tokens), score, size if ends else 0))
    return max(paths, key=lambda path: (path[1], path[2]))[0]


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=40),
    st.integers(1, 8),
    st.integers(1, 6),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.sampled_from([0.0, 0.3, 0.6]),
)
def test_the_path_is_the_one_a_suffix_tree_gives(ids, limit, max_match, factor, min_share):
    proposal = propose(ids, limit, max_match=max_match, factor=factor, min_share=min_share)
    assert proposal.ids == best_path(ids, limit, max_match, factor, min_share)


def test_the_more_frequent_continuation_beats_the_more_recent():
    ids = [1, 2, 5, 1, 2, 5, 1, 2, 6, 1, 2]
    assert propose(ids, limit=1).ids == (5,)


def test_a_longer_match_reaches_further():
    far = propose([1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3], limit=8, factor=2.0)
    near = propose([9, 2, 3, 4, 5, 6, 7, 8, 9, 1, 0, 3], limit=8, factor=2.0)
    assert far.ids == (4, 5, 6, 7, 8, 9) and near.ids == (4, 5)
    assert near.stop is DraftStop.UNLIKELY


def test_drafting_stops_where_earlier_text_disagrees():
    ids = [1, 5, 1, 6, 1, 7, 1, 8, 1]
    assert propose(ids, min_share=0.3).ids == ()
    assert propose(ids, min_share=0.2, limit=1).ids == (8,)


def test_nothing_is_proposed_without_a_match():
    proposal = propose([1, 2, 3])
    assert proposal.ids == () and proposal.stop is DraftStop.NO_MATCH


def test_copying_stops_after_an_end_token_and_at_the_limit():
    ids = [1, 2, 3, 0, 5, 6, 1, 2, 3]
    ended, limited = propose(ids, limit=5, end_ids={0}), propose(ids, limit=2)
    assert ended.ids == (0,) and ended.stop is DraftStop.END_TOKEN
    assert limited.ids == (0, 5) and limited.stop is DraftStop.GAMMA


@pytest.mark.parametrize("ids", [[3, 1, 2, 4, 5, 1, 2], [1, 2, 9, 1, 2, 9, 7, 1, 2]])
def test_the_origin_names_match_place_and_count(ids):
    proposal = propose(ids, limit=1)
    origin = proposal.origin
    assert origin.choice is Choice.COPIED
    assert ids[origin.copied_from] == proposal.ids[0]
    assert ids[origin.copied_from - origin.matched : origin.copied_from] == ids[-origin.matched :]
    assert origin.occurrences == sum(
        ids[end - origin.matched : end] == ids[-origin.matched :] for end in range(origin.matched, len(ids))
    )


def test_only_committed_tokens_are_read():
    drafter = SuffixDrafter(Vocabulary(V))
    ids = [1, 2, 3, 1, 2]
    drafter.propose(request(ids))
    drafter.observe(len(ids) + 1)
    assert drafter.propose(request([*ids, 9, 1, 2])).ids == propose([*ids, 9, 1, 2]).ids
