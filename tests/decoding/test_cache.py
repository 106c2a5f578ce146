"""Rewinding forgets exactly what it should."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, Qwen3NextConfig

from specdec_core.decoding.cache import CachedModel, UnsupportedCache, rewindable_cache


@pytest.fixture(scope="module")
def module():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=700,
        initializer_range=0.3,
    )
    return LlamaForCausalLM(config).eval()


def whole(module, ids):
    with torch.inference_mode():
        return module(torch.tensor([ids]), use_cache=False).logits[0]


def test_logits_with_a_cache_equal_those_without_after_any_feeding_and_rewinding(module):
    """B38, B43, B45, and growing past the first buffer."""
    ids = torch.randint(0, 64, (600,), generator=torch.Generator().manual_seed(1)).tolist()
    model, expected = CachedModel(module), whole(module, ids)
    steps = [(0, 1, 1), (1, 9, 4), (4, 250, 250), (250, 255, 251), (251, 300, 7), (7, 600, 600)]
    for start, end, rewound in steps:
        assert torch.allclose(model.feed(ids[start:end], end - start), expected[start:end], atol=1e-4)
        model.rewind(rewound)
        assert model.length == rewound


def test_a_rewound_cache_forgets_what_was_fed(module):
    model = CachedModel(module)
    model.feed([1, 2, 3], 1)
    model.feed([9, 9, 9, 9], 1)
    model.rewind(3)
    assert torch.allclose(model.feed([4], 1), whole(module, [1, 2, 3, 4])[-1:], atol=1e-5)


def test_runs_share_weights_and_nothing_else(module):
    one, other = CachedModel(module), CachedModel(module)
    one.feed([1, 2, 3], 1)
    assert other.length == 0
    assert torch.allclose(other.feed([5], 1), whole(module, [5]), atol=1e-5)
    assert one.length == 3


def test_a_pass_that_fails_half_way_can_be_rewound(module):
    model = CachedModel(module)
    model.feed([1, 2, 3], 1)
    broken = module.model.layers[1].register_forward_pre_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.feed([7, 8], 1)
    broken.remove()
    model.rewind(3)
    assert torch.allclose(model.feed([4], 1), whole(module, [1, 2, 3, 4])[-1:], atol=1e-5)


def test_an_empty_cache_takes_no_memory_and_can_be_filled_again(module):
    model = CachedModel(module)
    assert model.nbytes == 0
    model.feed([1, 2, 3], 1)
    assert model.nbytes > 0
    model.rewind(0)
    assert model.nbytes == 0
    assert torch.allclose(model.feed([1, 2, 3, 4], 1), whole(module, [1, 2, 3, 4])[-1:], atol=1e-5)


def test_logits_are_brought_to_where_laws_are_computed_as_float32(module):
    model = CachedModel(module, logits_on=torch.device("meta"))
    logits = model.feed([1, 2, 3], 2)
    assert (logits.device.type, logits.dtype, logits.shape) == ("meta", torch.float32, (2, 64))
    assert CachedModel(module).feed([1], 1).device.type == "cpu"


@pytest.mark.parametrize("length", [-1, 4])
def test_rewinding_to_where_the_cache_never_was_is_refused(module, length):
    model = CachedModel(module)
    model.feed([1, 2, 3], 1)
    with pytest.raises(ValueError, match="cannot rewind"):
        model.rewind(length)


def test_a_window_of_attention_slides_on_after_any_rewind():
    """B40, B44: keys that left the window come back into it when drafts are rejected."""
    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=128, sliding_window=8, initializer_range=0.3,
    )  # fmt: skip
    sliding = MistralForCausalLM(config).eval()
    ids = torch.randint(0, 64, (40,), generator=torch.Generator().manual_seed(1)).tolist()
    model, expected = CachedModel(sliding), whole(sliding, ids)
    steps = [(0, 5, 5), (5, 8, 7), (7, 8, 8), (8, 9, 9), (9, 14, 10), (10, 30, 19), (19, 40, 40)]
    for start, end, rewound in steps:
        assert torch.allclose(model.feed(ids[start:end], end - start), expected[start:end], atol=1e-4)
        model.rewind(rewound)
    config.sliding_window = None
    assert not torch.allclose(whole(sliding, ids)[-1], expected[-1], atol=1e-2), "the window matters here"


def test_a_recurrent_model_is_refused_by_name():
    """B40: a state that has moved on cannot be moved back."""
    config = Qwen3NextConfig(vocab_size=16, hidden_size=16, num_hidden_layers=4)
    with pytest.raises(UnsupportedCache, match="LinearAttention"):
        rewindable_cache(config, 32)
