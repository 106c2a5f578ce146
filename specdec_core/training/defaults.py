"""What a training does unless it is told otherwise, named without torch, so that ``--help`` can say it."""

from enum import StrEnum


class StepName(StrEnum):
    """The steps of a training in their order; ``pipeline.STEPS`` says what each does."""

    TOKENIZER = "tokenizer"
    TARGET = "target"
    SAMPLE = "sample"
    DRAFT = "draft"
    WEAK_DRAFT = "weak-draft"
    REPORT = "report"


SEED = 7

MILLION_TOKENS = {"target": 3.5, "draft": 10.0}
"""Budget of each model, in millions of tokens. The weak draft's is part of what makes it weak."""
