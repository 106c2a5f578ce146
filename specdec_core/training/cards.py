"""Model cards: what a model is, what it learned from, what was measured, where it ends."""

from dataclasses import asdict

from transformers import LlamaConfig

from specdec_core.training.corpus import HELD_OUT_SHARE
from specdec_core.training.distil import Material

BOOKS = (
    "Household Tales by Brothers Grimm, translated by Margaret Hunt (1884)",
    "Grimms' Fairy Tales, translated by Edgar Taylor and Marian Edwardes",
    "Indian Fairy Tales, Joseph Jacobs (1892)",
    "English Fairy Tales, Joseph Jacobs (1890)",
    "Russian Fairy Tales, W. R. S. Ralston (1873)",
    "The Blue Fairy Book, Andrew Lang (1889)",
    "The Yellow Fairy Book, Andrew Lang (1894)",
    "Aesop's Fables, translated by George Fyler Townsend (1867)",
    "The Fables of Aesop, translated by V. S. Vernon Jones (1912)",
    "The Fairy Tales of Charles Perrault, translated by A. E. Johnson",
    "The Tales of Mother Goose, edited by Charles Welsh (1901)",
    "Philippine Folk Tales",
)

_HEADER = """---
license: apache-2.0
language: en
library_name: transformers
pipeline_tag: text-generation
---
# {title}

{summary}

## Shape
Llama architecture, {parameters:,} parameters: {layers} layer{plural}, hidden size {hidden}, {heads} heads \
of {head_dim} dimensions, tied embeddings, context of {context} tokens, float16 weights. The tokenizer is a \
byte-level BPE of {vocabulary} tokens, the same in all three models; token 0, `<|endoftext|>`, ends a text \
and nothing is added at the front.

## Data
Public-domain English translations and retellings, as published by Project Gutenberg:

{books}

Editors' prefaces and notes were left out by simple rules, the end token was put between stories, and \
{held_out} % of the stories were held out. All figures below are on held-out stories. Well-known tales stand \
in more than one of the books, so some held-out stories have a sibling in other words among the training ones.
"""

_LIMITS = """
## Use and limits
Made for teaching: it is small enough to run live on a laptop while every probability is on show. It is no \
source of facts, follows no instructions, knows no language but the English of old tales, and repeats the \
views of its sources, which are over a century old. Characters outside English text survive the tokenizer \
but were hardly seen in training.

## Licence
Apache-2.0. The texts are in the public domain.
"""


SUMMARIES = {
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

_TRAINING = {
    "target": """{spent} of next-token prediction, in batches of 16 windows of 256 tokens, the last 15 % of \
them in windows of 1,024. Muon for the matrices of the blocks, AdamW for the embedding and the norms, a \
trapezoidal learning rate that falls over the second half.""",
    "draft": """{spent} of distillation on the target's logits: {short:,} samples of 256 tokens and {long:,} \
of 1,024 written by the target (three in four batches at temperature 1, one at 0.7), and {text:,} passages \
of 1,024 tokens from the corpus. The loss is forward KL for the first 40 %, then 1 − Σ min(p, q), the \
probability that a draft is rejected; every fourth step is at temperature 0.7. The optimizers are those of \
the target.""",
    "draft-weak": """{spent} of next-token prediction on the corpus with the target's optimizers. It never \
saw the target.""",
}


_BUSY = "; the machine had other work at the time, so the times are rough"


def training_words(name: str, tokens: int, seconds: float, material: Material) -> str:
    """How one model was trained, with what it spent and what it was given."""
    duration = f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"
    spent = f"{tokens / 1e6:.2f} million tokens ({duration} on two shared CPU cores)"
    return _TRAINING[name].format(spent=spent, **asdict(material))


def header(name: str, config: LlamaConfig, parameters: int) -> str:
    """Title, shape and data: what the three cards share."""
    title, summary = SUMMARIES[name]
    return _HEADER.format(
        title=title,
        summary=summary,
        parameters=parameters,
        layers=config.num_hidden_layers,
        plural="" if config.num_hidden_layers == 1 else "s",
        hidden=config.hidden_size,
        heads=config.num_attention_heads,
        head_dim=config.head_dim,
        context=f"{config.max_position_embeddings:,}",
        vocabulary=f"{config.vocab_size:,}",
        books="\n".join(f"- {book}" for book in BOOKS),
        held_out=round(100 * HELD_OUT_SHARE),
    )


def card(name: str, top: str, training: str, report: dict) -> str:
    """The whole card of one model."""
    if name == "target":
        return _target_card(top, training, report)
    return _draft_card(top, training, report, name)


def _target_card(top: str, training: str, report: dict) -> str:
    """The target's card, with a sample of its text."""
    quoted = "\n".join(f"> {line}  " for line in report["sample"].split("\n"))
    loss = report["held_out_nats_per_character"]["target"]
    return (
        f"{top}\n## Training\n{training}\n\n## Measured\n{loss:.3f} nats a character on held-out stories.\n\n"
        f"A sample of 300 tokens at temperature 0.7, as it came:\n\n{quoted}\n{_LIMITS}"
    )


def _draft_card(top: str, training: str, report: dict, name: str) -> str:
    """A draft's card, with its acceptance at each setting and its cost."""
    measured = report["drafts"][name]
    gamma, settings = report["gamma"], measured["acceptance"].items()
    rows = "\n".join(_row(setting, values, gamma) for setting, values in settings)
    cost, loss = measured["cost"], report["held_out_nats_per_character"][name]
    return (
        f"{top}\n## Training\n{training}\n\n## Measured\n"
        f"With `folk-tales-target`, draft length {gamma}, {len(report['prompts'])} held-out "
        f"prompts of {report['new_tokens']} new tokens each:\n\n"
        "| setting | overlap Σ min(p, q) | kept of tested | accepted per round | rounds |\n"
        f"|---|---|---|---|---|\n{rows}\n\n"
        "Overlap is the mean over tested places; under greedy it is the share of places where both models "
        "agree on the most probable token.\n\n"
        f"One draft step took {cost['draft_ms']:.2f} ms and one token of plain decoding "
        f"{cost['target_ms']:.2f} ms (medians, {cost['processor']}, {cost['threads']} threads, float32), "
        f"so c = {cost['c']:.2f}{_BUSY if cost['busy'] else ''}. "
        f"On its own the draft reaches {loss:.3f} nats a character.\n{_LIMITS}"
    )


def _row(setting: str, values: dict, gamma: int) -> str:
    return (
        f"| {setting} | {values['overlap']:.3f} | {values['kept_of_tested']:.3f} "
        f"| {values['accepted_per_round']:.2f} of {gamma} | {values['rounds']} |"
    )
