"""Benchmark: plain decoding, transformers' own two ways, and this decoder, interleaved in one process.

Every way continues the same prompts by the same number of tokens with the same weights in
memory, the same law and no end token, so that all make the same number of tokens. One
repetition runs every way once on each prompt; the order rotates from one to the next, so
that a drift of the machine's speed meets all ways alike. Only the raw times are kept here;
``bench_summary`` turns them into ratios.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median
from time import perf_counter

import torch
from transformers import GenerationConfig

from specdec_core.decoding.baseline import decode_plain, prefill_plain
from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.record import FullRecorder, NoRecorder
from specdec_core.decoding.types import Round, RoundSettings, RuleName, RunSettings, Sampling, Verdict
from specdec_core.drafting.model import ModelDrafter
from specdec_core.models.loading import Pair
from specdec_core.traces.trace import CostTable

from .costs import measure_costs

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

WARM_UP_TOKENS = 8


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
        if not self.gammas or not all(1 <= gamma <= 64 for gamma in self.gammas):
            raise ValueError("every draft length must be from 1 to 64, and there must be at least one")
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


def run_bench(
    pair: Pair, settings: BenchSettings, progress: Callable[[int, int], None] = lambda done, total: None
) -> BenchResult:
    """Measure everything; ``progress(done, total)`` is told after each timed run."""
    prompts = [pair.encode(text) for text in PROMPTS[: settings.prompts]]
    work = jobs(settings.gammas)
    sizes = [1, *(gamma + 1 for gamma in settings.gammas)]
    context = len(prompts[0]) + settings.tokens // 2
    measurements: list[Measurement] = []
    costs: list[CostTable] = []
    total = settings.repeats * len(prompts) * len(work)
    with _little_garbage():
        for job in work:
            _run(pair, job, prompts[0], WARM_UP_TOKENS, seed=0)
        for repeat in range(settings.repeats):
            costs.append(measure_costs(pair, tokens=sizes, context=context))
            for number, prompt in enumerate(prompts):
                for job in _rotated(work, repeat * len(prompts) + number):
                    timed = _run(pair, job, prompt, settings.tokens, seed=repeat)
                    measurements.append(replace(timed, prompt=number, repeat=repeat))
                    progress(len(measurements), total)
    return BenchResult(settings, tuple(measurements), _pooled(costs))


@contextmanager
def _little_garbage() -> Iterator[None]:
    """Let the collector forget what is loaded, so that it only looks at what the runs themselves make."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _rotated(work: list[Job], turn: int) -> list[Job]:
    # In steps of seven, so that a job soon comes early, in the middle and late.
    start = (7 * turn) % len(work)
    return work[start:] + work[:start]


def _pooled(costs: Sequence[CostTable]) -> CostTable:
    """Medians over the tables of all repetitions."""
    return replace(
        costs[0],
        target=tuple(median(times) for times in zip(*(table.target for table in costs), strict=True)),
        draft=median(table.draft for table in costs),
        repeats=sum(table.repeats for table in costs),
    )


def _run(pair: Pair, job: Job, prompt: Sequence[int], tokens: int, seed: int) -> Measurement:
    # Rubbish of the run before must not be collected on this one's time.
    gc.collect()
    if job.way is Way.PLAIN:
        return _plain(pair, job, _run_settings(job, prompt, tokens, seed))
    if job.way in (Way.SPECULATIVE, Way.RECORDED):
        return _speculative(pair, job, _run_settings(job, prompt, tokens, seed))
    return _transformers(pair, job, prompt, tokens, seed)


def _run_settings(job: Job, prompt: Sequence[int], tokens: int, seed: int) -> RunSettings:
    return RunSettings(tuple(prompt), rule=job.mode.rule, seed=seed, max_new_tokens=tokens)


def _plain(pair: Pair, job: Job, run: RunSettings) -> Measurement:
    started = perf_counter()
    target = pair.target()
    prefill = prefill_plain(target, run)
    made = list(decode_plain(target, run, job.mode.sampling))
    return Measurement(
        job, 0, 0, len(made), perf_counter() - started, prefill=prefill, passes=len(made)
    )


def _speculative(pair: Pair, job: Job, run: RunSettings) -> Measurement:
    recorder = FullRecorder() if job.way is Way.RECORDED else NoRecorder()
    started = perf_counter()
    decoder = Decoder(pair.target(), ModelDrafter(pair.draft(), "draft"), run, recorder)
    prefill = decoder.prefill()
    rounds = list(decoder.rounds(RoundSettings(job.gamma, job.mode.sampling)))
    seconds = perf_counter() - started
    return Measurement(
        job,
        0,
        0,
        tokens=len(decoder.emitted),
        seconds=seconds,
        prefill=prefill.target + prefill.draft,
        passes=len(rounds),
        drafted=sum(len(each.drafted) for each in rounds),
        tested=sum(each.tested for each in rounds),
        accepted=sum(each.accepted for each in rounds),
        overlap=_overlap(rounds) if job.way is Way.RECORDED else None,
        draft=sum(sum(each.times.draft) for each in rounds),
        verify=sum(each.times.verify for each in rounds),
        sample=sum(each.times.sample for each in rounds),
        other=sum(each.times.other for each in rounds),
    )


def _overlap(rounds: Sequence[Round]) -> float:
    """Σ β over the tested places of recorded rounds."""
    return float(sum(each.places.overlap[each.verdicts <= Verdict.REJECTED].sum() for each in rounds))


def _transformers(pair: Pair, job: Job, prompt: Sequence[int], tokens: int, seed: int) -> Measurement:
    target, draft = pair.target_module, pair.draft_module
    ids = torch.tensor([list(prompt)], device=target.device)
    sampled = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
    choice = sampled if job.mode is Mode.SAMPLED else {"do_sample": False}
    options = GenerationConfig(max_new_tokens=tokens, pad_token_id=0, **choice)
    assistant = {"assistant_model": draft} if job.way is Way.ASSISTED else {}
    with _own_options(target, draft, job.gamma), torch.random.fork_rng():
        torch.manual_seed(seed)
        started = perf_counter()
        output = target.generate(
            ids, attention_mask=torch.ones_like(ids), generation_config=options, **assistant
        )
        made = output.shape[1] - ids.shape[1]
        seconds = perf_counter() - started
    return Measurement(job, 0, 0, made, seconds)


@contextmanager
def _own_options(target, draft, gamma: int) -> Iterator[None]:
    """Lay the checkpoints' generation options aside, end tokens among them, and fix the draft length.

    transformers reads the draft length from the assistant's options, not from the call's. The
    threshold of 0 turns off its confidence stop, "constant" its adaptive length.
    """
    before = target.generation_config, draft.generation_config
    target.generation_config = GenerationConfig()
    draft.generation_config = GenerationConfig(
        num_assistant_tokens=max(gamma, 1),
        num_assistant_tokens_schedule="constant",
        assistant_confidence_threshold=0.0,
    )
    try:
        yield
    finally:
        target.generation_config, draft.generation_config = before
