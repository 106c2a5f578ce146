"""A loaded pair: weights that all runs share, and fresh caches for each of them."""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from specdec_core.decoding.cache import CachedModel, SequenceModel
from specdec_core.models.device_clock import clock_for
from specdec_core.models.errors import PairError
from specdec_core.models.facts import end_ids_of
from specdec_core.models.fitted import fitted
from specdec_core.models.lean import LeanLlama
from specdec_core.models.machine import law_device
from specdec_core.models.pieces import token_pieces
from specdec_core.models.prompt import encode_prompt
from specdec_core.models.runner import Runner
from specdec_core.models.specs import PairSpec
from specdec_core.models.steps import Steps
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
        size: V, number of ids in its pair; None for as many as it has logits.
        masked: ids below V that it never gives: padding, and what a draft may not propose.
        laws: where laws are computed, if not where it runs: a draft's are computed where its target's are.
        steps: its passes compiled, if they were; its runs use them.
        whole: the model that this is a view of, made for one pair; it lives as long as its views.
    """

    folder: Path
    module: PreTrainedModel
    passes: nn.Module | LeanLlama
    tokenizer: Any
    info: ModelInfo
    size: int | None = None
    masked: tuple[int, ...] = ()
    laws: torch.device | None = None
    steps: Steps | None = None
    whole: "LoadedModel | None" = None

    @property
    def device(self) -> torch.device:
        """Where it reads tokens, and where its logits come out."""
        return next(self.passes.parameters()).device

    @property
    def laws_on(self) -> torch.device:
        """Where laws are computed and tokens drawn."""
        return self.laws or law_device(self.device)

    @property
    def devices(self) -> list[torch.device]:
        """Every device that some of its weights lie on."""
        found = {weight.device for weight in self.passes.parameters()}
        return sorted(found, key=str)

    def sequence(self) -> SequenceModel:
        """The model with an empty cache of its own, over the ids of its pair."""
        steps, laws = self.steps, self.laws_on
        cached = steps.sequence(laws) if steps else CachedModel(self.passes, laws)
        return fitted(cached, self.size or cached.vocab_size, self.masked)


class Pair:
    """A target, its draft, and the one tokenizer of both.

    Attributes:
        spec: where the pair comes from.
        info: what a trace records of it.
        tokenizer: the target's, which agrees with the draft's id by id.
        runner: hands out the device in turns.
        machine: what the pair runs on.
        clock: notes moments on its device.
        end_ids: tokens that end a text.
        target_module, draft_module: the shared transformers modules, packed where it pays; the
            draft's is None for a pair whose drafts need no second model.
    """

    def __init__(
        self,
        spec: PairSpec,
        info: PairInfo,
        target: LoadedModel,
        draft: LoadedModel | None,
        runner: Runner,
        machine: Machine,
    ) -> None:
        self.spec, self.info, self.runner, self.machine = spec, info, runner, machine
        self.tokenizer = target.tokenizer
        self.target_module, self.draft_module = target.module, draft.module if draft else None
        self.clock = clock_for(target.device)
        self.end_ids = _end_ids(target, info.vocab_size)
        self._target, self._draft = target, draft
        self._pieces = token_pieces(self.tokenizer, info.vocab_size)
        # Two locks: a round is counted while the device is held, and measuring waits for the device.
        self._counting, self._measuring = threading.Lock(), threading.Lock()
        self._rounds = 0
        self._costs: dict[Hashable, CostTable] = {}

    def target(self) -> SequenceModel:
        """The target with an empty cache."""
        return self._target.sequence()

    def draft(self) -> SequenceModel:
        """The draft model with an empty cache.

        Raises:
            PairError: the pair has none.
        """
        if self._draft is None:
            raise PairError(f"{self.info.title} has no draft model; choose a draft of another kind.")
        return self._draft.sequence()

    @property
    def target_model(self) -> LoadedModel:
        """The target in memory; what is made from it lives as long as it does."""
        return self._target

    @property
    def draft_model(self) -> LoadedModel | None:
        """The draft model in memory; None for a pair whose drafts need no second model."""
        return self._draft

    @property
    def prompt_limit(self) -> int:
        """Most tokens of a prompt: the target's context less one token to write."""
        return self.info.target.context_length - 1

    def encode(self, text: str, *, framed: bool = False) -> tuple[int, ...]:
        """The ids of a prompt; ``framed`` by a chat template, it gets no further special tokens.

        Raises:
            PromptError: the text is empty or too long.
        """
        return encode_prompt(self.tokenizer, text, self.prompt_limit, framed=framed)

    def piece(self, id_: int) -> bytes:
        """The bytes that a token stands for."""
        return self._pieces[id_]

    def costs(self, draft: Hashable, measure: Callable[[], CostTable]) -> CostTable:
        """The pair's cost table with one of its drafts, measured by the first who asks."""
        with self._measuring:
            if draft not in self._costs:
                self._costs[draft] = measure()
            return self._costs[draft]

    def count_round(self) -> bool:
        """Note that a round begins; whether it is among the first after loading, hence cold."""
        with self._counting:
            self._rounds += 1
            return self._rounds <= COLD_ROUNDS


def _end_ids(model: LoadedModel, size: int) -> frozenset[int]:
    """The end tokens of a model, as far as they can come up."""
    found = end_ids_of(model.module.config, getattr(model.module, "generation_config", None), model.tokenizer)
    return frozenset(id_ for id_ in found if id_ < size)
