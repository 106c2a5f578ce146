"""A target with layers left out: the layers that stay are the target's own, in their order."""

import pytest
import torch
from torch import nn

from specdec_core.decoding.cache import CachedModel
from specdec_core.models.lean import LeanLlama
from specdec_core.models.shallow import can_leave_out_layers, early_exit, only_layers, skipping
from tests.models.architectures import CONFIGS, random_model

V, LAYERS = 40, 5
IDS = torch.randint(0, V, (48,), generator=torch.Generator().manual_seed(2)).tolist()


@pytest.fixture(params=CONFIGS, scope="module")
def module(request):
    return random_model(request.param, V, layers=LAYERS, seed=3)


def blocks(module):
    return next(child for child in module.base_model.children() if isinstance(child, nn.ModuleList))


@torch.inference_mode()
def cut_down(module, layers):
    """The logits of the module itself while the other layers pass their input on."""
    passed = [
        block.register_forward_hook(lambda block, inputs, output: inputs[0])
        for layer, block in enumerate(blocks(module))
        if layer not in layers
    ]
    logits = module(torch.tensor([IDS]), use_cache=False).logits[0]
    for hook in passed:
        hook.remove()
    return logits


SELECTIONS = [early_exit(1), early_exit(4), skipping(LAYERS, 2), (1, 3), early_exit(LAYERS)]


@pytest.mark.parametrize("layers", SELECTIONS, ids=str)
def test_it_runs_just_these_layers_with_a_cache_of_its_own(module, layers):
    expected = cut_down(module, layers)
    model = CachedModel(only_layers(module, layers))
    rows = [model.feed(IDS[:20], keep=20), *(model.feed([token], keep=1) for token in IDS[20:30])]
    model.rewind(25)
    rows = [torch.cat(rows)[:25], model.feed(IDS[25:], keep=len(IDS) - 25)]
    assert torch.allclose(torch.cat(rows), expected, atol=1e-4)
    assert len(model._cache.layers) == len(layers)


def test_weights_are_shared_and_the_target_is_untouched(module):
    before = cut_down(module, range(LAYERS))
    twin = only_layers(module, (0, 3))
    own = {parameter.data_ptr() for parameter in module.parameters()}
    assert {parameter.data_ptr() for parameter in twin.parameters()} < own
    CachedModel(twin).feed(IDS, keep=1)
    assert module.config.num_hidden_layers == LAYERS and len(blocks(module)) == LAYERS
    assert torch.equal(cut_down(module, range(LAYERS)), before)


def test_a_lean_model_is_cut_down_like_the_module_it_stands_for():
    module = random_model("llama", V, layers=LAYERS, seed=4)
    model = CachedModel(only_layers(LeanLlama(module), (0, 2, 4)))
    assert torch.allclose(model.feed(IDS, keep=len(IDS)), cut_down(module, (0, 2, 4)), atol=1e-4)


@pytest.mark.parametrize("layers", [3, 4, 12, 30])
def test_any_number_of_inner_layers_can_be_skipped_and_the_ends_stay(layers):
    for skipped in range(1, layers - 1):
        kept = skipping(layers, skipped)
        assert len(kept) == layers - skipped
        assert kept[0] == 0 and kept[-1] == layers - 1 and list(kept) == sorted(set(kept))


def test_a_model_without_a_list_of_layers_is_refused():
    class Odd(nn.Module):
        base_model_prefix = "model"
        config = random_model("llama", V, layers=2, seed=0).config

    assert not can_leave_out_layers(Odd())
    with pytest.raises(ValueError, match="layers of a Odd"):
        only_layers(Odd(), (0,))
