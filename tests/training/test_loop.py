"""A resumed run ends with the weights of an uninterrupted one, and training teaches."""

import numpy as np
import pytest
import torch

from specdec_core.training.language import nats, next_token_loss
from specdec_core.training.loop import Recipe, Run
from specdec_core.training.schedule import Budget
from specdec_core.training.shapes import new_model, shape

TINY = shape(layers=1, hidden=64, intermediate=64)
RECIPE = Recipe(budget=Budget(tokens=12 * 256), batch_tokens=256, window=32, long_window=64)
STREAM = np.tile(np.arange(1, 40), 60)


def _run(folder, name="run", recipe=RECIPE):
    model = new_model(TINY, seed=5)
    lines = []
    return Run(model, next_token_loss(STREAM, seed=5), recipe, folder / f"{name}.pt", lines.append), lines


def test_a_resumed_run_ends_with_the_same_weights(tmp_path):
    whole, _ = _run(tmp_path, "whole")
    whole.train()
    first, _ = _run(tmp_path, "parts")
    first.train(steps=5)
    second, _ = _run(tmp_path, "parts")
    assert second.position.step == 5
    second.train()
    assert second.position.tokens == whole.position.tokens
    for wanted, found in zip(whole.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(wanted, found)


def test_a_finished_run_takes_no_further_step(tmp_path):
    run, _ = _run(tmp_path)
    run.train()
    again, _ = _run(tmp_path)
    before = again.position.step
    again.train()
    assert again.position.step == before


def test_the_last_part_of_a_run_uses_long_windows():
    assert RECIPE.window_at(0.5) == 32
    assert RECIPE.window_at(0.9) == 64


def test_training_lowers_the_loss_and_says_how_it_goes(tmp_path):
    run, lines = _run(
        tmp_path, recipe=Recipe(Budget(tokens=60 * 256), batch_tokens=256, window=32, long_window=64)
    )
    before = nats(run.model, STREAM[:500]) / 499
    run.train()
    assert nats(run.model, STREAM[:500]) / 499 < 0.5 * before
    assert "tokens/s" in lines[-1] and "100% done" in lines[-1]


def test_total_surprise_counts_every_token_but_the_first_once():
    model = new_model(TINY, seed=5)
    with torch.no_grad():
        model.model.embed_tokens.weight.zero_()
    assert nats(model, STREAM[:100], window=32) == pytest.approx(99 * np.log(1024), rel=1e-5)
