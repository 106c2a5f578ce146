"""A lean pass computes what transformers' own pass does, and stands in only where it can."""

import pytest
import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from specdec_core.decoding.cache import CachedModel
from specdec_core.models import lean as lean_module
from specdec_core.models.lean import LeanLlama, lean


def llama(**changes) -> LlamaForCausalLM:
    torch.manual_seed(0)
    shape = {
        "vocab_size": 60,
        "hidden_size": 48,
        "intermediate_size": 80,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "max_position_embeddings": 300,
        "initializer_range": 0.3,
    }
    return LlamaForCausalLM(LlamaConfig(**{**shape, **changes})).eval()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_key_value_heads": 2},
        {"num_key_value_heads": 1},
        {"head_dim": 20},
        {"tie_word_embeddings": True},
        {"rms_norm_eps": 1e-2},
        {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}},
    ],
    ids=str,
)
def test_it_gives_transformers_logits_after_any_feeding_and_rewinding(changes):
    module = llama(**changes)
    ids = torch.randint(0, 60, (280,), generator=torch.Generator().manual_seed(1)).tolist()
    with torch.inference_mode():
        expected = module(torch.tensor([ids]), use_cache=False).logits[0]
    model = CachedModel(LeanLlama(module))
    for start, end, rewound in [(0, 1, 1), (1, 40, 40), (40, 45, 42), (42, 43, 43), (43, 280, 7), (7, 9, 9)]:
        assert torch.allclose(model.feed(ids[start:end], end - start), expected[start:end], atol=1e-4)
        model.rewind(rewound)


def test_tables_grow_with_what_is_read_and_never_to_the_whole_of_a_long_context(monkeypatch):
    monkeypatch.setattr(lean_module, "PLACES", 16)
    module = llama(max_position_embeddings=10**7)
    ids = torch.randint(0, 60, (90,), generator=torch.Generator().manual_seed(2)).tolist()
    with torch.inference_mode():
        expected = module(torch.tensor([ids]), use_cache=False).logits[0]
    passes = LeanLlama(module)
    model = CachedModel(passes)
    for start, end in [(0, 10), (10, 20), (20, 90)]:
        assert torch.allclose(model.feed(ids[start:end], end - start), expected[start:end], atol=1e-4)
    assert len(passes._rotation.tables[0]) <= 2 * 90


def test_only_the_last_logits_are_made_when_only_they_are_wanted():
    model = CachedModel(LeanLlama(llama()))
    assert model.feed([1, 2, 3, 4], keep=2).shape == (2, 60)


@pytest.mark.parametrize(
    "module",
    [
        llama(attention_bias=True),
        llama(mlp_bias=True),
        llama(hidden_act="gelu"),
        llama(rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}),
        llama().to(torch.bfloat16),
        GPT2LMHeadModel(GPT2Config(vocab_size=20, n_embd=16, n_layer=1, n_head=2)).eval(),
    ],
    ids=["attention bias", "feed-forward bias", "gelu", "dynamic positions", "bfloat16", "GPT-2"],
)
def test_what_it_does_not_compute_keeps_transformers_own_pass(module):
    assert lean(module) is module
    assert isinstance(lean(module), nn.Module)


def test_a_plain_small_llama_gets_it():
    assert isinstance(lean(llama()), LeanLlama)
