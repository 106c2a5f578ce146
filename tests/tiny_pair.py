"""A pair of tiny random models on disk, in the same form as the embedded ones."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from specdec_core.models.registry import PairSpec

END = "<|endoftext|>"


def tiny_spec(folder: Path, key: str = "tiny") -> PairSpec:
    """Write a target and a draft over one vocabulary of bytes and describe them as a pair."""
    write_model(folder / "target", layers=2, seed=1)
    write_model(folder / "draft", layers=1, seed=2)
    return PairSpec(key, "Tiny pair", "Random models.", folder / "target", folder / "draft", "none")


def write_model(folder: Path, *, layers: int, seed: int, context: int = 256) -> None:
    """A Llama with random weights, a byte-level tokenizer of 257 tokens, and an end token."""
    tokenizer = byte_tokenizer()
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=layers,
        num_attention_heads=2,
        max_position_embeddings=context,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        tie_word_embeddings=True,
        initializer_range=0.2,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """One token a byte, in the byte-level spelling, and an end token."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={each: i for i, each in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END)
