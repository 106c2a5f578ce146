"""Language models small enough to reason about: logits as a function of the prefix."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.types import Round, RoundSettings, RunSettings, Sampling
from specdec_core.drafting.model import ModelDrafter

Logits = Callable[[tuple[int, ...]], Sequence[float]]


class ToyModel:
    """A ``SequenceModel`` without weights; it remembers how many tokens each pass fed."""

    def __init__(self, logits: Logits, vocab_size: int, context_length: int = 1024) -> None:
        self.vocab_size, self.context_length = vocab_size, context_length
        self.passes: list[int] = []
        self._logits, self._ids = logits, []

    @property
    def length(self) -> int:
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        return 8 * len(self._ids)

    def feed(self, ids: Sequence[int], keep: int) -> Tensor:
        assert ids, "no pass is run without tokens"
        assert len(self._ids) + len(ids) <= self.context_length, "fed beyond the context"
        self._ids += ids
        self.passes.append(len(ids))
        ends = range(len(self._ids) - keep + 1, len(self._ids) + 1)
        rows = [self._logits(tuple(self._ids[:end])) for end in ends]
        return torch.tensor(np.array(rows), dtype=torch.float32)

    def rewind(self, length: int) -> None:
        assert 0 <= length <= len(self._ids)
        del self._ids[length:]


def fixed(*probs: float) -> Logits:
    """The same distribution after every prefix."""
    with np.errstate(divide="ignore"):
        logits = np.log(np.array(probs))
    return lambda prefix: logits


def scripted(tokens: Sequence[int], vocab_size: int) -> Logits:
    """Near-certain of ``tokens[i]`` at index i of the sequence, and of token 0 beyond."""

    def logits(prefix: tuple[int, ...]) -> np.ndarray:
        row = np.zeros(vocab_size)
        row[tokens[len(prefix)] if len(prefix) < len(tokens) else 0] = 50.0
        return row

    return logits


def memoised(logits: Logits) -> Logits:
    """The same logits, each prefix worked out once."""
    known: dict[tuple[int, ...], Sequence[float]] = {}

    def lookup(prefix: tuple[int, ...]) -> Sequence[float]:
        if prefix not in known:
            known[prefix] = logits(prefix)
        return known[prefix]

    return lookup


def contextual(seed: int, vocab_size: int, sharpness: float = 1.5) -> Logits:
    """Random logits that depend on the whole prefix, the same each time it is asked."""

    def logits(prefix: tuple[int, ...]) -> np.ndarray:
        return sharpness * np.random.default_rng([seed, *prefix]).standard_normal(vocab_size)

    return memoised(logits)


def toy_decoder(target: Logits, draft: Logits, vocab_size: int, **options) -> Decoder:
    """A decoder over two toy models; options are those of ``RunSettings`` and ``Decoder``."""
    kept = {name: options.pop(name) for name in ("recorder", "stop") if name in options}
    contexts = options.pop("context", 1024), options.pop("draft_context", 1024)
    options.setdefault("prompt_ids", (0,))
    decoder = Decoder(
        ToyModel(target, vocab_size, contexts[0]),
        ModelDrafter(ToyModel(draft, vocab_size, contexts[1]), "toy"),
        RunSettings(**options),
        **kept,
    )
    decoder.prefill()
    return decoder


def run_toy(target: Logits, draft: Logits, vocab_size: int, gamma: int, **options) -> list[Round]:
    """All rounds of a toy run; ``sampling`` may be among the options."""
    sampling = options.pop("sampling", Sampling())
    decoder = toy_decoder(target, draft, vocab_size, **options)
    return list(decoder.rounds(RoundSettings(gamma, sampling)))


def tokens(rounds: Sequence[Round]) -> list[int]:
    """All emitted tokens of some rounds."""
    return [int(token) for round in rounds for token in round.emitted]
