"""A run warms up, anneals to its end, and ends when its budget is spent."""

import pytest

from specdec_core.training.schedule import Budget, learning_rate_factor


def test_the_learning_rate_rises_stays_and_falls_to_almost_nothing():
    factors = [learning_rate_factor(i / 100) for i in range(101)]
    assert factors[0] < 0.1
    assert factors[10] == factors[50] == 1.0
    assert all(a >= b for a, b in zip(factors[50:], factors[51:], strict=False))
    assert factors[100] == pytest.approx(0.01)


def test_whichever_limit_is_reached_first_ends_the_run():
    budget = Budget(tokens=1000, seconds=10)
    assert budget.progress(tokens=500, seconds=1) == 0.5
    assert budget.progress(tokens=100, seconds=9) == 0.9
    assert budget.progress(tokens=2000, seconds=0) == 1.0


@pytest.mark.parametrize("limits", [{}, {"tokens": 0}, {"tokens": -5}, {"seconds": float("inf")}])
def test_a_budget_without_an_end_is_refused(limits):
    with pytest.raises(ValueError, match="tokens or seconds"):
        Budget(**limits)
