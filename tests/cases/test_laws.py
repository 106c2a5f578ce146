"""Public bug reports about the law of the output, played on toy models."""

import itertools
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
import torch

from specdec_core.decoding import decoder
from specdec_core.decoding.draws import draw
from specdec_core.decoding.rules import RULES, residual
from specdec_core.decoding.types import RoundSettings, Sampling, Source
from tests.decoding.toys import contextual, fixed, run_toy, tokens, toy_decoder
from tests.exactness.test_enumeration import (
    GAMMA,
    SAMPLINGS,
    ChosenDraws,
    V,
    continued,
    emitted,
    ratio_courses,
    sequence_probability,
)

LARGEST_U = 1 - 2.0**-53
COLD_TO_HOT = [Sampling(t) for t in (0.0, 0.01, 0.2, 2.0)]
NARROW = [Sampling(top_k=1), Sampling(top_p=0.05), Sampling(min_p=0.5), Sampling(2.0, 2, 0.9, 0.1, 1.3)]


def below_one(draws):
    """The same uniforms, the middle of a hair-thin stretch at the end not rounded up to 1."""
    parts = (draws._draft, draws._accept, draws._correct)
    return ChosenDraws(*(np.minimum(part, LARGEST_U) for part in parts))


@pytest.mark.parametrize("sampling", [*COLD_TO_HOT, *NARROW], ids=str)
def test_the_output_law_is_exact_at_every_temperature_and_under_every_filter(sampling):
    """B02, B04, B09, B13: no jump as T goes to 0; target and draft keep different sets."""
    assert sampling not in SAMPLINGS
    target, draft = contextual(31, V), contextual(32, V, sharpness=1.0)
    weights = defaultdict(float)
    for draws, weight in ratio_courses(target, draft, sampling):
        draws = below_one(draws)
        weights[emitted(target, draft, "speculative sampling", sampling, draws)] += weight
    law = continued(target, sampling, weights)
    for path in itertools.product(range(V), repeat=GAMMA + 1):
        assert law[path] == pytest.approx(sequence_probability(target, sampling, path), abs=1e-12)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.6, top_k=4)])
def test_a_draft_equal_to_the_target_is_kept_whole_by_the_ratio_test_and_less_by_exact_match(sampling):
    """B07: exact match keeps Σ p², which is below 1 wherever something is drawn."""
    same, kept = contextual(3, 6), {}
    for rule in ("speculative sampling", "exact match"):
        rounds = run_toy(same, same, 6, 4, rule=rule, seed=5, max_new_tokens=200, sampling=sampling)
        kept[rule] = sum(r.accepted for r in rounds) / sum(r.tested for r in rounds)
        expected = np.concatenate([r.places.expected[: r.tested] for r in rounds]).mean()
        assert kept[rule] == pytest.approx(expected, abs=0.1)
    assert kept["speculative sampling"] == 1.0
    assert 0.2 < kept["exact match"] < 0.9


def test_a_draft_confined_like_the_target_is_never_rejected_for_lying_outside():
    """B09: with top-k 1 on both sides every draft is the draft's argmax, and p of it is 0 or 1."""
    rounds = run_toy(contextual(1, 9), contextual(2, 9), 9, 3, sampling=Sampling(top_k=1), max_new_tokens=60)
    for item in rounds:
        assert set(item.places.q.tolist()) <= {1.0} and set(item.places.p.tolist()) <= {0.0, 1.0}


def test_a_rejection_without_residual_emits_a_token_of_the_target_and_is_labelled(monkeypatch):
    """B12: an empty residual must not turn into token 0."""
    never = replace(
        RULES["speculative sampling"], accept=lambda ids, *rest: torch.zeros(len(ids), dtype=bool)
    )
    monkeypatch.setitem(decoder.RULES, "speculative sampling", never)
    for seed in range(20):
        first = run_toy(fixed(0, 0, 0.3, 0.7), fixed(0, 0, 0.3, 0.7), 4, 3, seed=seed, max_new_tokens=9)[0]
        assert first.places.residual_fallback.all()
        assert first.sources.tolist() == [Source.CORRECTION]
        assert first.emitted[0] in (2, 3)


@pytest.mark.parametrize("size", [50_257, 2_048, 3])
def test_no_uniform_leads_outside_the_vocabulary_or_to_a_token_without_mass(size):
    """B14: mass in the first ids alone, a vocabulary that is no multiple of anything."""
    generator = torch.Generator().manual_seed(size)
    p, q = (torch.zeros(40, size, dtype=torch.float64) for _ in range(2))
    for row in (p, q):
        row[:, :3] = torch.rand(40, 3, generator=generator, dtype=torch.float64) + 1e-9
        row /= row.sum(-1, keepdim=True)
    for laws in (p, q, residual(q, p)):
        for row in laws:
            for u in (0.0, 0.5, LARGEST_U):
                assert row[draw(row, u)] > 0


def test_without_drafting_the_draft_is_never_run():
    """B64: γ = 0 is plain decoding, not speculation with nothing in it."""
    run = toy_decoder(contextual(1, 6), contextual(2, 6), 6, prompt_ids=(0, 1, 2), max_new_tokens=12)
    read = list(run._drafter._model.passes)
    rounds = list(run.rounds(RoundSettings(0)))
    assert run._drafter._model.passes == read == [2]
    assert run._target.passes == [2] + [1] * 12
    plain = run_toy(contextual(1, 6), contextual(2, 6), 6, 0, rule="exact match", prompt_ids=(0, 1, 2),
                    max_new_tokens=12)  # fmt: skip
    assert tokens(rounds) == tokens(plain)
