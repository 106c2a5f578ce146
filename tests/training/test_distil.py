"""The distances are what they claim, and the target's samples carry the target's logits."""

import numpy as np
import pytest
import torch

from specdec_core.training.overlap import forward_kl, overlap, total_variation
from specdec_core.training.sampling import PROMPT_KINDS, prompts, sample
from specdec_core.training.shapes import new_model, shape
from specdec_core.training.teaching import Shelf
from specdec_core.training.tokenizer import END_ID

TINY = shape(layers=2, hidden=64, intermediate=64)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_total_variation_is_one_minus_the_sum_of_the_smaller_probabilities(temperature):
    target, draft = torch.randn(2, 3, 5, 11, generator=torch.Generator().manual_seed(0))
    p, q = (torch.softmax(x / temperature, -1) for x in (target, draft))
    assert total_variation(target, draft, temperature).item() == pytest.approx(
        1 - torch.minimum(p, q).sum(-1).mean().item(), abs=1e-6
    )
    assert total_variation(target, draft, temperature).item() == pytest.approx(
        (p - q).abs().sum(-1).mean().item() / 2, abs=1e-6
    )


def test_the_overlap_of_the_worked_example():
    p, q = torch.tensor([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])
    assert overlap(p.log(), q.log()).item() == pytest.approx(0.5)


def test_equal_laws_are_at_no_distance():
    logits = torch.randn(4, 9, generator=torch.Generator().manual_seed(0))
    assert forward_kl(logits, logits + 3.0).item() == pytest.approx(0.0, abs=1e-6)
    assert total_variation(logits, logits + 3.0).item() == pytest.approx(0.0, abs=1e-6)


def test_sampled_rows_keep_their_prompt_and_the_logits_of_a_pass_without_cache():
    model = new_model(TINY, seed=1).eval()
    torch.nn.init.normal_(model.model.layers[0].self_attn.o_proj.weight)
    start = torch.tensor([[5, 6, 7], [9, 8, 7]])
    ids, logits = sample(model, start, 20, 1.0, torch.Generator().manual_seed(3))
    assert torch.equal(ids[:, :3], start)
    with torch.no_grad():
        assert torch.allclose(model(ids).logits, logits.float(), atol=1e-2)


def test_a_seed_gives_one_sample():
    model = new_model(TINY, seed=1).eval()
    one, two = (
        sample(model, torch.tensor([[5]]), 12, 0.7, torch.Generator().manual_seed(3))[0] for _ in range(2)
    )
    assert torch.equal(one, two)


def test_prompts_take_turns_and_openings_follow_an_end_token():
    stream = np.concatenate([[END_ID, 100 + n, *range(1, 80)] for n in range(9)])
    for number, (kind, length) in enumerate(PROMPT_KINDS):
        batch = prompts(stream, number, 5, seed=1)
        assert batch.shape == (5, length)
        if kind == "opening":
            assert (batch[:, 0] >= 100).all()


def test_an_interrupted_shelf_goes_on_where_it_stopped(tmp_path):
    shelf = Shelf(tmp_path, rows=5, length=3, vocabulary=4)
    asked = []

    def produce(first):
        asked.append(first)
        if asked == [0, 2]:
            raise KeyboardInterrupt
        return torch.full((2, 3), first), torch.full((2, 3, 4), float(first))

    with pytest.raises(KeyboardInterrupt):
        shelf.fill(produce, lambda line: None)
    shelf.fill(produce, lambda line: None)
    assert asked == [0, 2, 2, 4]
    ids, logits = shelf.batch(np.array([0, 4]))
    assert ids[:, 0].tolist() == [0, 4] == logits[:, 0, 0].tolist()
