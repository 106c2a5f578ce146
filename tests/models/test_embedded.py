"""The pairs that ship with the project load, share their target, and run."""

import pytest
import torch
from transformers import AutoModelForCausalLM

from specdec_core.decoding.types import RoundSettings, Sampling
from specdec_core.experiments.live import LiveRun
from specdec_core.models.loading import load_pair

PROMPT = "Once upon a time there was a "


@pytest.mark.parametrize("key", ["embedded", "embedded-weak"])
def test_each_pair_steps_to_its_end_and_replays(key):
    pair = load_pair(key, "cpu")
    run = LiveRun.start(pair, PROMPT, seed=1, max_new_tokens=20)
    while not run.ended:
        run.next_round(RoundSettings(gamma=3, sampling=Sampling(temperature=0.7)))
    assert len(list(run.replay())) == len(run.trace.rounds)
    written = b"".join(run.trace.pieces[id_] for id_ in run.trace.emitted)
    assert written.decode("utf-8", errors="replace").strip()


def test_greedy_speculation_writes_what_the_target_writes_alone():
    pair = load_pair("embedded", "cpu")
    run = LiveRun.start(pair, PROMPT, rule="greedy", max_new_tokens=40)
    while not run.ended:
        run.next_round(RoundSettings(gamma=4))
    assert run.measure_baseline(Sampling()).ids.tolist() == run.trace.emitted


def test_both_pairs_share_one_target_but_not_one_draft():
    good, weak = load_pair("embedded", "cpu"), load_pair("embedded-weak", "cpu")
    assert good.target_module is weak.target_module
    assert good.info.target.fingerprint == weak.info.target.fingerprint
    assert good.info.draft.fingerprint != weak.info.draft.fingerprint


def test_the_layers_in_use_give_the_logits_of_the_saved_model():
    pair = load_pair("embedded", "cpu")
    folder = pair.spec.target.folder
    plain = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    ids = pair.encode(PROMPT)
    with torch.inference_mode():
        expected = plain.eval()(torch.tensor([ids])).logits[0]
    torch.testing.assert_close(pair.target().feed(ids, keep=len(ids)), expected, atol=1e-4, rtol=1e-4)


def test_a_text_ends_at_the_token_that_separates_tales():
    pair = load_pair("embedded", "cpu")
    assert [pair.piece(id_) for id_ in pair.end_ids] == [b"<|endoftext|>"]
