"""Where a training keeps its things, and the corpus as every step sees it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from transformers import PreTrainedTokenizerFast

from specdec_core.training.corpus import Split, load_split
from specdec_core.training.defaults import SEED
from specdec_core.training.tokenizer import encode_stories, load_tokenizer, save_tokenizer, train_tokenizer


@dataclass(frozen=True)
class Workshop:
    """Corpus folder, output folder, folder for checkpoints, and the seed of everything."""

    corpus: Path
    out: Path
    work: Path
    seed: int = SEED

    @cached_property
    def split(self) -> Split:
        return load_split(self.corpus, self.seed)

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerFast:
        """The pair's tokenizer, learned from the training stories on first use."""
        folder = self.tokenizer_folder
        if not (folder / "tokenizer.json").exists():
            save_tokenizer(train_tokenizer(self.split.train), folder)
        return load_tokenizer(folder)

    @cached_property
    def train_stream(self) -> np.ndarray:
        return encode_stories(self.tokenizer, self.split.train)

    @cached_property
    def held_out_stream(self) -> np.ndarray:
        return encode_stories(self.tokenizer, self.split.held_out)

    @property
    def tokenizer_folder(self) -> Path:
        return self.work / "tokenizer"

    @property
    def characters_per_token(self) -> float:
        return sum(map(len, self.split.train)) / len(self.train_stream)

    def checkpoint(self, name: str) -> Path:
        return self.work / f"{name}.pt"

    def model_folder(self, name: str) -> Path:
        return self.out / f"folk-tales-{name}"
