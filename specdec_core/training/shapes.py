"""The shapes of the three models, as plain Llama configurations.

The target is shallow enough that verifying five tokens costs little more than one. The
drafts have one layer, because a draft's latency goes with its depth. Every head has 64
dimensions: other engines refuse small odd sizes.
"""

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

from specdec_core.training.tokenizer import END_ID, VOCABULARY

CONTEXT = 1024
HEAD_DIM = 64


def shape(layers: int, hidden: int, intermediate: int, kv_heads: int | None = None) -> LlamaConfig:
    """A Llama configuration with tied embeddings and heads of 64 dimensions."""
    heads = hidden // HEAD_DIM
    return LlamaConfig(
        vocab_size=VOCABULARY,
        num_hidden_layers=layers,
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads or heads,
        head_dim=HEAD_DIM,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=END_ID,
        pad_token_id=None,
    )


TARGET = shape(layers=6, hidden=320, intermediate=864)
DRAFT = shape(layers=1, hidden=256, intermediate=408, kv_heads=2)
WEAK_DRAFT = shape(layers=1, hidden=64, intermediate=64)


def new_model(config: LlamaConfig, seed: int) -> LlamaForCausalLM:
    """A fresh float32 model; each block starts as the identity.

    Zeroed output projections let the first steps teach the embedding before the blocks
    have anything to say, which is steadier under a large first learning rate.
    """
    torch.manual_seed(seed)
    model = LlamaForCausalLM(config).float()
    for layer in model.model.layers:
        nn.init.zeros_(layer.self_attn.o_proj.weight)
        nn.init.zeros_(layer.mlp.down_proj.weight)
    return model


def parameters(model: nn.Module) -> int:
    """All parameters, the tied embedding counted once."""
    return sum(p.numel() for p in model.parameters())
