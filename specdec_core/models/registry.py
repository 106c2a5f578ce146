"""The pairs a person can choose from, each with what it teaches."""

from dataclasses import dataclass
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[2] / "assets" / "models"
"""Where the models that ship with the project lie."""


@dataclass(frozen=True)
class PairSpec:
    """A target and its draft: where they are and what a person is told about them.

    Attributes:
        key: name in code and on the command line.
        title: name on screen.
        summary: what the pair is and teaches, in one sentence.
        target_dir, draft_dir: folders in Hugging Face format.
        licence: licence of the weights.
    """

    key: str
    title: str
    summary: str
    target_dir: Path
    draft_dir: Path
    licence: str


def _embedded(key: str, title: str, summary: str, draft: str) -> PairSpec:
    return PairSpec(key, title, summary, ASSETS / "folk-tales-target", ASSETS / draft, "Apache-2.0")


PAIRS: dict[str, PairSpec] = {
    spec.key: spec
    for spec in (
        _embedded(
            "embedded",
            "Folk tales, good draft",
            "A small model that writes fairy tales, and a one-layer draft distilled from it that "
            "agrees with it most of the time.",
            "folk-tales-draft",
        ),
        _embedded(
            "embedded-weak",
            "Folk tales, weak draft",
            "The same fairy-tale model with a draft too small to follow it: see what a poor guess costs.",
            "folk-tales-draft-weak",
        ),
    )
}
"""Every pair by its key; the first one is the default."""
