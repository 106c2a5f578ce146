"""Seeded frequency tests of the whole catalogue: with every draft, sampled text has the target's law.

The kinds are built as for a visitor, over a tiny pair whose passes are memoised so that many
runs share them.
"""

from collections import Counter

import pytest

from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.record import NoRecorder
from specdec_core.decoding.settings import RoundSettings, RunSettings, Sampling
from specdec_core.experiments.drafts import DRAFTS, DraftSettings, make_drafter
from specdec_core.models.loading import load_spec
from specdec_core.models.pair import LoadedModel
from tests.decoding.toys import ToyModel, memoised
from tests.exactness.test_frequencies import SIGNIFICANCE, p_value, two_token_law
from tests.models import tiny

RUNS = 400
SAMPLING = Sampling(0.9, top_k=3)
PROMPT = "Once upon a time there was a king, and once upon a time"
SETTINGS = [*map(DraftSettings, DRAFTS), DraftSettings.of("model", tokens="argmax")]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder, words = tmp_path_factory.mktemp("pair"), tiny.tokenizer()
    models = (tiny.model(len(words), layers=layers, seed=layers) for layers in (3, 1))
    folders = [tiny.save(folder / name, model, words) for name, model in zip("td", models, strict=True)]
    spec = tiny.folder_pair("tiny", "Tiny", "A random pair.", *folders, "Apache-2.0")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LoadedModel, "sequence", memoising(LoadedModel.sequence))
        yield load_spec(spec)


def memoising(sequence):
    """Instead of a model with a cache, one that remembers its logits after every prefix."""
    known = {}

    def memo(model):
        key = model.info.name, model.info.layers
        if key not in known:
            feed = lambda prefix: sequence(model).feed(list(prefix), keep=1)[0].numpy()  # noqa: E731
            known[key] = memoised(feed), sequence(model).vocab_size
        return ToyModel(*known[key])

    return memo


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_two_sampled_tokens_have_the_targets_law(pair, settings):
    prompt, counts, drafted = pair.encode(PROMPT), Counter(), 0
    for seed in range(RUNS):
        run = RunSettings(prompt, "speculative sampling", seed, max_new_tokens=3)
        decoder = Decoder(pair.target(), make_drafter(pair, settings), run, NoRecorder())
        decoder.prefill()
        drafted += sum(len(round.drafted) for round in decoder.rounds(RoundSettings(2, SAMPLING)))
        counts[tuple(decoder.emitted[:2])] += 1
    assert drafted >= RUNS / 2, "this says something only if tokens are drafted"
    target = lambda prefix: pair.target().feed(list(prefix), keep=1)[0].numpy()  # noqa: E731
    assert p_value(counts, two_token_law(target, pair.info.vocab_size, SAMPLING, prompt)) > SIGNIFICANCE
