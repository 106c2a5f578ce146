"""Every draft that a pair can have, on the same prompts in one run: what it keeps, costs and gains."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from types import MappingProxyType

from specdec_core.decoding.types import Round, RoundSettings, Sampling, Verdict
from specdec_core.experiments.drafts import DRAFTS, DraftSettings
from specdec_core.experiments.live import LiveRun
from specdec_core.models.pair import Pair
from specdec_core.text.chat import has_template

FREE = (
    "Explain in a few sentences why the sky is blue.",
    "Write a short letter to a friend who is moving to another town.",
)
"""Messages whose answers are free."""

COPYING = (
    "Repeat the following text word for word, and write nothing else:\n\nThe committee met on Tuesday to "
    "discuss the new bridge over the river. The engineers presented three designs, and the committee chose "
    "the second one, because it was the cheapest and could be built before the winter. The work will begin "
    "in April.",
)
"""A message whose answer copies from it."""

PROMPTS = {"free": FREE, "copying": COPYING}
"""Groups of prompts by what their answers are."""

GAMMAS = {"model": 4, "bfloat16": 3, "int8": 3, "prompt-lookup": 6, "suffix": 6, "lookup-or-model": 4}
"""Draft lengths that suit a kind; the others draft two tokens."""


@dataclass(frozen=True)
class DraftRow:
    """One draft on one group of prompts.

    Attributes:
        kind: key in the catalogue. gamma: the draft length.
        answers: name of the group of prompts.
        overlap: mean Σ min(p, q) over tested places.
        kept: accepted / tested drafts.
        c: time of a draft step in tokens of plain decoding.
        tokens_per_round: tokens a target pass.
        speedup: time per token of plain decoding over that of this draft, median over prompts.
        predicted: what the cost table and the tokens per round say.
    """

    kind: str
    gamma: int
    answers: str
    overlap: float | None
    kept: float | None
    c: float
    tokens_per_round: float
    speedup: float
    predicted: float


def bench_drafts(
    pair: Pair,
    *,
    tokens: int = 100,
    sampling: Sampling = Sampling(),  # noqa: B008
    groups: Mapping[str, Sequence[str]] = MappingProxyType(PROMPTS),
) -> Iterator[DraftRow]:
    """Measure each draft that is to be had, beside plain decoding on the same prompts.

    Args:
        pair: the models; messages are framed by its chat template, if it has one.
        tokens: new tokens of each run.
        sampling: of both; temperature 0 is greedy.
        groups: prompts by what their answers are.
    """
    kinds = [kind for kind in DRAFTS.values() if kind.available(pair) is None]
    for answers, prompts in groups.items():
        for kind in kinds:
            settings = RoundSettings(GAMMAS.get(kind.key, 2), sampling)
            runs = [_run(pair, kind.key, prompt, settings, tokens) for prompt in prompts]
            yield _row(kind.key, answers, settings, runs)


def _run(pair: Pair, kind: str, prompt: str, settings: RoundSettings, tokens: int) -> LiveRun:
    """One run to its end, and the target alone right after it, so that both meet the same machine."""
    live = LiveRun.start(
        pair,
        prompt,
        draft=DraftSettings(kind),
        chat=has_template(pair.tokenizer),
        max_new_tokens=tokens,
    )
    while not live.ended:
        live.next_round(settings)
    live.measure_baseline(settings.sampling)
    live.measure_costs()
    return live


def _row(kind: str, answers: str, settings: RoundSettings, runs: Sequence[LiveRun]) -> DraftRow:
    rounds = [item for live in runs for item in live.trace.rounds]
    tested = sum(item.tested for item in rounds)
    costs, per_round = runs[0].measure_costs(), sum(len(item.emitted) for item in rounds) / len(rounds)
    price = sum(len(item.drafted) * costs.c + costs.verify_cost(len(item.drafted)) for item in rounds)
    return DraftRow(
        kind=kind,
        gamma=settings.gamma,
        answers=answers,
        overlap=_overlap(rounds) / tested if tested else None,
        kept=sum(item.accepted for item in rounds) / tested if tested else None,
        c=costs.c,
        tokens_per_round=per_round,
        speedup=median(_speedup(live) for live in runs),
        predicted=per_round * len(rounds) / price,
    )


def _overlap(rounds: Sequence[Round]) -> float:
    """Σ β over the tested places."""
    return float(sum(item.places.overlap[item.verdicts <= Verdict.REJECTED].sum() for item in rounds))


def _speedup(live: LiveRun) -> float:
    """Time per token of the target alone over this run's, whose first rounds after loading count as well."""
    trace = live.trace
    own = sum(item.times.total for item in trace.rounds) / len(trace.emitted)
    return float(trace.baseline.seconds.mean()) / own
