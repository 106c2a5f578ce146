"""The loop on toy models: token tables, ends, caches, failures."""

import numpy as np
import pytest
import torch

from specdec_core.decoding.checks import ModelFailure
from specdec_core.decoding.decoder import Decoder, RunEnded
from specdec_core.decoding.record import NoRecorder
from specdec_core.decoding.types import (
    DraftStop,
    EndReason,
    RoundSettings,
    RuleName,
    RunSettings,
    Sampling,
    Source,
    Verdict,
)
from specdec_core.drafting.model import ModelDrafter
from tests.decoding.toys import ToyModel, contextual, fixed, run_toy, scripted, tokens, toy_decoder

GREEDY = {"rule": "greedy", "max_new_tokens": 8}
TEXT = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
OK, FELL, UNTESTED, UNNEEDED = Verdict.ACCEPTED, Verdict.REJECTED, Verdict.NOT_TESTED, Verdict.NOT_NEEDED


@pytest.mark.parametrize(
    ("draft", "verdicts", "emitted", "sources"),
    [
        ([0, 1, 2, 3], [OK, OK, OK], [1, 2, 3, 4], "aaab"),
        ([0, 1, 9, 3], [OK, FELL, UNTESTED], [1, 2], "ac"),
        ([0, 9, 2, 3], [FELL, UNTESTED, UNTESTED], [1], "c"),
        ([0, 1, 2, 9], [OK, OK, FELL], [1, 2, 3], "aac"),
    ],
)
def test_testing_runs_left_to_right_to_the_first_failure(draft, verdicts, emitted, sources):
    first = run_toy(scripted(TEXT, 10), scripted(draft, 10), 10, gamma=3, **GREEDY)[0]
    assert first.verdicts.tolist() == verdicts
    assert first.emitted.tolist() == emitted
    assert "".join("acb"[source] for source in first.sources) == sources


def test_without_a_draft_the_round_is_a_plain_target_step():
    rounds = run_toy(scripted(TEXT, 10), scripted(TEXT, 10), 10, gamma=0, **GREEDY)
    assert [len(round.emitted) for round in rounds] == [1] * 8
    assert all(round.draft_cache <= 1 and round.times.draft == () for round in rounds)
    assert all(round.sources.tolist() == [Source.BONUS] for round in rounds)


def test_an_end_token_inside_a_block_ends_the_run_there():
    """B28, B29, B72: nothing after it is emitted or counted."""
    rounds = run_toy(scripted(TEXT, 10), scripted(TEXT, 10), 10, 5, end_ids=frozenset({2}), **GREEDY)
    assert tokens(rounds) == [1, 2]
    last = rounds[-1]
    assert (last.end, last.draft_stop, last.clipped) == (EndReason.END_TOKEN, DraftStop.END_TOKEN, 0)
    assert last.verdicts.tolist() == [OK, OK]


def test_an_end_token_as_the_correction_ends_the_run():
    draft = [0, 1, 9, 9, 9]
    rounds = run_toy(scripted(TEXT, 10), scripted(draft, 10), 10, 3, end_ids=frozenset({2}), **GREEDY)
    assert tokens(rounds) == [1, 2]
    assert rounds[-1].verdicts.tolist() == [OK, FELL, UNTESTED]


def test_drafts_after_a_stop_condition_are_not_needed():
    def stop(emitted):
        return (2, EndReason.STOP_STRING) if len(emitted) >= 2 else None

    last = run_toy(scripted(TEXT, 10), scripted(TEXT, 10), 10, 5, stop=stop, **GREEDY)[-1]
    assert last.emitted.tolist() == [1, 2]
    assert last.verdicts.tolist() == [OK, OK, UNNEEDED, UNNEEDED, UNNEEDED]
    assert (last.end, last.clipped) == (EndReason.STOP_STRING, 3)


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
@pytest.mark.parametrize("gamma", [1, 5])
def test_a_run_emits_exactly_its_limit_and_drafts_no_more_than_fits(limit, gamma):
    """B34: max new tokens inside a block."""
    rounds = run_toy(scripted(TEXT, 10), scripted(TEXT, 10), 10, gamma, rule="greedy", max_new_tokens=limit)
    assert tokens(rounds) == TEXT[1 : limit + 1]
    assert rounds[-1].end is EndReason.LIMIT
    left = limit - sum(len(round.emitted) for round in rounds[:-1])
    assert len(rounds[-1].drafted) == min(gamma, left - 1)
    if left - 1 < gamma:
        assert rounds[-1].draft_stop is DraftStop.LIMIT


def test_the_contexts_end_shrinks_the_draft_and_then_ends_the_run():
    rounds = run_toy(scripted(TEXT, 10), scripted(TEXT, 10), 10, 4, context=7, **GREEDY)
    assert tokens(rounds) == [1, 2, 3, 4, 5, 6]
    assert [len(round.drafted) for round in rounds] == [4, 0]
    assert (rounds[-1].draft_stop, rounds[-1].end) == (DraftStop.CONTEXT, EndReason.CONTEXT)


def test_a_full_draft_context_falls_back_to_plain_steps_and_says_so():
    rounds = run_toy(scripted(TEXT, 10), scripted(TEXT, 10), 10, 2, draft_context=3, **GREEDY)
    assert tokens(rounds) == TEXT[1:9]
    assert [len(round.drafted) for round in rounds[:3]] == [2, 0, 0]
    assert rounds[1].draft_stop is DraftStop.DRAFT_CONTEXT


def test_a_prompt_that_fills_the_context_is_refused():
    with pytest.raises(ValueError, match="context"):
        toy_decoder(fixed(0.5, 0.5), fixed(0.5, 0.5), 2, prompt_ids=(0, 1, 0, 1), context=4)


@pytest.mark.parametrize("gamma", [0, 1, 2, 5])
@pytest.mark.parametrize("rule", ["speculative sampling", "greedy", "exact match"])
def test_after_every_round_the_caches_hold_what_the_design_says(gamma, rule):
    """N − 1 tokens for the target, at most N − 1 for the draft."""
    decoder = toy_decoder(contextual(1, 6), contextual(2, 6), 6, rule=rule, max_new_tokens=30)
    while decoder.end is None:
        round = decoder.step(RoundSettings(gamma))
        assert round.target_cache == len(decoder.ids) - 1
        assert round.draft_cache <= len(decoder.ids) - 1


def test_the_draft_is_fed_its_missing_token_with_its_next_step():
    """B42, B43: after full acceptance no pass is run only to fill the draft's cache."""
    target, draft = ToyModel(scripted(TEXT, 10), 10), ToyModel(scripted(TEXT, 10), 10)
    decoder = Decoder(target, ModelDrafter(draft, "toy"), RunSettings((0,), "greedy", max_new_tokens=8))
    decoder.prefill()
    list(decoder.rounds(RoundSettings(3)))
    assert target.passes == [4, 4]
    assert draft.passes == [1, 1, 1, 2, 1, 1]


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.5), Sampling(top_k=2), Sampling(top_p=0.6)])
@pytest.mark.parametrize("gamma", [1, 2, 5, 8])
def test_an_oracle_draft_is_always_kept_whole(gamma, sampling):
    """B36, B42, B77: every full round emits γ + 1 tokens."""
    target = contextual(4, 7)
    rounds = run_toy(target, target, 7, gamma, sampling=sampling, max_new_tokens=40, seed=9)
    assert all((round.verdicts == OK).all() for round in rounds)
    assert all(len(round.emitted) == len(round.drafted) + 1 for round in rounds)
    assert all(len(round.drafted) == gamma for round in rounds[:-1])


def test_an_oracle_draft_stays_whole_after_a_pause_of_drafting():
    target = contextual(4, 7)
    decoder = toy_decoder(target, target, 7, max_new_tokens=60)
    for gamma in (3, 0, 0, 4, 0, 2, 5):
        assert (decoder.step(RoundSettings(gamma)).verdicts == OK).all()


def test_a_draft_that_is_always_wrong_gives_one_token_a_round():
    """B71: 0 % kept, length 1.00."""
    rounds = run_toy(fixed(1, 0, 0), fixed(0, 0.5, 0.5), 3, 4, max_new_tokens=5)
    assert [len(round.emitted) for round in rounds] == [1] * 5
    assert sum(round.accepted for round in rounds) == 0
    assert tokens(rounds) == [0] * 5


def test_an_argmax_draft_is_recorded_with_the_one_hot_law_that_it_was_drawn_from():
    """B01, B04: the q in the test is the q of the draw, never the softmax behind it."""
    first = run_toy(fixed(0.6, 0.4), fixed(0.8, 0.2), 2, 3, rule="greedy", max_new_tokens=9)[0]
    assert first.places.q.tolist() == [1.0] * 3
    assert first.places.soft_q == pytest.approx([0.8] * 3, abs=1e-6)


def test_filters_shape_the_law_that_is_drawn_and_tested():
    """B02: p and q after the same processing, on both sides."""
    sampling = Sampling(top_k=5)
    rounds = run_toy(contextual(5, 50), contextual(6, 50), 50, 4, sampling=sampling, max_new_tokens=60)
    for round in rounds:
        assert (round.places.q > 0).all()
        assert ((round.places.top_target.p > 0).sum(-1) == 5).all()
        rows = round.places.top_draft.q[: len(round.drafted)]
        assert rows.sum(-1) == pytest.approx(np.ones(len(rows)))


def test_the_same_seed_gives_the_same_run_and_another_seed_another():
    """B16."""
    models = contextual(1, 9), contextual(2, 9)
    runs = [tokens(run_toy(*models, 9, 3, seed=seed, max_new_tokens=40)) for seed in (42, 42, 43)]
    assert runs[0] == runs[1] != runs[2]


def test_recording_changes_nothing_but_the_record():
    models = contextual(1, 9), contextual(2, 9)
    full = run_toy(*models, 9, 3, max_new_tokens=30)
    bare = run_toy(*models, 9, 3, max_new_tokens=30, recorder=NoRecorder())
    assert tokens(full) == tokens(bare)
    assert all(round.places is None for round in bare)


@pytest.mark.parametrize("culprit", ["target", "draft"])
def test_unusable_logits_stop_the_round_and_keep_the_run(culprit):
    """B15: no token is emitted, the model and place are named, and the run stands as it was."""

    def failing(prefix):
        return [torch.nan, 0.0] if len(prefix) == 5 else [1.0, 0.0]

    models = {"target": fixed(0.6, 0.4), "draft": fixed(0.6, 0.4), culprit: failing}
    decoder = toy_decoder(models["target"], models["draft"], 2, seed=1)
    before = list(decoder.ids)
    with pytest.raises(ModelFailure, match=f"the {culprit} returned NaN at place [1-9]"):
        decoder.step(RoundSettings(6))
    assert decoder.ids == before
    assert decoder.end is None
    assert len(decoder.step(RoundSettings(2)).emitted) >= 1


def test_a_place_where_nothing_is_allowed_is_named():
    """B55."""
    decoder = toy_decoder(fixed(0.0, 0.0), fixed(0.5, 0.5), 2)
    with pytest.raises(ModelFailure, match="no allowed token at place 1"):
        decoder.step(RoundSettings(0))


def test_an_ended_run_refuses_another_round():
    decoder = toy_decoder(scripted(TEXT, 10), scripted(TEXT, 10), 10, rule="greedy", max_new_tokens=2)
    list(decoder.rounds(RoundSettings(3)))
    with pytest.raises(RunEnded, match="token limit"):
        decoder.step(RoundSettings(3))


def test_settings_may_change_from_round_to_round():
    decoder = toy_decoder(contextual(1, 6), contextual(2, 6), 6, max_new_tokens=60)
    lengths = [len(decoder.step(RoundSettings(gamma, Sampling(0.8))).drafted) for gamma in (1, 5, 0, 3)]
    assert lengths == [1, 5, 0, 3]


def test_the_parts_of_a_rounds_time_are_not_negative():
    for round in run_toy(contextual(1, 6), contextual(2, 6), 6, 3, max_new_tokens=20):
        parts = (*round.times.draft, round.times.verify, round.times.sample, round.times.other)
        assert min(parts) >= 0.0
        assert len(round.times.draft) == len(round.drafted)


@pytest.mark.parametrize("rule", RuleName)
def test_a_run_that_gave_its_caches_back_goes_on_as_if_it_had_not(rule):
    def tokens(rest_after):
        decoder = toy_decoder(contextual(1, 12), contextual(2, 12), 12, rule=rule, max_new_tokens=30, seed=5)
        while decoder.end is None:
            decoder.step(RoundSettings(gamma=3))
            if len(decoder.emitted) > rest_after:
                decoder.rest()
                assert decoder.cache_bytes == 0
                rest_after = 99
        return decoder.emitted

    assert tokens(rest_after=8) == tokens(rest_after=99)
