"""Draws are counted, never streamed."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from specdec_core.decoding.draws import Draws, draw, intervals

weights = st.lists(st.floats(0.0, 1e6), min_size=1, max_size=60).filter(lambda w: sum(w) > 0)
units = st.floats(0.0, 1.0, exclude_max=True)


def test_a_draw_depends_on_what_it_decides_and_on_nothing_else():
    first, second = Draws(42), Draws(42)
    second.accept(0, 100), second.draft(9, 3)
    assert first.draft(17, 4) == second.draft(17, 4)
    assert np.array_equal(first.accept(5, 8)[3:], second.accept(8, 5))
    assert np.array_equal(first.correct(0, 4)[2:], second.correct(2, 2))


def test_seeds_branches_purposes_indices_and_rounds_have_draws_of_their_own():
    base = Draws(1)
    values = [
        base.draft(5, 0), base.draft(5, 1), base.draft(6, 0), base.accept(5, 1)[0], base.correct(5, 1)[0],
        Draws(2).draft(5, 0), Draws(1, branch=1).draft(5, 0), Draws(2**64 - 1).draft(5, 0),
    ]  # fmt: skip
    assert len(set(values)) == len(values)


def test_uniforms_are_uniform_and_have_53_bits():
    values = Draws(3).accept(0, 20_000)
    assert values.min() >= 0.0 and values.max() < 1.0
    assert np.array_equal(values * 2**53, np.floor(values * 2**53))
    counts, _ = np.histogram(values, bins=20, range=(0, 1))
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8  # chi-square, 19 degrees, p = 0.001


@given(weights, units)
def test_a_token_without_probability_is_never_drawn(weights, u):
    probs = torch.tensor(weights, dtype=torch.float64)
    token = draw(probs, u)
    assert 0 <= token < len(weights)
    assert probs[token] > 0.0


@pytest.mark.parametrize("vocab_size", [2, 3, 50257, 151_936])
def test_the_last_uniform_below_one_stays_inside_any_vocabulary(vocab_size):
    probs = torch.zeros(vocab_size, dtype=torch.float64)
    probs[0] = probs[1] = 0.5
    assert draw(probs, 1.0 - 2.0**-53) == 1


@given(weights, units)
def test_the_interval_behind_a_draw_holds_its_uniform(weights, u):
    probs = torch.tensor(weights, dtype=torch.float64)
    laws = probs.unsqueeze(0)
    low, high = intervals(laws, laws.cumsum(-1), torch.tensor([draw(probs, u)]))[0].tolist()
    assert low - 1e-9 <= u <= high + 1e-9
