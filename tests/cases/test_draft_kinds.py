"""Public bug reports about drafts, played with every kind of draft there is."""

import numpy as np
import pytest

from specdec_core.decoding.types import EndReason, RoundSettings, Sampling, Verdict
from specdec_core.experiments.drafts import DRAFTS, DraftSettings
from specdec_core.experiments.live import LiveRun
from specdec_core.models.loading import load_spec
from specdec_core.models.registry import folder_pair
from specdec_core.traces import metrics
from specdec_core.ui import strip
from tests.decoding.toys import fixed, run_toy
from tests.models import tiny

PROMPT = "Once upon a time there was a king, and once upon a time"
COLD = Sampling(temperature=0.0)
ALL = pytest.mark.parametrize("kind", DRAFTS)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder, words = tmp_path_factory.mktemp("pair"), tiny.tokenizer()
    made = (tiny.model(len(words), layers=layers, seed=layers, context=256) for layers in (4, 1))
    folders = [tiny.save(folder / name, module, words) for name, module in zip("td", made, strict=True)]
    found = load_spec(folder_pair("made", "Made", "", *folders, "MIT"), "cpu")
    found.end_ids = frozenset()
    return found


@pytest.fixture(scope="module")
def plain(pair):
    """What the target writes alone, greedily, with and without a penalty."""
    run = LiveRun.start(pair, PROMPT, max_new_tokens=40)
    return {penalty: run.measure_baseline(cold(penalty)).ids.tolist() for penalty in (1.0, 1.3)}


def cold(penalty):
    return Sampling(temperature=0.0, repetition_penalty=penalty)


def finished(pair, kind, gamma=5, sampling=COLD, **options):
    run = LiveRun.start(pair, PROMPT, **{"draft": DraftSettings(kind), "max_new_tokens": 40} | options)
    while not run.ended:
        run.next_round(RoundSettings(gamma, sampling))
    return run.trace


@ALL
@pytest.mark.parametrize("limit", [1, 2])
def test_a_limit_below_the_draft_length_is_met_exactly(pair, plain, kind, limit):
    """B34, B66: prompt lookup with 3 drafts and a limit of 2 is where transformers wrote more."""
    trace = finished(pair, kind, max_new_tokens=limit)
    assert trace.emitted == plain[1.0][:limit] and trace.end is EndReason.LIMIT
    written = 0
    for item in trace.rounds:
        assert len(item.drafted) <= limit - written - 1
        written += len(item.emitted)


@ALL
def test_an_end_token_among_accepted_drafts_ends_the_run_and_the_counts(pair, plain, kind, monkeypatch):
    """B28, B29, B72: whatever drafted it."""
    text = plain[1.0]
    place = next(n for n in range(6, len(text)) if text[n] not in text[:n])
    monkeypatch.setattr(pair, "end_ids", frozenset({text[place]}))
    trace = finished(pair, kind)
    assert trace.emitted == text[: place + 1] and trace.end is EndReason.END_TOKEN
    counts = metrics.counts(trace)
    assert counts.accepted <= counts.tested <= counts.drafted
    last = trace.rounds[-1]
    if last.sources[-1] == 0:  # the end itself was a kept draft: nothing after it was tested
        after = last.verdicts[len(last.emitted) :]
        assert (after == Verdict.NOT_NEEDED).all()


@ALL
def test_a_penalty_counts_committed_tokens_alone(pair, plain, kind):
    """B26, B53, B54: rejected drafts leave nothing in it, kept ones are not counted twice."""
    assert plain[1.3] != plain[1.0]
    assert finished(pair, kind, gamma=8, sampling=cold(1.3)).emitted == plain[1.3]


def test_what_an_oracle_drafts_is_kept_after_pauses_rests_and_at_every_length(pair):
    """B36, B42, B43, B77."""
    run = LiveRun.start(pair, PROMPT, draft=DraftSettings("oracle"), max_new_tokens=60)
    for gamma in (1, 5, 0, 0, 4, 8, 2):
        item = run.next_round(RoundSettings(gamma, Sampling(0.8)))
        assert (item.verdicts == Verdict.ACCEPTED).all() and len(item.emitted) == gamma + 1
        if gamma == 4:
            run.rest()


def test_where_nothing_was_drafted_nothing_is_divided_by_it(pair):
    """B75: prompt lookup that never matches."""
    run = LiveRun.start(
        pair, PROMPT, draft=DraftSettings.of("prompt-lookup", min_ngram=9, max_ngram=9), max_new_tokens=6
    )
    while not run.ended:
        run.next_round(RoundSettings(5, COLD))
    kept = strip.figures(run.trace, len(run.trace.rounds), 5)[0]
    assert [value for value, _ in kept.values] == [strip.NOTHING] * len(kept.values)
    assert metrics.counts(run.trace).drafted == 0


def test_probabilities_given_as_logits_are_made_into_a_law_once():
    """B10: rows that are normalised already, at T = 0.5, against a calculation by hand."""
    target, draft = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    rounds = run_toy(fixed(*target), fixed(*draft), 3, 3, sampling=Sampling(0.5), max_new_tokens=40)
    for item in rounds:
        for recorded, probs in ((item.places.p, target), (item.places.q, draft)):
            assert recorded == pytest.approx((probs**2 / (probs**2).sum())[item.drafted])
        assert item.places.top_target.p.sum(-1) == pytest.approx(np.ones(len(item.drafted) + 1))


def test_a_draft_by_beam_is_refused_with_what_there_is(pair):
    """B08."""
    with pytest.raises(ValueError, match="tokens is beam; it must be sampled or argmax"):
        LiveRun.start(pair, PROMPT, draft=DraftSettings.of("model", tokens="beam"))
