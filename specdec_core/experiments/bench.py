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
from dataclasses import replace
from itertools import count
from statistics import median
from time import perf_counter

import torch
from transformers import GenerationConfig

from specdec_core.decoding.baseline import decode_plain, prefill_plain
from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.record import FullRecorder, NoRecorder
from specdec_core.decoding.types import Round, RoundSettings, RunSettings, Verdict
from specdec_core.drafting.model import ModelDrafter
from specdec_core.models.loading import Pair
from specdec_core.traces.trace import CostTable

from .bench_plan import PROMPTS, BenchResult, BenchSettings, Job, Measurement, Mode, Way, jobs
from .costs import measure_costs

WARM_UP_TOKENS = 8
COST_REPEATS = 5

Turn = tuple[CostTable, list[Measurement]]
"""One prompt of one repetition."""


def run_bench(
    pair: Pair, settings: BenchSettings, progress: Callable[[int, int], None] = lambda done, total: None
) -> BenchResult:
    """Measure everything; ``progress(done, total)`` is told after each timed run.

    Interrupted from the keyboard, it returns the repetitions that were complete and says in the
    result's settings how many; without one the interrupt goes through.
    """
    prompts = [pair.encode(text) for text in PROMPTS[: settings.prompts]]
    work = jobs(settings.gammas)
    turns: list[Turn] = []
    total = settings.repeats * len(prompts) * len(work)
    done = count(1)
    with _little_garbage():
        for job in work:
            _run(pair, job, prompts[0], WARM_UP_TOKENS, seed=0)
        try:
            for number in range(settings.repeats * len(prompts)):
                turns.append(_turn(pair, settings, prompts, number, lambda: progress(next(done), total)))
        except KeyboardInterrupt:
            whole = len(turns) // len(prompts)
            if not whole:
                raise
            settings, turns = replace(settings, repeats=whole), turns[: whole * len(prompts)]
    measurements = tuple(timed for _, made in turns for timed in made)
    return BenchResult(settings, measurements, _pooled([table for table, _ in turns]))


def _turn(
    pair: Pair,
    settings: BenchSettings,
    prompts: Sequence[Sequence[int]],
    number: int,
    tell: Callable[[], object],
) -> Turn:
    """The costs, and every job once on one prompt, in an order that differs from turn to turn."""
    repeat, prompt = divmod(number, len(prompts))
    costs, made = _costs(pair, settings, len(prompts[prompt])), []
    for job in _rotated(jobs(settings.gammas), number):
        timed = _run(pair, job, prompts[prompt], settings.tokens, seed=repeat)
        made.append(replace(timed, prompt=prompt, repeat=repeat))
        tell()
    return costs, made


def _costs(pair: Pair, settings: BenchSettings, prompt: int) -> CostTable:
    """The pair's costs in the middle of a run, at the sizes of pass that the runs have.

    A few passes before each prompt rather than many at once: the machine's own speed drifts, and
    the prediction made of them must have met the same machine as the runs.
    """
    sizes = [1, *(gamma + 1 for gamma in settings.gammas)]
    context = prompt + settings.tokens // 2
    return measure_costs(pair, tokens=sizes, context=context, repeats=COST_REPEATS)


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
        target=_medians([table.target for table in costs]),
        rest=_medians([table.rest for table in costs]),
        plain=median(table.plain for table in costs),
        draft=median(table.draft for table in costs),
        repeats=sum(table.repeats for table in costs),
    )


def _medians(rows: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """The median of each column."""
    return tuple(median(column) for column in zip(*rows, strict=True))


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
        record=sum(each.times.record for each in rounds),
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
