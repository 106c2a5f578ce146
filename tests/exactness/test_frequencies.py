"""Seeded frequency tests: what the decoder emits with its own draws has the target's law."""

from collections import Counter
from functools import cache

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.filters import law
from specdec_core.decoding.record import NoRecorder
from specdec_core.decoding.types import RoundSettings, RunSettings, Sampling
from specdec_core.drafting.model import ModelDrafter
from specdec_core.models.loading import load_pair
from tests.decoding.toys import ToyModel, contextual, fixed

SIGNIFICANCE = 1e-3
"""A right decoder fails a test of this kind for one seed in a thousand; the seed is fixed."""

COMMON = 8
"""Expected counts from which on an outcome is counted by itself."""


def emit(target, draft, rule, gamma, sampling, seed, prompt, limit):
    """The first tokens of one run, and how many rounds they took."""
    run = RunSettings(prompt, rule, seed, max_new_tokens=limit)
    decoder = Decoder(target(), ModelDrafter(draft(), "draft"), run, NoRecorder())
    decoder.prefill()
    rounds = sum(1 for _ in decoder.rounds(RoundSettings(gamma, sampling)))
    return tuple(decoder.emitted), rounds


def p_value(counts: Counter, expected: dict[tuple[int, ...], float]) -> float:
    """Chi-square of counts against exact probabilities, rare outcomes taken together."""
    total = sum(counts.values())
    common = [key for key, p in expected.items() if p * total >= COMMON]
    observed = [counts[key] for key in common]
    wanted = [expected[key] * total for key in common]
    if total - sum(wanted) > 1e-6 * total:
        observed.append(total - sum(observed))
        wanted.append(total - sum(wanted))
    assert len(wanted) >= 3
    return chisquare(observed, np.array(wanted) * total / sum(wanted)).pvalue


def two_token_law(logits, vocab_size, sampling, prompt, least=1e-9) -> dict[tuple[int, ...], float]:
    """Exact probabilities of two tokens under the target alone, the first more probable than ``least``."""

    def row(prefix):
        return law(torch.tensor(np.array([logits(prefix)]), dtype=torch.float32), sampling, prefix)[0].numpy()

    first = row(prompt)
    return {
        (a, b): first[a] * p
        for a in np.flatnonzero(first > least).tolist()
        for b, p in enumerate(row((*prompt, a)))
    }


@pytest.mark.parametrize(
    ("rule", "sampling"),
    [
        ("speculative sampling", Sampling()),
        ("speculative sampling", Sampling(0.7, top_k=6, top_p=0.95)),
        ("exact match", Sampling()),
    ],
    ids=str,
)
def test_twenty_thousand_rounds_on_a_small_vocabulary_have_the_targets_law(rule, sampling):
    target, draft = contextual(51, 8), contextual(52, 8)
    counts, rounds, seed = Counter(), 0, 0
    while rounds < 20_000:
        tokens, used = emit(
            lambda: ToyModel(target, 8), lambda: ToyModel(draft, 8), rule, 1, sampling, seed, (0,), 2
        )
        counts[tokens] += 1
        rounds, seed = rounds + used, seed + 1
    assert p_value(counts, two_token_law(target, 8, sampling, (0,))) > SIGNIFICANCE


def test_the_frequencies_would_show_a_soft_q_behind_an_argmax_draft():
    """B01: [0.8, 0.2] against [0.6, 0.4] used to give [0.75, 0.25]; ours gives 0.6."""
    sampling, counts = Sampling(), Counter()
    for seed in range(4_000):
        models = (lambda: ToyModel(fixed(0.6, 0.4), 2), lambda: ToyModel(fixed(0.8, 0.2), 2))
        tokens, _ = emit(*models, "speculative sampling", 3, sampling, seed, (0,), 1 + 1)
        counts[tokens[0]] += 1
    assert abs(counts[0] / 4_000 - 0.6) < 3 * np.sqrt(0.6 * 0.4 / 4_000)


@pytest.fixture(scope="module")
def embedded():
    """The embedded models behind memoised logits, so that many runs share their passes."""
    pair = load_pair("embedded")

    def memo(sequence):
        @cache
        def logits(prefix):
            model = sequence()
            return model.feed(list(prefix), keep=1)[0].numpy()

        return logits

    return pair, memo(pair.target), memo(pair.draft)


def test_twenty_thousand_rounds_on_the_embedded_pair_have_the_targets_law_of_two_tokens(embedded):
    pair, target, draft = embedded
    size, sampling = pair.info.vocab_size, Sampling(0.8)
    prompt = pair.encode("Once upon a time there was a king who had")
    counts, rounds, seed = Counter(), 0, 0
    while rounds < 20_000:
        models = (lambda: ToyModel(target, size), lambda: ToyModel(draft, size))
        tokens, used = emit(*models, "speculative sampling", 1, sampling, seed, prompt, 2)
        counts[tokens] += 1
        rounds, seed = rounds + used, seed + 1
    # Where the first token is rarer than this, no pair is common enough to be counted by itself.
    least = COMMON / 20_000
    assert p_value(counts, two_token_law(target, size, sampling, prompt, least)) > SIGNIFICANCE
