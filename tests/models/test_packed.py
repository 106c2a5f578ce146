"""Packed layers give what plain ones give, in every shape that a run uses."""

import copy

import pytest
import torch
from torch import nn
from transformers import GenerationConfig

from specdec_core.decoding.cache import CachedModel
from specdec_core.models.packed import PackedLinear, can_pack, pack_linears, pays

from .tiny import model

needs_packing = pytest.mark.skipif(not can_pack(), reason="this build of torch has no oneDNN")


def packed_copy(plain):
    packed = copy.deepcopy(plain)
    for parameter in packed.parameters():
        parameter.requires_grad_(False)
    assert pack_linears(packed) > 0
    return packed


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "untied"])
def models(request):
    plain = model(320, layers=2, seed=3, width=384, tied=request.param)
    return plain, packed_copy(plain)


@needs_packing
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 3, 5, 9, 16, 100])
def test_a_packed_layer_equals_a_plain_one(rows, bias):
    torch.manual_seed(rows)
    linear = nn.Linear(320, 864, bias=bias)
    for shape in [(rows, 320), (1, rows, 320), (2, rows, 320)]:
        x = torch.randn(shape)
        with torch.inference_mode():
            torch.testing.assert_close(PackedLinear(linear)(x), linear(x), atol=2e-5, rtol=1e-5)


@needs_packing
def test_rows_that_are_not_contiguous_are_multiplied_correctly():
    linear = nn.Linear(320, 320)
    x = torch.randn(1, 320, 7).transpose(1, 2)
    with torch.inference_mode():
        torch.testing.assert_close(PackedLinear(linear)(x), linear(x), atol=2e-5, rtol=1e-5)


@needs_packing
@torch.inference_mode()
def test_a_packed_model_gives_the_same_logits(models):
    plain, packed = models
    ids = torch.randint(0, 320, (1, 40))
    torch.testing.assert_close(packed(ids).logits, plain(ids).logits, atol=1e-4, rtol=1e-4)


@needs_packing
def test_a_packed_model_gives_the_same_logits_after_a_rewind(models):
    plain, packed = (CachedModel(module) for module in models)
    for sequence in (plain, packed):
        sequence.feed(range(1, 30), keep=1)
        sequence.feed([5, 6, 7, 8, 9], keep=5)
        sequence.rewind(31)
    for ids in ([3], [4, 5], [6, 7, 8, 9, 10]):
        torch.testing.assert_close(
            packed.feed(ids, keep=len(ids)), plain.feed(ids, keep=len(ids)), atol=1e-4, rtol=1e-4
        )


@needs_packing
def test_transformers_own_generate_writes_the_same_tokens(models):
    plain, packed = models
    config = GenerationConfig(max_new_tokens=20, do_sample=False, eos_token_id=None, pad_token_id=0)
    prompt = torch.tensor([[1, 2, 3]])
    first, second = (module.generate(prompt, generation_config=config) for module in (plain, packed))
    assert torch.equal(first, second)


@needs_packing
def test_a_tied_embedding_keeps_its_weight(models):
    plain, packed = models
    ids = torch.tensor([[1, 2, 3]])
    assert torch.equal(packed.get_input_embeddings()(ids), plain.get_input_embeddings()(ids))
    assert packed.dtype is torch.float32


def test_small_layers_and_other_formats_are_left_alone():
    assert not pays(nn.Linear(64, 64))
    assert not pays(nn.Linear(864, 320).bfloat16())
    assert not pays(nn.Linear(864, 320, device="meta"))
    small = nn.Sequential(nn.Linear(64, 64))
    assert pack_linears(small) == 0
    assert type(small[0]) is nn.Linear


def test_without_onednn_nothing_changes(monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    large = nn.Sequential(nn.Linear(864, 320))
    assert pack_linears(large) == 0
    assert type(large[0]) is nn.Linear
