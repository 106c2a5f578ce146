"""Tiny random models of several architectures, made in memory."""

import torch
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    LlamaConfig,
    MistralConfig,
    PreTrainedModel,
    Qwen3Config,
)

CONTEXT = 256
WINDOW = 24
"""Tokens that the sliding window holds: far fewer than a run writes."""

_SIZE = dict(
    hidden_size=32, intermediate_size=64, num_attention_heads=2, num_key_value_heads=1,
    max_position_embeddings=CONTEXT, initializer_range=0.35, tie_word_embeddings=False,
)  # fmt: skip

CONFIGS = {
    "llama": lambda: LlamaConfig(**_SIZE),
    "qwen3": lambda: Qwen3Config(**_SIZE, head_dim=16),
    "mistral, sliding window": lambda: MistralConfig(**_SIZE, head_dim=16, sliding_window=WINDOW),
    "gpt2": lambda: GPT2Config(n_embd=32, n_head=2, n_positions=CONTEXT, initializer_range=0.35),
}


def random_model(name: str, vocabulary: int, *, layers: int, seed: int) -> PreTrainedModel:
    """A random causal LM in float32, in eval mode."""
    torch.manual_seed(seed)
    config = CONFIGS[name]()
    config.vocab_size, config.num_hidden_layers = vocabulary, layers
    config.bos_token_id = config.pad_token_id = None
    config.eos_token_id = 0
    if config.model_type == "qwen3":
        config.layer_types = ["full_attention"] * layers
    return AutoModelForCausalLM.from_config(config).eval().requires_grad_(False)
