"""The algebra of the verification rules, without sampling."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core.decoding.draws import Draws
from specdec_core.decoding.rules import RULES, lacks_residual, overlap, ratio_accept, residual


def distribution(size: int):
    """Distributions with zeros, near-zeros and exact ties among their entries."""
    entry = st.one_of(st.just(0.0), st.sampled_from([1.0, 1e-300, 1e-12]), st.floats(1e-6, 1.0))
    return st.lists(entry, min_size=size, max_size=size).filter(lambda w: sum(w) > 1e-6).map(
        lambda w: torch.tensor(w, dtype=torch.float64) / sum(w)
    )


pairs = st.integers(2, 12).flatmap(lambda size: st.tuples(distribution(size), distribution(size)))


@settings(deadline=None, max_examples=300)
@given(pairs)
def test_accepted_mass_plus_corrected_mass_is_the_target_exactly(pair):
    """Leviathan et al. 2023, appendix A.1: min(p, q) + (1 − β)·residual = p for any q."""
    p, q = (row.unsqueeze(0) for row in pair)
    output = torch.minimum(p, q) + (1 - overlap(q, p)).unsqueeze(-1) * residual(q, p)
    assert torch.allclose(output, p, atol=1e-12)


@settings(deadline=None, max_examples=200)
@given(pairs, st.integers(0, 11))
def test_the_predicate_keeps_a_share_of_min_1_p_over_q(pair, token):
    p, q = pair
    token %= len(p)
    if q[token] == 0.0:
        return
    ids = torch.tensor([token])
    target = torch.stack([p, p])
    low, high = 0.0, 1.0
    for _ in range(60):  # bisect the one threshold of the product's own predicate
        middle = (low + high) / 2
        kept = bool(ratio_accept(ids, q.unsqueeze(0), target, np.array([middle]), np.zeros(2)))
        low, high = (middle, high) if kept else (low, middle)
    assert low == pytest.approx(min(1.0, float(p[token] / q[token])), abs=1e-12)


def test_the_strict_test_rejects_a_token_without_target_probability_even_at_u_zero():
    q = torch.tensor([[0.5, 0.5]], dtype=torch.float64)
    p = torch.tensor([[0.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
    assert not ratio_accept(torch.tensor([0]), q, p, np.array([0.0]), np.zeros(2))


def test_a_residual_without_mass_falls_back_to_the_target_and_says_so():
    p = torch.tensor([[0.25, 0.75], [0.5, 0.5]], dtype=torch.float64)
    q = torch.tensor([[0.25, 0.75], [0.9, 0.1]], dtype=torch.float64)
    assert torch.equal(residual(q, p)[0], p[0])
    assert lacks_residual(q, p).tolist() == [True, False]
    assert not residual(q, p).isnan().any()


def test_the_residual_is_aligned_by_token_id_whatever_each_side_keeps():
    p = torch.tensor([[0.6, 0.4, 0.0, 0.0]], dtype=torch.float64)
    q = torch.tensor([[0.0, 0.3, 0.7, 0.0]], dtype=torch.float64)
    assert torch.allclose(residual(q, p), torch.tensor([[0.6, 0.1, 0.0, 0.0]]).double() / 0.7)
    assert float((p - q).clamp_min(0).sum()) == pytest.approx(1 - float(overlap(q, p)))


def test_resampling_from_the_target_instead_of_the_residual_would_be_wrong():
    """The demonstration of theory.md 2d: (.40, .32, .28) instead of (.5, .3, .2)."""
    p = torch.tensor([[0.5, 0.3, 0.2]], dtype=torch.float64)
    q = torch.tensor([[0.2, 0.2, 0.6]], dtype=torch.float64)
    wrong = torch.minimum(p, q) + (1 - overlap(q, p)) * p
    assert torch.allclose(wrong, torch.tensor([[0.40, 0.32, 0.28]]).double())


@settings(deadline=None, max_examples=100)
@given(pairs)
def test_exact_match_keeps_at_most_what_the_ratio_test_keeps(pair):
    p, q = (row.unsqueeze(0) for row in pair)
    ratio, exact = RULES["speculative sampling"].expected(q, p), RULES["exact match"].expected(q, p)
    assert float(exact) <= float(ratio) + 1e-12


def test_exact_match_keeps_a_draft_just_when_it_is_the_targets_own_draw():
    generator = torch.Generator().manual_seed(1)
    p = torch.rand(9, 5, generator=generator, dtype=torch.float64)
    p /= p.sum(-1, keepdim=True)
    u = Draws(5).correct(0, 9)
    own = [int(np.searchsorted(row.cumsum(0).numpy(), v * float(row.cumsum(0)[-1]), "right"))
           for row, v in zip(p, u, strict=True)]  # fmt: skip
    drafts = torch.tensor(own[:8])
    drafts[3] = (drafts[3] + 1) % 5
    kept = RULES["exact match"].accept(drafts, p[:8], p, np.zeros(8), u)
    assert kept.tolist() == [True] * 3 + [False] + [True] * 4


def test_greedy_ties_go_to_the_lowest_id():
    p = torch.tensor([[0.4, 0.4, 0.2]] * 2, dtype=torch.float64)
    keep = RULES["greedy"].accept
    assert bool(keep(torch.tensor([0]), p[:1], p, np.zeros(1), np.zeros(2)))
    assert not bool(keep(torch.tensor([1]), p[:1], p, np.zeros(1), np.zeros(2)))


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.name)
def test_every_replacement_law_is_a_distribution(rule):
    generator = torch.Generator().manual_seed(2)
    p, q = (torch.rand(6, 30, generator=generator, dtype=torch.float64).softmax(-1) for _ in range(2))
    laws = rule.replacement(q, p)
    assert torch.allclose(laws.sum(-1), torch.ones(6).double())
    assert bool((laws >= 0).all())
