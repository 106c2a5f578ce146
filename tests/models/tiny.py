"""Tiny random pairs on disk, made in a second, for tests of loading and running."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from specdec_core.models.registry import PairSpec, folder_pair

STORY = "Once upon a time there was a king who had three sons, and the youngest was called Simpleton. "


def tokenizer(vocabulary: int = 320) -> PreTrainedTokenizerFast:
    """A byte-level BPE of that size, with an end token as id 0."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    bpe.train_from_iterator([STORY * 3], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="<|endoftext|>", clean_up_tokenization_spaces=False
    )


def model(vocabulary: int, *, layers: int, seed: int, width: int = 64, context: int = 128, tied: bool = True):
    """A random Llama whose logits differ enough between tokens to make laws worth testing."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=2,
        max_position_embeddings=context,
        tie_word_embeddings=tied,
        initializer_range=1.2 * width**-0.5,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=None,
    )
    return LlamaForCausalLM(config).eval()


def save(folder: Path, language_model: LlamaForCausalLM, words: PreTrainedTokenizerFast) -> Path:
    """Write a model and its tokenizer in float16 safetensors."""
    language_model.half().save_pretrained(folder, safe_serialization=True)
    words.save_pretrained(folder)
    return folder


def pair_spec(folder: Path, *, context: int = 128, draft_context: int | None = None) -> PairSpec:
    """A target of two layers and a draft of one, saved below ``folder``."""
    words = tokenizer()
    target = save(folder / "target", model(len(words), layers=2, seed=1, context=context), words)
    short = model(len(words), layers=1, seed=2, context=draft_context or context)
    draft = save(folder / "draft", short, words)
    return folder_pair("tiny", "Tiny", "A random pair.", target, draft, "Apache-2.0")
