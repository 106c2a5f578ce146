"""A loaded pair: weights that all runs share, and fresh caches for each of them."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from specdec_core.decoding.cache import CachedModel
from specdec_core.models.lean import LeanLlama
from specdec_core.models.pieces import token_pieces
from specdec_core.models.prompt import encode_prompt
from specdec_core.models.registry import PairSpec
from specdec_core.models.runner import Runner
from specdec_core.traces.trace import CostTable, Machine, ModelInfo, PairInfo

COLD_ROUNDS = 2
"""Rounds after loading whose times are not to be trusted."""


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """One model in memory.

    Attributes:
        folder: where it was read from.
        module: the transformers module, in eval mode.
        passes: what runs a pass over the same weights, the module itself or a leaner stand-in.
        tokenizer: its tokenizer.
        info: what a trace says of it.
    """

    folder: Path
    module: PreTrainedModel
    passes: nn.Module | LeanLlama
    tokenizer: Any
    info: ModelInfo

    def sequence(self) -> CachedModel:
        """The model with an empty cache of its own."""
        device = next(self.passes.parameters()).device
        return CachedModel(self.passes, synchronize=_waiting_for(device))


def _waiting_for(device: torch.device) -> Callable[[], None]:
    if device.type == "cuda":
        return lambda: torch.cuda.synchronize(device)
    return lambda: None


class Pair:
    """A target, its draft, and the one tokenizer of both.

    Attributes:
        spec: where the pair comes from.
        info: what a trace records of it.
        tokenizer: the target's, which agrees with the draft's id by id.
        runner: hands out the device in turns.
        machine: what the pair runs on.
        end_ids: tokens that end a text.
        target_module, draft_module: the shared transformers modules, packed where it pays.
    """

    def __init__(
        self,
        spec: PairSpec,
        info: PairInfo,
        target: LoadedModel,
        draft: LoadedModel,
        runner: Runner,
        machine: Machine,
    ) -> None:
        self.spec, self.info, self.runner, self.machine = spec, info, runner, machine
        self.tokenizer = target.tokenizer
        self.target_module, self.draft_module = target.module, draft.module
        self.end_ids = _end_ids(target)
        self._target, self._draft = target, draft
        self._pieces = token_pieces(self.tokenizer, info.vocab_size)
        # Two locks: a round is counted while the device is held, and measuring waits for the device.
        self._counting, self._measuring = threading.Lock(), threading.Lock()
        self._rounds = 0
        self._costs: CostTable | None = None

    def target(self) -> CachedModel:
        """The target with an empty cache."""
        return self._target.sequence()

    def draft(self) -> CachedModel:
        """The draft with an empty cache."""
        return self._draft.sequence()

    @property
    def prompt_limit(self) -> int:
        """Most tokens of a prompt: the target's context less one token to write."""
        return self.info.target.context_length - 1

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of a prompt.

        Raises:
            PromptError: the text is empty or too long.
        """
        return encode_prompt(self.tokenizer, text, self.prompt_limit)

    def piece(self, id_: int) -> bytes:
        """The bytes that a token stands for."""
        return self._pieces[id_]

    def costs(self, measure: Callable[["Pair"], CostTable]) -> CostTable:
        """The pair's cost table, measured by the first who asks."""
        with self._measuring:
            if self._costs is None:
                self._costs = measure(self)
            return self._costs

    def count_round(self) -> bool:
        """Note that a round begins; whether it is among the first after loading, hence cold."""
        with self._counting:
            self._rounds += 1
            return self._rounds <= COLD_ROUNDS


def _end_ids(model: LoadedModel) -> frozenset[int]:
    """Every token that the model's own settings or its tokenizer call an end of text."""
    settings = (model.module.config, getattr(model.module, "generation_config", None))
    found: set[int] = set()
    for ids in [*(getattr(item, "eos_token_id", None) for item in settings), model.tokenizer.eos_token_id]:
        if ids is not None:
            found.update(ids if isinstance(ids, list | tuple) else [ids])
    return frozenset(found)
