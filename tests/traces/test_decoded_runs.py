"""What the decoder really does can be written, read and counted, whatever the settings."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core.decoding.record import NoRecorder
from specdec_core.decoding.rules import RULES
from specdec_core.decoding.types import EndReason, RoundSettings, RunSettings, Sampling, Verdict
from specdec_core.traces import metrics
from specdec_core.traces.json_codec import dumps, loads
from tests.decoding.toys import contextual, run_toy, toy_decoder
from tests.traces.factory import make_pair, make_trace

VOCAB = 6
PLAIN = Sampling()
TARGET, DRAFT = contextual(1, VOCAB), contextual(2, VOCAB)
PIECES = {id_: b"piece" for id_ in range(VOCAB)}


def traced(rounds, **run):
    """The rounds as a trace over the toy vocabulary."""
    trace = make_trace([], baseline=False)
    pair = replace(make_pair(), vocab_size=VOCAB)
    return replace(trace, pair=pair, pieces=PIECES, run=RunSettings((0,), **run), rounds=tuple(rounds))


def run(gamma=3, *, sampling=PLAIN, stop=None, recorder=None, draft=DRAFT, **options):
    options = {"max_new_tokens": 12} | options
    extra = {name: each for name, each in (("stop", stop), ("recorder", recorder)) if each}
    rounds = run_toy(TARGET, draft, VOCAB, gamma, sampling=sampling, **options, **extra)
    return traced(rounds, **options)


SAMPLINGS = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 0.5, 1.0]),
    top_k=st.sampled_from([0, 1, 3]),
    top_p=st.sampled_from([0.4, 1.0]),
    min_p=st.sampled_from([0.0, 0.3]),
)


@given(
    st.sampled_from(sorted(RULES)),
    SAMPLINGS,
    st.integers(0, 5),
    st.integers(0, 50),
    st.sampled_from([frozenset(), frozenset({2}), frozenset({1, 4})]),
)
@settings(max_examples=60)
def test_every_run_is_written_and_read_to_the_last_bit(rule, sampling, gamma, seed, end_ids):
    trace = run(gamma, rule=rule, sampling=sampling, seed=seed, end_ids=end_ids)
    text = dumps(trace)
    again = loads(text)
    assert dumps(again) == text
    for one, two in zip(trace.rounds, again.rounds, strict=True):
        assert one.places.p.tobytes() == two.places.p.tobytes()
        assert one.places.kl.tobytes() == two.places.kl.tobytes()
        assert np.array_equal(one.verdicts, two.verdicts)


@given(st.sampled_from(sorted(RULES)), st.integers(0, 5), st.integers(0, 50))
@settings(max_examples=40)
def test_counts_of_a_run_agree_with_its_tokens(rule, gamma, seed):
    trace = run(gamma, rule=rule, seed=seed, end_ids=frozenset({2}))
    found = metrics.counts(trace)
    assert found.emitted == len(trace.emitted) == found.accepted + found.corrections + found.bonuses
    assert found.drafted + found.not_needed == sum(len(item.drafted) for item in trace.rounds)
    assert metrics.tokens_per_round(trace) <= metrics.most_tokens_per_round(trace)


@pytest.mark.parametrize("gamma", [1, 2, 4, 7])
def test_a_draft_that_is_the_target_is_kept_whole_to_the_last_clipped_round(gamma):
    # B77 and B72 on the decoder itself: an oracle draft, the end inside a block.
    for limit in range(1, 9):
        trace = run(gamma, draft=TARGET, max_new_tokens=limit, recorder=NoRecorder())
        assert metrics.kept_of_tested(trace) in (1.0, None)
        assert metrics.kept_of_drafted(trace) in (1.0, None)
        assert trace.end is EndReason.LIMIT


def test_one_token_runs_draft_nothing_and_have_no_rate():
    # B75 on the decoder itself.
    trace = run(4, max_new_tokens=1)
    assert metrics.counts(trace).drafted == 0
    assert metrics.kept_of_tested(trace) is None and metrics.kept_of_drafted(trace) is None
    assert metrics.tokens_per_round(trace) == 1.0


def test_drafts_behind_a_stop_are_not_needed_and_can_be_written():
    def stop(emitted):
        return (4, EndReason.STOP_STRING) if len(emitted) >= 4 else None

    trace = run(6, draft=TARGET, stop=stop, max_new_tokens=20)
    last = trace.rounds[-1]
    assert len(trace.emitted) == 4 and trace.end is EndReason.STOP_STRING
    assert last.clipped == np.count_nonzero(last.verdicts == Verdict.NOT_NEEDED) == 2
    assert metrics.kept_of_drafted(trace) == 1.0
    assert dumps(loads(dumps(trace))) == dumps(trace)


def test_settings_that_change_in_mid_run_are_those_of_each_round():
    decoder = toy_decoder(TARGET, DRAFT, VOCAB, max_new_tokens=20)
    cold = RoundSettings(0, Sampling(temperature=0.3))
    rounds = [decoder.step(RoundSettings(5)), decoder.step(cold), decoder.step(RoundSettings(2))]
    trace = loads(dumps(traced(rounds, max_new_tokens=20)))
    assert [item.settings.gamma for item in trace.rounds] == [5, 0, 2]
    assert trace.rounds[1].settings == cold
    assert metrics.most_tokens_per_round(trace) == (6 + 1 + 3) / 3


def test_the_closed_form_predicts_a_run_whose_places_are_alike():
    # One law after every prefix makes the places independent and alike, as Equation (1) assumes.
    target, draft = ([np.log(x) for x in law] for law in ((0.5, 0.3, 0.2), (0.2, 0.3, 0.5)))
    rounds = run_toy(
        lambda _: target, lambda _: draft, 3, 4, max_new_tokens=2000, recorder=NoRecorder(), context=4096,
        draft_context=4096,
    )  # fmt: skip
    trace = traced(rounds, max_new_tokens=2000)
    # Σ min(p, q) = 0.7; about 720 rounds give tokens per round a standard error of 0.06.
    assert metrics.kept_of_tested(trace) == pytest.approx(0.7, abs=0.05)
    assert metrics.tokens_per_round(trace) == pytest.approx((1 - 0.7**5) / 0.3, abs=0.24)
    assert metrics.survival(trace).survival == pytest.approx(0.7 ** np.arange(1, 5), abs=0.08)
