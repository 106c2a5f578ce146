"""What is known of a model and of a pair before anything of them is read."""

from dataclasses import dataclass
from pathlib import Path

from specdec_core.models.packages import Package


def in_words(parameters: int) -> str:
    """A number of parameters as people say it.

    >>> in_words(94_400), in_words(134_515_008), in_words(8_190_735_360)
    ('0.1 million', '135 million', '8.2 billion')
    """
    if parameters >= 1e9:
        return f"{parameters / 1e9:.1f} billion"
    return f"{parameters / 1e6:.0f} million" if parameters >= 1e7 else f"{parameters / 1e6:.1f} million"


@dataclass(frozen=True)
class ModelRef:
    """A model that may not be on this machine yet.

    Attributes:
        name: its name in code and on the command line.
        title: its name on screen.
        folder: where it lies in Hugging Face format or as GGUF; None if it must be looked for.
        hub_id: its id on the hub; None for folders.
        parameters: number of weights; None where nobody has said.
        licence: of its weights; "" where nobody has said.
        gated: whether the hub wants its terms accepted first.
        package: where else it can be had from.
        shipped: whether it comes with the project.
    """

    name: str
    title: str
    folder: Path | None = None
    hub_id: str | None = None
    parameters: int | None = None
    licence: str = ""
    gated: bool = False
    package: Package | None = None
    shipped: bool = False


@dataclass(frozen=True)
class Expected:
    """The acceptance that a pair is expected to show; not a measurement of this machine.

    Attributes:
        low, high: share of tested drafts that are kept.
        source: where the range comes from.
    """

    low: float
    high: float
    source: str

    @property
    def measured(self) -> bool:
        """Whether anybody measured it; otherwise it is an estimate."""
        return self.source != "unmeasured"


@dataclass(frozen=True)
class PairSpec:
    """A target and its draft: where they are and what a person is told about them.

    Attributes:
        key: name in code and on the command line.
        title: name on screen.
        summary: what the pair is, in one sentence.
        target: the large model.
        draft: the small one; None for a pair whose drafts need no second model.
        licence: licence of the weights.
        teaches: what to look for when running it, in one sentence.
        memory: bytes that a run needs; None where nobody has said.
        expected: acceptance with the draft model; None where nobody has said.
        dtype: number format of its weights on every device, as torch names it; "" for the device's default.
    """

    key: str
    title: str
    summary: str
    target: ModelRef
    draft: ModelRef | None
    licence: str
    teaches: str = ""
    memory: int | None = None
    expected: Expected | None = None
    dtype: str = ""

    @property
    def models(self) -> tuple[ModelRef, ...]:
        """The target, and the draft if there is one."""
        return (self.target, self.draft) if self.draft else (self.target,)

    @property
    def parameters(self) -> int | None:
        """Weights of all its models; None unless all are known."""
        counts = [model.parameters for model in self.models]
        return None if None in counts else sum(counts)

    @property
    def gated(self) -> bool:
        """Whether the hub wants terms accepted for any of its models."""
        return any(model.gated for model in self.models)
