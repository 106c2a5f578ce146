"""Texts in the target's own words, with its logits at every place.

A draft has to match the target where the target goes, so it learns from the target's own
samples. Whole batches advance in lockstep behind one KV cache, and the logits from which
each token was drawn are kept in half precision: distilling then never runs the target.
"""

import numpy as np
import torch
from torch import Tensor
from transformers import Cache, LlamaConfig, LlamaForCausalLM
from transformers.cache_utils import DynamicLayer

from specdec_core.training.batches import gather
from specdec_core.training.tokenizer import END_ID


class PreallocatedLayer(DynamicLayer):
    """One layer's keys and values in buffers of full length: appending copies one place.

    transformers' growing cache copies the whole past at every token, which for batches of
    long texts costs more than the model does.
    """

    def __init__(self, keys: Tensor, values: Tensor):
        super().__init__()
        self.buffers = (keys, values)
        self.length = 0

    def update(self, key_states: Tensor, value_states: Tensor, *args, **kwargs) -> tuple[Tensor, Tensor]:
        self.is_initialized = True
        end = self.length + key_states.shape[-2]
        for buffer, states in zip(self.buffers, (key_states, value_states), strict=True):
            buffer[:, :, self.length : end] = states
        self.length = end
        self.keys, self.values = (buffer[:, :, :end] for buffer in self.buffers)
        return self.keys, self.values


def preallocated_cache(config: LlamaConfig, batch: int, length: int) -> Cache:
    """An empty cache for `batch` sequences of `length` tokens that advance together."""
    shape = (batch, config.num_key_value_heads, length, config.head_dim)
    layers = [
        PreallocatedLayer(torch.empty(shape), torch.empty(shape)) for _ in range(config.num_hidden_layers)
    ]
    return Cache(layers=layers)


@torch.no_grad()
def sample(
    model: LlamaForCausalLM, prompts: Tensor, length: int, temperature: float, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Continue prompts `[B, P]` to `length` tokens at a temperature.

    Returns the ids `[B, length]` and the untempered logits float16 `[B, length, V]`,
    place i holding the law of token i + 1. An end token is followed by the next story, as
    it is in the corpus, so rows stay full.
    """
    batch, prompted = prompts.shape
    ids = torch.zeros(batch, length, dtype=torch.long)
    logits = torch.empty(batch, length, model.config.vocab_size, dtype=torch.float16)
    ids[:, :prompted] = prompts
    cache = preallocated_cache(model.config, batch, length)
    start = 0
    for end in range(prompted, length + 1):
        output = model(ids[:, start:end], cache=cache, use_cache=True).logits
        logits[:, start:end] = output
        if end < length:
            law = torch.softmax(output[:, -1] / temperature, dim=-1)
            ids[:, end] = torch.multinomial(law, 1, generator=generator)[:, 0]
        start = end
    return ids, logits


PROMPT_KINDS = (
    ("end of text", 1),
    ("opening", 4),
    ("opening", 8),
    ("text", 12),
    ("opening", 16),
    ("text", 32),
    ("text", 64),
)


def prompts(stream: np.ndarray, number: int, size: int, seed: int) -> Tensor:
    """Batch `number` of prompts `[size, P]`: a bare end token, first words, or mid-text.

    The kinds take turns; within a batch all prompts have one length, so that the rows
    can advance in lockstep.
    """
    kind, length = PROMPT_KINDS[number % len(PROMPT_KINDS)]
    generator = np.random.default_rng((seed, number))
    if kind == "end of text":
        return torch.full((size, 1), END_ID)
    last = len(stream) - length
    openings = np.flatnonzero(stream[:last] == END_ID) + 1
    starts = generator.choice(openings, size) if kind == "opening" else generator.integers(last, size=size)
    return torch.from_numpy(gather(stream, starts, length))
