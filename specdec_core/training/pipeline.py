"""The steps of a training, each of which can be run alone and again.

tokenizer -> target -> sample -> draft -> weak-draft -> report. A step finds what the steps
before it left in the working folder or among the exported models, and goes on from its own
checkpoint, so an interrupted command is simply given again.
"""

from collections.abc import Callable
from dataclasses import dataclass

from transformers import LlamaForCausalLM

from specdec_core.training.cards import card, header, training_words
from specdec_core.training.checkpoint import load_checkpoint
from specdec_core.training.defaults import StepName
from specdec_core.training.distil import (
    Material,
    Shelves,
    train_draft,
    train_weak_draft,
    write_material,
)
from specdec_core.training.export import export_model, load_exported, write_card
from specdec_core.training.loop import Position, Report
from specdec_core.training.report import measure, write_report
from specdec_core.training.schedule import Budget
from specdec_core.training.shapes import parameters
from specdec_core.training.target import train_target
from specdec_core.training.workshop import Workshop

DRAFTS = ("draft", "draft-weak")


@dataclass(frozen=True)
class Plan:
    """What a whole training may spend."""

    target: Budget
    draft: Budget
    material: Material = Material()


Step = Callable[[Workshop, Plan, Report], None]


def make_tokenizer(workshop: Workshop, plan: Plan, report: Report) -> None:
    """Split the corpus and learn the tokenizer."""
    split, stream = workshop.split, workshop.train_stream
    report(f"{len(split.train)} stories to train on, {len(split.held_out)} held out")
    report(f"{len(stream):,} tokens, {workshop.characters_per_token:.2f} characters each")


def make_target(workshop: Workshop, plan: Plan, report: Report) -> None:
    """Train and export the target."""
    _export(workshop, train_target(workshop, plan.target, report), "target")


def make_samples(workshop: Workshop, plan: Plan, report: Report) -> None:
    """Write the teaching material with the exported target, as the draft will meet it."""
    target = load_exported(workshop.model_folder("target"))
    write_material(workshop, target, Shelves.at(workshop, plan.material), report)


def make_draft(workshop: Workshop, plan: Plan, report: Report) -> None:
    """Distil and export the good draft."""
    shelves = Shelves.at(workshop, plan.material)
    _export(workshop, train_draft(workshop, shelves, plan.draft, report), "draft")


def make_weak_draft(workshop: Workshop, plan: Plan, report: Report) -> None:
    """Train and export the weak draft."""
    _export(workshop, train_weak_draft(workshop, report), "draft-weak")


def make_report(workshop: Workshop, plan: Plan, report: Report) -> None:
    """Measure the exported models; write the figures and the cards.

    Raises:
        FileNotFoundError: a model has no checkpoint, which tells what its training took.
    """
    spent = {name: _spent(workshop, name) for name in ("target", *DRAFTS)}  # before the minutes of measuring
    result = measure(workshop, DRAFTS)
    write_report(workshop.out / "report.json", result)
    _write_cards(workshop, plan, result, spent)
    for name in DRAFTS:
        for setting, values in result["drafts"][name]["acceptance"].items():
            report(f"{name:10s} {setting:15s} overlap {values['overlap']:.3f}")
        report(f"{name:10s} c = {result['drafts'][name]['cost']['c']:.3f}")


STEPS: dict[StepName, Step] = {
    StepName.TOKENIZER: make_tokenizer,
    StepName.TARGET: make_target,
    StepName.SAMPLE: make_samples,
    StepName.DRAFT: make_draft,
    StepName.WEAK_DRAFT: make_weak_draft,
    StepName.REPORT: make_report,
}


def _export(workshop: Workshop, model: LlamaForCausalLM, name: str) -> None:
    export_model(model, workshop.tokenizer_folder, workshop.model_folder(name))


def _spent(workshop: Workshop, name: str) -> Position:
    path = workshop.checkpoint(name)
    state = load_checkpoint(path)
    if state is None:
        raise FileNotFoundError(f"{path} is missing: the {name} was not trained in this working folder")
    return Position(**state["position"])


def _write_cards(workshop: Workshop, plan: Plan, result: dict, spent: dict[str, Position]) -> None:
    material = Shelves.at(workshop, plan.material).filled()
    for name, position in spent.items():
        model = load_exported(workshop.model_folder(name))
        top = header(name, model.config, parameters(model))
        training = training_words(name, position.tokens, position.seconds, material)
        write_card(workshop.model_folder(name), card(name, top, training, result))
