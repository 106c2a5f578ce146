"""Rounds recorded together have the records they would have had one by one."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from specdec_core.decoding.checks import ModelFailure
from specdec_core.decoding.record import TOGETHER, VALUES, FullRecorder
from specdec_core.decoding.rows import stacked
from specdec_core.decoding.settings import RuleName
from specdec_core.decoding.types import Places, RoundSettings, Sampling, TopTokens
from tests.decoding.toys import contextual, fixed, tokens, toy_decoder

MODELS = contextual(1, 40), contextual(2, 40, sharpness=1.0), 40


class Counting(FullRecorder):
    """Also keeps how many rounds it was handed at once."""

    def __init__(self):
        self.sizes = []

    def record(self, rounds):
        self.sizes.append(len(rounds))
        return super().record(rounds)


def run(**options):
    return toy_decoder(*MODELS, **{"max_new_tokens": 70, "seed": 3, **options})


def columns(item):
    """Every column of a record or a ranking in it, by its name."""
    for each in fields(item):
        value = getattr(item, each.name)
        if isinstance(value, TopTokens):
            yield from ((f"{each.name}.{name}", column) for name, column in columns(value))
        else:
            yield each.name, value


def same(one: Places, other: Places) -> None:
    for (name, left), (_, right) in zip(columns(one), columns(other), strict=True):
        assert left.shape == right.shape and left.dtype == right.dtype, name
        np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-13, err_msg=name)


@pytest.mark.parametrize("rule", RuleName)
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.6, top_k=9), Sampling(0.0)], ids=str)
def test_records_made_together_are_those_made_one_by_one(rule, sampling):
    settings = RoundSettings(4, sampling)
    together = list(run(rule=rule).rounds(settings))
    alone, singly = run(rule=rule), []
    while alone.end is None:
        singly.append(alone.step(settings))
    assert [len(each.drafted) for each in together] == [len(each.drafted) for each in singly]
    assert tokens(together) == tokens(singly)
    for one, other in zip(together, singly, strict=True):
        same(one.places, other.places)


def test_rounds_of_one_setting_are_handed_over_several_at_a_time_and_steps_one_by_one():
    recorder = Counting()
    decoder = run(recorder=recorder)
    for _ in range(3):
        decoder.step(RoundSettings(4))
    rounds = list(decoder.rounds(RoundSettings(4)))
    assert recorder.sizes[:3] == [1, 1, 1]
    assert max(recorder.sizes) == TOGETHER and sum(recorder.sizes[3:]) == len(rounds)


def test_rounds_over_a_large_vocabulary_are_recorded_one_by_one():
    decoder = toy_decoder(fixed(*[1 / 9] * 9), fixed(*[1 / 9] * 9), 9, max_new_tokens=9)
    evidence = decoder._round(RoundSettings(2), None)[1]
    large = torch.empty(3, VALUES // 3 + 1)
    assert FullRecorder().together(evidence) == TOGETHER
    object.__setattr__(evidence, "target_probs", large)
    assert FullRecorder().together(evidence) == 1


def test_rounds_with_and_without_drafts_go_together_though_the_latter_lie_on_another_device():
    decoder = run()
    drafted = decoder._round(RoundSettings(4), None)[1]
    nothing = decoder._round(RoundSettings(0), None)[1]
    elsewhere = replace(
        nothing.proposal, probs=nothing.proposal.probs.to("meta"), logits=nothing.proposal.logits.to("meta")
    )
    both = stacked([drafted, replace(nothing, proposal=elsewhere)])
    assert both.proposal.logits.device.type == "cpu" and len(both.target_probs) == 6
    records = FullRecorder().record([drafted, replace(nothing, proposal=elsewhere)])
    same(records[0], FullRecorder().record([drafted])[0])
    same(records[1], FullRecorder().record([nothing])[0])


def test_a_failure_among_rounds_made_together_shows_after_those_before_it():
    def failing(prefix):
        return [torch.nan, 0.0] if len(prefix) > 9 else [1.0, 0.0]

    decoder = toy_decoder(failing, fixed(0.6, 0.4), 2, seed=1, max_new_tokens=40)
    told = []
    with pytest.raises(ModelFailure, match="the target returned NaN"):
        for item in decoder.rounds(RoundSettings(2)):
            told.append(item)
    assert len(told) > 1
    assert decoder.emitted == tokens(told)
    assert decoder.end is None


def test_a_record_that_cannot_be_made_takes_its_rounds_back():
    class Failing(FullRecorder):
        def record(self, rounds):
            raise MemoryError

    decoder = run(recorder=Failing())
    before = list(decoder.ids)
    with pytest.raises(MemoryError):
        next(decoder.rounds(RoundSettings(4)))
    assert decoder.ids == before and decoder.end is None
    decoder._recorder = FullRecorder()
    fresh = run()
    assert tokens(decoder.rounds(RoundSettings(4))) == tokens(fresh.rounds(RoundSettings(4)))
