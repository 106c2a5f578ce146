"""Public bug reports about kinds of models: each runs right, or is refused in words (B39 to B41, B44)."""

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BltConfig,
    Gemma2Config,
    Gemma4TextConfig,
    GptOssConfig,
    Llama4TextConfig,
    RobertaConfig,
    RwkvConfig,
    TrOCRConfig,
)

from specdec_core.decoding.cache import CachedModel
from specdec_core.models import facts
from specdec_core.models.errors import PairError
from specdec_core.models.trial import try_out

V, WINDOW = 64, 8
SIZE = {"vocab_size": V, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
GROUPED = SIZE | {
    "intermediate_size": 48, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 128,
    "initializer_range": 0.3, "pad_token_id": None,
}  # fmt: skip
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
WINDOWED = {
    "a window in every second layer": Gemma2Config(**GROUPED, sliding_window=WINDOW),
    "a window and experts": GptOssConfig(**GROUPED, **EXPERTS, sliding_window=WINDOW),
    "attention in chunks": Llama4TextConfig(
        **GROUPED, intermediate_size_mlp=48, num_local_experts=2, attention_chunk_size=WINDOW
    ),
}


def random_model(config):
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(config).eval().requires_grad_(False)


@torch.inference_mode()
@pytest.mark.parametrize("config", WINDOWED.values(), ids=WINDOWED)
def test_a_model_with_a_window_is_right_after_any_rewind_beyond_it(config):
    """B40: window 8, prompt of 10 and more, blocks of drafts rejected; equal to no cache at all."""
    module = random_model(config)
    ids = torch.randint(1, V, (40,), generator=torch.Generator().manual_seed(1)).tolist()
    expected = module(torch.tensor([ids]), use_cache=False).logits[0]
    model = CachedModel(module)
    steps = [(0, 10, 10), (10, 15, 11), (11, 30, 12), (12, 13, 13), (13, 40, 5), (5, 9, 9)]
    for start, end, rewound in steps:
        assert torch.allclose(model.feed(ids[start:end], end - start), expected[start:end], atol=1e-3)
        model.rewind(rewound)


@pytest.mark.parametrize("config", [BertConfig(), RobertaConfig()], ids=lambda config: config.model_type)
def test_a_model_that_reads_both_ways_is_no_model_that_writes(config):
    """B44's kind: it accepts a cache and then sees less of the text than it should."""
    assert not facts._writes(config)
    assert facts._writes(Gemma2Config()) and facts._writes(BertConfig(is_decoder=True))


def test_a_config_of_a_form_of_its_own_is_refused_in_words_and_not_by_a_bare_error():
    """B39: no AttributeError of some library's reaches a person."""
    assert "no cache of the usual kind" in facts._state(BltConfig(), 64)


def test_a_config_whose_layers_differ_is_reckoned_with_its_largest():
    config = Gemma4TextConfig()
    assert facts._cache_values(config) >= 2 * config.num_hidden_layers * 256


@pytest.mark.parametrize(
    "config",
    [
        BertConfig(**SIZE, intermediate_size=48, initializer_range=0.3),
        RwkvConfig(vocab_size=V, hidden_size=32, num_hidden_layers=2, attention_hidden_size=32),
        TrOCRConfig(
            vocab_size=V,
            d_model=32,
            decoder_layers=2,
            decoder_attention_heads=4,
            decoder_ffn_dim=48,
            init_std=0.3,
        ),
    ],
    ids=lambda config: config.model_type,
)
def test_a_model_that_cannot_be_rewound_is_found_out_before_its_first_round(config):
    """B43, B44: whatever its config says."""
    with pytest.raises(PairError, match="cannot be run"):
        try_out("odd", CachedModel(random_model(config)), torch.float32)


@pytest.mark.parametrize("config", WINDOWED.values(), ids=WINDOWED)
def test_a_model_that_can_be_rewound_passes_and_its_cache_is_empty_afterwards(config):
    model = CachedModel(random_model(config))
    try_out("good", model, torch.float32)
    assert model.length == 0 and model.nbytes == 0
