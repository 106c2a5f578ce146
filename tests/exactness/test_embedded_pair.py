"""The embedded pair, with real weights and real caches, against plain decoding and plain transformers."""

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from specdec_core.decoding.baseline import decode_plain, prefill_plain
from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.filters import law
from specdec_core.decoding.record import FullRecorder, NoRecorder
from specdec_core.decoding.types import RoundSettings, RunSettings, Sampling, Verdict
from specdec_core.drafting.model import ModelDrafter
from specdec_core.experiments.live import LiveRun
from specdec_core.models.loading import load_pair

PROMPT = "Once upon a time there was a king who had three sons"


@pytest.fixture(scope="module")
def pair():
    return load_pair("embedded")


def settings(pair, rule, limit, prompt=PROMPT, seed=7):
    # No end token here: a run should reach its full length whatever the model would like.
    return RunSettings(pair.encode(prompt), rule, seed, max_new_tokens=limit)


def speculate(pair, run, gamma, sampling, draft=None, recorder=None):
    model = (draft or pair.draft)()
    decoder = Decoder(pair.target(), ModelDrafter(model, "draft"), run, recorder or NoRecorder())
    decoder.prefill()
    return list(decoder.rounds(RoundSettings(gamma, sampling)))


def plain(pair, run, sampling):
    target = pair.target()
    prefill_plain(target, run)
    return [token.id for token in decode_plain(target, run, sampling)]


def emitted(rounds):
    return [int(token) for round in rounds for token in round.emitted]


@pytest.fixture(scope="module")
def greedy(pair):
    return plain(pair, settings(pair, "greedy", 200), Sampling())


@pytest.mark.parametrize("gamma", range(1, 9))
def test_greedy_speculation_equals_plain_greedy_over_200_tokens(pair, greedy, gamma):
    assert emitted(speculate(pair, settings(pair, "greedy", 200), gamma, Sampling())) == greedy


def test_greedy_from_a_prompt_of_one_token_equals_plain_greedy(pair):
    """B20."""
    run = RunSettings(pair.encode("The")[:1], "greedy", max_new_tokens=20)
    assert emitted(speculate(pair, run, 5, Sampling())) == plain(pair, run, Sampling())


@pytest.mark.parametrize("gamma", [1, 3, 8])
def test_exact_match_equals_plain_sampling_token_for_token(pair, gamma):
    run = settings(pair, "exact match", 80)
    weak = load_pair("embedded-weak").draft
    expected = plain(pair, run, Sampling())
    for draft in (pair.draft, weak, pair.target):
        assert emitted(speculate(pair, run, gamma, Sampling(), draft)) == expected


@pytest.mark.parametrize("gamma", [1, 2, 5, 8])
@pytest.mark.parametrize("rule", ["speculative sampling", "greedy"])
def test_the_target_as_its_own_draft_is_always_kept(pair, gamma, rule):
    rounds = speculate(pair, settings(pair, rule, 60), gamma, Sampling(), draft=pair.target)
    assert all((round.verdicts == Verdict.ACCEPTED).all() for round in rounds)


def reference(folder):
    """The model as transformers itself loads it, weights unpacked."""
    return AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()


@torch.inference_mode()
def test_recorded_p_and_q_agree_with_plain_transformers_without_any_cache(pair):
    """Within 1e-4 at every place, each recomputed from the whole prefix."""
    target, draft = reference(pair.spec.target.folder), reference(pair.spec.draft.folder)
    run, sampling = settings(pair, "speculative sampling", 40), Sampling(0.9, top_k=200, top_p=0.98)
    sequence = list(run.prompt_ids)
    for round in speculate(pair, run, 4, sampling, recorder=FullRecorder()):
        path = sequence + round.drafted.tolist()
        count = len(round.drafted)
        whole = torch.tensor([path])
        for model, recorded in ((target, round.places.p), (draft, round.places.q)):
            rows = model(whole, use_cache=False).logits[0, len(sequence) - 1 : len(sequence) - 1 + count]
            probs = law(rows, sampling)[range(count), round.drafted.tolist()].numpy()
            assert recorded == pytest.approx(probs, abs=1e-4)
        sequence += round.emitted.tolist()


def test_replaying_with_the_same_seed_gives_the_same_trace(pair):
    traces = []
    for _ in range(2):
        live = LiveRun.start(pair, PROMPT, seed=11, max_new_tokens=48)
        while not live.ended:
            live.next_round(RoundSettings(4, Sampling(0.9)))
        traces.append(live.trace)
    for one, other in zip(traces[0].rounds, traces[1].rounds, strict=True):
        for field in ("drafted", "verdicts", "emitted", "sources"):
            assert np.array_equal(getattr(one, field), getattr(other, field))
        for field in ("draft_u", "accept_u", "correct_u", "replacement"):
            assert np.array_equal(getattr(one.places, field), getattr(other.places, field))
        assert one.places.p == pytest.approx(other.places.p, abs=1e-4)


def test_round_times_do_not_grow_with_passes_run_only_to_fill_caches(pair):
    """B45: every round is one target pass over what is unread and K drafts."""
    target, fed = pair.target(), []
    feed = target.feed
    target.feed = lambda ids, keep: fed.append(len(ids)) or feed(ids, keep)
    run = settings(pair, "speculative sampling", 60)
    decoder = Decoder(target, ModelDrafter(pair.draft(), "draft"), run, NoRecorder())
    decoder.prefill()
    drafted = [len(round.drafted) for round in decoder.rounds(RoundSettings(4))]
    assert fed[1:] == [count + 1 for count in drafted]
