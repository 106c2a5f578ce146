"""Packed layers give what plain ones give, in every shape that a run uses."""

import copy

import pytest
import torch
from torch import nn
from transformers import GenerationConfig

from specdec_core.decoding.cache import CachedModel
from specdec_core.models.packed import (
    DoubleLinear,
    PackedLinear,
    TurnedLinear,
    can_pack,
    layout,
    pack_linears,
)

from .tiny import model

LAYOUTS = [TurnedLinear, *([PackedLinear, DoubleLinear] if can_pack() else [])]


def packed_copy(plain):
    packed = copy.deepcopy(plain)
    for parameter in packed.parameters():
        parameter.requires_grad_(False)
    assert pack_linears(packed) > 0
    return packed


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "untied"])
def models(request):
    # Wide enough that some layers are large.
    plain = model(320, layers=2, seed=3, width=800, tied=request.param)
    return plain, packed_copy(plain)


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 3, 5, 9, 16, 100])
def test_either_layout_equals_a_plain_layer(kind, rows, bias):
    torch.manual_seed(rows)
    linear = nn.Linear(320, 864, bias=bias)
    for shape in [(rows, 320), (1, rows, 320), (2, rows, 320)]:
        x = torch.randn(shape)
        with torch.inference_mode():
            torch.testing.assert_close(kind(linear)(x), linear(x), atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", LAYOUTS)
def test_rows_that_are_not_contiguous_are_multiplied_correctly(kind):
    linear = nn.Linear(320, 320)
    x = torch.randn(1, 320, 7).transpose(1, 2)
    with torch.inference_mode():
        torch.testing.assert_close(kind(linear)(x), linear(x), atol=2e-5, rtol=1e-5)


@torch.inference_mode()
def test_a_packed_model_gives_the_same_logits(models):
    plain, packed = models
    ids = torch.randint(0, 320, (1, 40))
    torch.testing.assert_close(packed(ids).logits, plain(ids).logits, atol=1e-4, rtol=1e-4)


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


def test_transformers_own_generate_writes_the_same_tokens(models):
    plain, packed = models
    config = GenerationConfig(max_new_tokens=20, do_sample=False, eos_token_id=None, pad_token_id=0)
    prompt = torch.tensor([[1, 2, 3]])
    first, second = (module.generate(prompt, generation_config=config) for module in (plain, packed))
    assert torch.equal(first, second)


def test_a_tied_embedding_keeps_its_weight(models):
    plain, packed = models
    ids = torch.tensor([[1, 2, 3]])
    assert torch.equal(packed.get_input_embeddings()(ids), plain.get_input_embeddings()(ids))
    assert packed.dtype is torch.float32


def test_each_layer_gets_the_layout_that_suits_its_size():
    mixed = nn.Sequential(nn.Linear(320, 864), nn.ReLU(), nn.Linear(864, 1024))
    pack_linears(mixed)
    small, large = (DoubleLinear, PackedLinear) if can_pack() else (TurnedLinear, nn.Linear)
    assert [type(layer) for layer in mixed] == [small, nn.ReLU, large]


def test_other_formats_and_devices_are_left_alone():
    assert layout(nn.Linear(864, 320).bfloat16()) is None
    assert layout(nn.Linear(864, 320, device="meta")) is None


def test_without_onednn_large_layers_are_left_alone(monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    layers = nn.Sequential(nn.Linear(864, 1024), nn.Linear(320, 320))
    assert pack_linears(layers) == 1
    assert [type(layer) for layer in layers] == [nn.Linear, TurnedLinear]
