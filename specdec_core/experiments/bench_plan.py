"""What a benchmark runs and what it brings home: ways, settings, jobs and raw times.

Free of torch, so that the command line can name the defaults at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from specdec_core.decoding.settings import MOST_DRAFTED, RuleName, Sampling
from specdec_core.traces.trace import CostTable

BENCH_VERSION = 1
"""Version of the JSON form."""

PROMPTS = (
    "Once upon a time there was a king who had three daughters",
    "In a hut at the edge of the great forest lived an old woman",
    "The youngest brother took his sword and went out into the world",
    "There was once a poor fisherman, and every morning he went down to the sea",
    "The wolf knocked at the door and said",
    "A merchant had to go on a long journey, and before he left he asked his children",
    "When the princess woke, the castle was silent",
    "Far away in the mountains there stood a house made of glass",
)
"""Openings in the manner of the embedded pair's own texts."""


class Way(StrEnum):
    """One way to continue a prompt."""

    PLAIN = "plain decoding"
    TRANSFORMERS = "transformers, plain"
    ASSISTED = "transformers, assisted"
    SPECULATIVE = "speculative"
    RECORDED = "speculative, recorded"


DRAFTING = (Way.ASSISTED, Way.SPECULATIVE, Way.RECORDED)


class Mode(StrEnum):
    """How tokens are chosen from the target's law."""

    GREEDY = "greedy"
    SAMPLED = "sampled"

    @property
    def rule(self) -> RuleName:
        return RuleName.GREEDY if self is Mode.GREEDY else RuleName.SPECULATIVE_SAMPLING

    @property
    def sampling(self) -> Sampling:
        return Sampling(temperature=0.0 if self is Mode.GREEDY else 1.0)


@dataclass(frozen=True)
class BenchSettings:
    """What to measure.

    Attributes:
        gammas: draft lengths.
        prompts: how many of ``PROMPTS``.
        tokens: new tokens in each run.
        repeats: how often everything is repeated.

    Raises:
        ValueError: naming the setting that lies outside its range.
    """

    gammas: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8)
    prompts: int = 4
    tokens: int = 128
    repeats: int = 3

    def __post_init__(self) -> None:
        if not self.gammas or not all(1 <= gamma <= MOST_DRAFTED for gamma in self.gammas):
            raise ValueError(f"draft lengths must be from 1 to {MOST_DRAFTED}, and at least one")
        if not 1 <= self.prompts <= len(PROMPTS):
            raise ValueError(f"prompts is {self.prompts}; it must be from 1 to {len(PROMPTS)}")
        if self.tokens < 2 or self.repeats < 1:
            raise ValueError("a run needs at least 2 tokens and 1 repeat")


QUICK = BenchSettings(gammas=(2, 4), prompts=1, tokens=32, repeats=2)


@dataclass(frozen=True)
class Job:
    """One way at one draft length; ``gamma`` is 0 where nothing is drafted."""

    way: Way
    mode: Mode
    gamma: int = 0


@dataclass(frozen=True)
class Measurement:
    """One timed run. Times in seconds; counts only for this project's own loops.

    Attributes:
        prompt, repeat: number of the prompt and of the repetition.
        tokens: new tokens.
        seconds: wall-clock time of the whole run, reading the prompt included.
        prefill: the part of it that read the prompt; None where transformers does not tell.
        passes: target passes after the prompt was read.
        drafted, tested, accepted: drafted tokens and what became of them.
        overlap: Σ β over tested places; only where the run was recorded.
        draft, verify, sample, other: parts of the rounds' time.
        record: seconds of making the rounds' records, which come on top.
    """

    job: Job
    prompt: int
    repeat: int
    tokens: int
    seconds: float
    prefill: float | None = None
    passes: int = 0
    drafted: int = 0
    tested: int = 0
    accepted: int = 0
    overlap: float | None = None
    draft: float = 0.0
    verify: float = 0.0
    sample: float = 0.0
    other: float = 0.0
    record: float = 0.0


@dataclass(frozen=True)
class BenchResult:
    """Raw times of a whole benchmark, and the cost table measured between them."""

    settings: BenchSettings
    measurements: tuple[Measurement, ...]
    costs: CostTable


def jobs(gammas: Sequence[int]) -> list[Job]:
    """Every way in both modes, the drafting ones at each draft length."""
    return [
        Job(way, mode, gamma)
        for mode in Mode
        for way in Way
        for gamma in (gammas if way in DRAFTING else (0,))
    ]
