"""The training loop that target and drafts share.

Muon moves the matrices inside the blocks, AdamW the tied embedding and the norms; both
follow one trapezoid tied to the budget. The last part of a run uses windows of the whole
context, so that a context of 1,024 is trained and not only allowed.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor, nn
from torch.optim import AdamW, Optimizer
from transformers import LlamaForCausalLM

from specdec_core.training.checkpoint import load_checkpoint, save_checkpoint
from specdec_core.training.muon import Muon
from specdec_core.training.schedule import Budget, learning_rate_factor
from specdec_core.training.shapes import CONTEXT


@dataclass(frozen=True)
class Recipe:
    """Everything that shapes a run besides its data and its loss."""

    budget: Budget
    batch_tokens: int = 4096
    window: int = 256
    long_window: int = CONTEXT
    long_share: float = 0.15
    matrix_lr: float = 0.02
    vector_lr: float = 4e-3
    weight_decay: float = 0.1
    report_every: float = 20.0
    checkpoint_every: float = 180.0
    loss_scale: float = 1.0
    loss_unit: str = ""

    def window_at(self, progress: float) -> int:
        """Short windows first, windows of the whole context at the end."""
        return self.long_window if progress >= 1 - self.long_share else self.window


@dataclass
class Position:
    """How far a run has come; saved with the weights."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Place:
    """What a loss may need to know about the step it is computed for."""

    step: int
    progress: float
    window: int
    batch: int


Loss = Callable[[nn.Module, Place], Tensor]
Report = Callable[[str], None]


class Run:
    """One training run that can stop at any step and go on from its checkpoint."""

    def __init__(
        self, model: LlamaForCausalLM, loss: Loss, recipe: Recipe, checkpoint: Path, report: Report = print
    ) -> None:
        self.model, self.loss, self.recipe = model, loss, recipe
        self.checkpoint, self.report = checkpoint, report
        self.optimizers = _optimizers(model, recipe)
        self.position = Position()
        self.recent = 0.0
        self._resume()

    @property
    def progress(self) -> float:
        return self.recipe.budget.progress(self.position.tokens, self.position.seconds)

    def train(self, steps: int | None = None) -> LlamaForCausalLM:
        """Train until the budget is spent, or for at most `steps` more steps."""
        last = self.position.step + steps if steps else None
        saved = reported = time.monotonic()
        while self.progress < 1 and self.position.step != last:
            self._step()
            now = time.monotonic()
            if now - reported >= self.recipe.report_every:
                self.report(self._line())
                reported = now
            if now - saved >= self.recipe.checkpoint_every:
                self.save()
                saved = now
        self.save()
        self.report(self._line())
        return self.model

    def save(self) -> None:
        """Write weights, optimizers and position."""
        state = {"model": self.model.state_dict(), "position": vars(self.position), "recent": self.recent}
        save_checkpoint(self.checkpoint, state | {"optimizers": [o.state_dict() for o in self.optimizers]})

    def _resume(self) -> None:
        state = load_checkpoint(self.checkpoint)
        if state is None:
            return
        self.model.load_state_dict(state["model"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.position, self.recent = Position(**state["position"]), state["recent"]

    def _step(self) -> None:
        started = time.monotonic()
        window = self.recipe.window_at(self.progress)
        batch = max(1, self.recipe.batch_tokens // window)
        loss = self.loss(self.model, Place(self.position.step, self.progress, window, batch))
        loss.backward()
        self._update()
        self._advance(loss.item(), batch * window, time.monotonic() - started)

    def _update(self) -> None:
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        factor = learning_rate_factor(self.progress)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["peak_lr"] * factor
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def _advance(self, loss: float, tokens: int, seconds: float) -> None:
        self.recent = loss if self.position.step == 0 else 0.95 * self.recent + 0.05 * loss
        self.position.step += 1
        self.position.tokens += tokens
        self.position.seconds += seconds

    def _line(self) -> str:
        at, progress = self.position, self.progress
        left = at.seconds * (1 - progress) / max(progress, 1e-9)
        loss = f"{self.recent * self.recipe.loss_scale:.4f} {self.recipe.loss_unit}"
        speed = at.tokens / max(at.seconds, 1e-9)
        return (
            f"step {at.step:5d}  {at.tokens / 1e6:6.2f} M tokens  loss {loss}"
            f"  {speed:6.0f} tokens/s  {progress:4.0%} done, {left / 60:.1f} min left"
        )


def _optimizers(model: LlamaForCausalLM, recipe: Recipe) -> list[Optimizer]:
    inside = [p for p in model.model.layers.parameters() if p.ndim == 2]
    matrices = {id(p) for p in inside}
    others = [p for p in model.parameters() if id(p) not in matrices]
    muon = Muon(inside, lr=recipe.matrix_lr, weight_decay=recipe.weight_decay)
    adamw = AdamW(others, lr=recipe.vector_lr, betas=(0.9, 0.95), weight_decay=0.0)
    for optimizer in (muon, adamw):
        for group in optimizer.param_groups:
            group["peak_lr"] = group["lr"]
    return [muon, adamw]
