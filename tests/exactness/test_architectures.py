"""Greedy with every draft equals plain greedy token for token, on four kinds of model and 200 tokens.

The target sees other shapes when it verifies than when it goes one by one, so the last bits of
its logits differ. Where its two best tokens are that close, either is right: a difference is
accepted only there, as a tie, and the text before it must be the same.
"""

import numpy as np
import pytest

from specdec_core.decoding.baseline import decode_plain, prefill_plain
from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.record import NoRecorder
from specdec_core.decoding.settings import RoundSettings, RunSettings, Sampling
from specdec_core.experiments.drafts import DRAFTS
from specdec_core.models.loading import load_pair, load_spec
from tests.models import tiny
from tests.models.architectures import CONFIGS, WINDOW, random_model

TOKENS = 200
TIE = 1e-4
PROMPT = "Once upon a time there was a king, and once upon a time"
GAMMA = {"prompt-lookup": 6, "suffix": 6, "bfloat16": 3, "int8": 3, "lookup-or-model": 3}
"""Draft length of each kind that is kept more often than not here; the others draft one token."""


@pytest.fixture(params=[*CONFIGS, "embedded"], scope="module")
def pair(request, tmp_path_factory):
    if request.param == "embedded":
        return load_pair("embedded")
    folder, words = tmp_path_factory.mktemp("pair"), tiny.tokenizer()
    for name, layers, seed in (("target", 3, 11), ("draft", 1, 12)):
        tiny.save(folder / name, random_model(request.param, len(words), layers=layers, seed=seed), words)
    return load_spec(
        tiny.folder_pair("tiny", "Tiny", request.param, folder / "target", folder / "draft", "Apache-2.0")
    )


@pytest.fixture(scope="module")
def plain(pair):
    run = RunSettings(pair.encode(PROMPT), "greedy", max_new_tokens=TOKENS)
    target = pair.target()
    prefill_plain(target, run)
    return [token.id for token in decode_plain(target, run, Sampling())]


def gap_after(pair, ids):
    """Difference of the target's two best logits after these tokens."""
    best = pair.target().feed(ids, keep=1)[0].topk(2).values
    return float(best[0] - best[1])


@pytest.mark.parametrize("kind", DRAFTS)
def test_greedy_with_any_draft_equals_plain_greedy_over_200_tokens(pair, plain, kind):
    run = RunSettings(pair.encode(PROMPT), "greedy", max_new_tokens=TOKENS)
    decoder = Decoder(pair.target(), DRAFTS[kind].build(pair), run, NoRecorder())
    decoder.prefill()
    gamma = GAMMA.get(kind, 1)
    assert len(list(decoder.rounds(RoundSettings(gamma)))) <= TOKENS
    assert len(decoder.emitted) == len(plain) == TOKENS
    differing = np.flatnonzero(np.array(decoder.emitted) != plain)
    if len(differing):
        place = int(differing[0])
        gap = gap_after(pair, decoder.ids[: len(run.prompt_ids) + place])
        assert gap < TIE, f"token {place} differs, and the target's best two are {gap:.2g} apart"


def test_the_sliding_window_is_far_shorter_than_the_text():
    assert 2 * WINDOW < TOKENS
