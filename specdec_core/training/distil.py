"""The drafts: one distilled for overlap with the target, one left weak on purpose."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from transformers import LlamaForCausalLM

from specdec_core.training.batches import gather, window_starts
from specdec_core.training.language import next_token_loss
from specdec_core.training.loop import Loss, Place, Recipe, Report, Run
from specdec_core.training.overlap import forward_kl, total_variation
from specdec_core.training.sampling import prompts, sample
from specdec_core.training.schedule import Budget
from specdec_core.training.shapes import CONTEXT, DRAFT, WEAK_DRAFT, new_model
from specdec_core.training.teaching import Rows, Shelf
from specdec_core.training.workshop import Workshop

SHORT = 256
KL_SHARE = 0.4
COOL_EVERY = 4
COOL_TEMPERATURE = 0.7
TEXT_EVERY = 5
WEAK_BUDGET = Budget(tokens=100_000)


@dataclass(frozen=True)
class Material:
    """How much the target writes for its draft, in rows."""

    short: int = 2560
    long: int = 128
    text: int = 256


@dataclass(frozen=True)
class Shelves:
    """Short and long samples of the target, and corpus text with the target's logits."""

    short: Shelf
    long: Shelf
    text: Shelf

    @classmethod
    def at(cls, workshop: Workshop, material: Material) -> "Shelves":
        def shelf(name: str, rows: int, length: int) -> Shelf:
            return Shelf(workshop.work / "teaching" / name, rows, length, len(workshop.tokenizer))

        return cls(
            short=shelf("short", material.short, SHORT),
            long=shelf("long", material.long, CONTEXT),
            text=shelf("text", material.text, CONTEXT),
        )

    def filled(self) -> Material:
        """How many rows there are so far."""
        return Material(short=self.short.filled, long=self.long.filled, text=self.text.filled)


def write_material(workshop: Workshop, target: LlamaForCausalLM, shelves: Shelves, report: Report) -> None:
    """Let the target write its samples and read its share of the corpus."""
    target.eval()
    shelves.text.fill(_reader(workshop, target, 8), report)
    shelves.long.fill(_writer(workshop, target, 32, CONTEXT), report)
    shelves.short.fill(_writer(workshop, target, 64, SHORT), report)


def _writer(workshop: Workshop, target: LlamaForCausalLM, size: int, length: int) -> Callable[[int], Rows]:
    def write(first: int) -> Rows:
        number = first // size
        generator = torch.Generator().manual_seed(workshop.seed * 1_000_003 + first * CONTEXT + length)
        temperature = COOL_TEMPERATURE if number % COOL_EVERY == COOL_EVERY - 1 else 1.0
        start = prompts(workshop.train_stream, number, size, workshop.seed)
        return sample(target, start, length, temperature, generator)

    return write


def _reader(workshop: Workshop, target: LlamaForCausalLM, size: int) -> Callable[[int], Rows]:
    @torch.no_grad()
    def read(first: int) -> Rows:
        stream = workshop.train_stream
        starts = window_starts(len(stream), CONTEXT, size, first // size, workshop.seed)
        ids = torch.from_numpy(gather(stream, starts, CONTEXT))
        return ids, target(ids, use_cache=False).logits.half()

    return read


def distillation_loss(shelves: Shelves, seed: int) -> Loss:
    """Forward KL first, then total variation; every fourth step at temperature 0.7."""

    def loss(draft: nn.Module, place: Place) -> Tensor:
        ids, target_logits = _batch(shelves, place, seed)
        draft_logits = draft(ids, use_cache=False).logits
        distance = forward_kl if place.progress < KL_SHARE else total_variation
        temperature = COOL_TEMPERATURE if place.step % COOL_EVERY == COOL_EVERY - 1 else 1.0
        return distance(target_logits, draft_logits, temperature)

    return loss


def _batch(shelves: Shelves, place: Place, seed: int) -> Rows:
    """Samples of the place's window, and now and then corpus text."""
    text = place.step % TEXT_EVERY == TEXT_EVERY - 1
    shelf = shelves.text if text else shelves.short if place.window == SHORT else shelves.long
    size = max(1, place.batch * place.window // shelf.length)
    generator = np.random.default_rng((seed, place.step))
    return shelf.batch(generator.choice(shelf.filled, size, replace=False))


def train_draft(workshop: Workshop, shelves: Shelves, budget: Budget, report: Report) -> LlamaForCausalLM:
    """Distil the good draft, or go on where its checkpoint stands."""
    model = new_model(DRAFT, workshop.seed + 1)
    recipe = Recipe(budget=budget, window=SHORT, loss_unit="(KL in nats, then 1 - overlap)")
    loss = distillation_loss(shelves, workshop.seed)
    return Run(model, loss, recipe, workshop.checkpoint("draft"), report).train()


def train_weak_draft(workshop: Workshop, report: Report) -> LlamaForCausalLM:
    """A very small model that sees very little text: a draft that seldom guesses right."""
    model = new_model(WEAK_DRAFT, workshop.seed + 2)
    recipe = Recipe(budget=WEAK_BUDGET, batch_tokens=2048, loss_unit="nats/token")
    loss = next_token_loss(workshop.train_stream, workshop.seed)
    return Run(model, loss, recipe, workshop.checkpoint("draft-weak"), report).train()
