"""The pair's tokenizer: byte-level BPE, so that any text survives the round trip.

1,024 tokens is small on purpose. Common words are whole, rare ones fall into
predictable pieces, and what is predictable is what a small draft can get right. The
embedding also stays a small part of a small model.
"""

import json
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

END_OF_TEXT = "<|endoftext|>"
END_ID = 0
VOCABULARY = 1024
FILES = ("tokenizer.json", "tokenizer_config.json")


def train_tokenizer(
    stories: list[str], vocabulary: int = VOCABULARY, context: int = 1024
) -> PreTrainedTokenizerFast:
    """Learn a byte-level BPE whose token 0 ends a text. No token is added at the front."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(stories, _trainer(vocabulary))
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token=END_OF_TEXT,
        model_max_length=context,
        clean_up_tokenization_spaces=False,
    )


def _trainer(vocabulary: int) -> trainers.BpeTrainer:
    return trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )


def save_tokenizer(tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Save the files, naming a class that releases of transformers before 5 know as well."""
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text()) | {"tokenizer_class": "PreTrainedTokenizerFast"}
    config.pop("backend", None)
    path.write_text(json.dumps(config, indent=2) + "\n")


def load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """The tokenizer saved in a folder, from its files alone."""
    return AutoTokenizer.from_pretrained(folder, local_files_only=True)


def encode_stories(tokenizer: PreTrainedTokenizerFast, stories: list[str]) -> np.ndarray:
    """One stream of token ids with the end token after each story."""
    encoded = tokenizer(stories, add_special_tokens=False, verbose=False)["input_ids"]
    return np.concatenate([np.array([*ids, END_ID], dtype=np.int64) for ids in encoded])
