"""Pairs that are larger than any that ships: Llamas with random weights, for their times alone.

Weights of noise take exactly as long to multiply as trained ones, so what a device makes of a
large pair can be measured on a machine that holds none and reaches no hub. Whether a draft is
kept is then decided by fiat (``forced``), at an acceptance rate of one's choosing.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM

from specdec_core.decoding.cache import CachedModel, SequenceModel
from specdec_core.decoding.rules import Rule, target_law
from specdec_core.decoding.types import RuleName
from specdec_core.models.machine import law_device
from specdec_core.models.packed import pack_linears
from specdec_core.models.progress import Meter
from specdec_core.models.steps import make_steps

CONTEXT = 2048
"""Tokens that the caches of such a pair may hold."""


@dataclass(frozen=True)
class Shape:
    """The size of one Llama.

    Attributes:
        layers, width, inner: transformer layers, width of the stream and of the feed-forward part.
        heads, key_heads: attention heads, and those of the keys, which several of them share.
    """

    layers: int
    width: int
    inner: int
    heads: int
    key_heads: int

    def parameters(self, vocab_size: int) -> int:
        """Weights of such a model, its tied embedding counted once.

        Example:
            >>> Shape(layers=1, width=8, inner=16, heads=2, key_heads=1).parameters(vocab_size=10)
            680
        """
        attention = self.width * (self.width // self.heads) * 2 * (self.heads + self.key_heads)
        layer = attention + 3 * self.width * self.inner + 2 * self.width
        return vocab_size * self.width + self.layers * layer + self.width


@dataclass(frozen=True)
class ShapedPair:
    """Two shapes over one vocabulary; their weights exist only while they are measured."""

    title: str
    target: Shape
    draft: Shape
    vocab_size: int


ON_GPU = (
    ShapedPair(
        "8 B ← 0.6 B",
        Shape(layers=32, width=4096, inner=14_336, heads=32, key_heads=8),
        Shape(layers=28, width=1024, inner=4096, heads=16, key_heads=8),
        vocab_size=128_256,
    ),
    ShapedPair(
        "1.7 B ← 0.13 B",
        Shape(layers=24, width=2048, inner=8192, heads=32, key_heads=32),
        Shape(layers=30, width=576, inner=1536, heads=9, key_heads=3),
        vocab_size=49_152,
    ),
)
"""About the sizes of Llama 3.1 8B with a draft of the depth of Qwen3 0.6B, and of SmolLM2 1.7B with 135M."""

ON_CPU = (
    ShapedPair(
        "0.13 B ← 0.02 B",
        Shape(layers=30, width=576, inner=1536, heads=9, key_heads=3),
        Shape(layers=2, width=320, inner=864, heads=5, key_heads=5),
        vocab_size=49_152,
    ),
)
"""The size of SmolLM2 135M with a draft of two layers."""


def random_llama(shape: Shape, vocab_size: int, device: torch.device, dtype: torch.dtype) -> nn.Module:
    """A Llama of that shape with random weights, laid out for its device."""
    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_heads,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        made = LlamaForCausalLM(config).to(dtype)
    made.to_empty(device=device).tie_weights()
    for weight in made.parameters():
        nn.init.normal_(weight, std=0.02)
    # What is no parameter has no values yet: the rotary frequencies are made anew.
    made.model.rotary_emb = type(made.model.rotary_emb)(config).to(device)
    made.eval().requires_grad_(False)
    pack_linears(made)
    return made


def sequence(
    shape: Shape, vocab_size: int, device: torch.device, dtype: torch.dtype, *, compiled: bool = False
) -> SequenceModel:
    """A model of that shape with an empty cache.

    Raises:
        PairError: its passes cannot be compiled here; says why.
    """
    module, laws = random_llama(shape, vocab_size, device, dtype), law_device(device)
    if not compiled:
        return CachedModel(module, laws)
    title = f"The model of {shape.parameters(vocab_size) / 1e6:,.0f} M parameters"
    return make_steps(module, title, Meter()).sequence(laws)


def forced(acceptance: float) -> Rule:
    """A rule that keeps each draft with one chance, whatever the models say: for times, never for text.

    Example:
        >>> rule = forced(0.7)
        >>> p = torch.full((2, 2), 0.5)
        >>> rule.accept(torch.tensor([0]), p[:1], p, np.array([0.69]), np.zeros(2)).tolist()
        [True]
    """

    def accept(ids: Tensor, q: Tensor, p: Tensor, accept_u: np.ndarray, correct_u: np.ndarray) -> Tensor:
        return torch.from_numpy(accept_u).to(ids.device) < acceptance

    def expected(q: Tensor, p: Tensor) -> Tensor:
        return torch.full((len(q),), acceptance, dtype=torch.float64)

    return Rule(RuleName.SPECULATIVE_SAMPLING, accept, target_law, expected)
