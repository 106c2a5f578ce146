"""The steps of a training, each of which can be run alone and again.

tokenizer -> target -> sample -> draft -> weak-draft -> report. A step finds what the steps
before it left in the working folder or among the exported models, and goes on from its own
checkpoint, so an interrupted command is simply given again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from transformers import LlamaForCausalLM

from specdec_core.training.cards import draft_card, header, target_card
from specdec_core.training.checkpoint import load_checkpoint
from specdec_core.training.distil import (
    WEAK_BUDGET,
    Material,
    Shelves,
    train_draft,
    train_weak_draft,
    write_material,
)
from specdec_core.training.export import export_model, load_exported, write_card
from specdec_core.training.loop import Report
from specdec_core.training.report import measure, write_report
from specdec_core.training.schedule import Budget
from specdec_core.training.shapes import parameters
from specdec_core.training.target import train_target
from specdec_core.training.workshop import Workshop

DRAFTS = ("draft", "draft-weak")


@dataclass(frozen=True)
class Plan:
    """What a whole training may spend."""

    target: Budget = field(default_factory=lambda: Budget(tokens=5_000_000))
    draft: Budget = field(default_factory=lambda: Budget(tokens=12_000_000))
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
    """Measure the exported models; write the figures and the cards."""
    result = measure(workshop, DRAFTS)
    write_report(workshop.out / "report.json", result)
    _write_cards(workshop, plan, result)
    for name in DRAFTS:
        for setting, values in result["drafts"][name]["acceptance"].items():
            report(f"{name:10s} {setting:15s} overlap {values['overlap']:.3f}")
        report(f"{name:10s} c = {result['drafts'][name]['cost']['c']:.3f}")


STEPS: dict[str, Step] = {
    "tokenizer": make_tokenizer,
    "target": make_target,
    "sample": make_samples,
    "draft": make_draft,
    "weak-draft": make_weak_draft,
    "report": make_report,
}


def _export(workshop: Workshop, model: LlamaForCausalLM, name: str) -> None:
    export_model(model, workshop.tokenizer_folder, workshop.model_folder(name))


def _write_cards(workshop: Workshop, plan: Plan, result: dict) -> None:
    training = _trainings(workshop, plan)
    target = target_card(_header(workshop, "target"), training["target"], result)
    write_card(workshop.model_folder("target"), target)
    for name in DRAFTS:
        card = draft_card(_header(workshop, name), training[name], result, name)
        write_card(workshop.model_folder(name), card)


_SUMMARIES = {
    "target": (
        "Folk tales: target",
        "A small language model that writes fairy tales: the target of the embedded pair, which is the "
        "model whose distribution speculative decoding preserves.",
    ),
    "draft": (
        "Folk tales: draft",
        "A one-layer model distilled from `folk-tales-target`: it proposes tokens that the target mostly "
        "keeps.",
    ),
    "draft-weak": (
        "Folk tales: weak draft",
        "A very small model that saw very little text, kept weak on purpose: it shows what a poor guess "
        "costs.",
    ),
}


def _header(workshop: Workshop, name: str) -> str:
    model = load_exported(workshop.model_folder(name))
    return header(*_SUMMARIES[name], model.config, parameters(model))


def _trainings(workshop: Workshop, plan: Plan) -> dict[str, str]:
    material = plan.material
    return {
        "target": f"{_spent(workshop, 'target')} of next-token prediction, batches of 16 windows of 256 "
        "tokens, the last 15 % in windows of 1,024. Muon for the matrices of the blocks, AdamW for the embedding and "
        "the norms, a trapezoidal learning rate that falls over the second half.",
        "draft": f"{_spent(workshop, 'draft')} of distillation on the target's logits: "
        f"{material.short:,} samples of 256 tokens and {material.long:,} of 1,024 written by the target "
        "(three in four batches at temperature 1, one at 0.7), and "
        f"{material.text:,} passages of 1,024 tokens from the corpus. The loss is forward KL for the first "
        "40 %, then 1 − Σ min(p, q), the probability that a draft is rejected, itself; every fourth step at "
        "temperature 0.7. Muon and AdamW as for the target.",
        "draft-weak": f"{WEAK_BUDGET.tokens:,} tokens of next-token prediction on the corpus, a few seconds, "
        "with the target's optimizers. It never saw the target.",
    }


def _spent(workshop: Workshop, name: str) -> str:
    position = load_checkpoint(workshop.checkpoint(name))["position"]
    tokens, minutes = position["tokens"] / 1e6, position["seconds"] / 60
    return f"{tokens:.2f} million tokens in {minutes:.0f} minutes on two CPU cores"
