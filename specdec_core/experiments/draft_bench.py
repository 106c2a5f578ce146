"""Every draft that a pair can have, on the same prompts in one run: what it keeps, costs and gains."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from types import MappingProxyType

from specdec_core.decoding.types import RoundSettings, Sampling
from specdec_core.experiments.drafts import DRAFTS, DraftSettings
from specdec_core.experiments.live import LiveRun
from specdec_core.models.pair import Pair
from specdec_core.text.chat import has_template
from specdec_core.traces import metrics
from specdec_core.traces.trace import Framing, Trace

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


@dataclass(frozen=True)
class DraftRow:
    """One draft on one group of prompts.

    Attributes:
        kind: key in the catalogue. gamma: the draft length.
        answers: name of the group of prompts.
        overlap, kept, tokens_per_round, predicted: ``mean_overlap``, ``kept_of_tested``,
            ``tokens_per_round`` and ``speedup_expected`` of ``traces.metrics``, means over prompts.
        c: time of a draft step in tokens of plain decoding.
        speedup: time per token of plain decoding over that of this draft, timed in turns, a round here and
            as many tokens there; median over prompts.
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
    kinds = [kind for kind in DRAFTS.values() if kind.missing(pair) is None]
    for answers, prompts in groups.items():
        for kind in kinds:
            settings = RoundSettings(kind.gamma, sampling)
            runs = [_run(pair, kind.key, prompt, settings, tokens) for prompt in prompts]
            yield _row(kind.key, answers, settings, runs)


def _run(pair: Pair, kind: str, prompt: str, settings: RoundSettings, tokens: int) -> LiveRun:
    """One run to its end, then once more in turns with the target alone: both meet the same machine."""
    live = LiveRun.start(
        pair,
        prompt,
        draft=DraftSettings(kind),
        framing=Framing(chat=has_template(pair.tokenizer)),
        max_new_tokens=tokens,
    )
    while not live.ended:
        live.next_round(settings)
    deque(live.replay(settings.sampling), maxlen=0)
    live.measure_costs()
    return live


def _row(kind: str, answers: str, settings: RoundSettings, runs: Sequence[LiveRun]) -> DraftRow:
    traces = [live.trace for live in runs]
    return DraftRow(
        kind=kind,
        gamma=settings.gamma,
        answers=answers,
        overlap=_mean(metrics.mean_overlap, traces),
        kept=_mean(metrics.kept_of_tested, traces),
        c=traces[0].costs.c,
        tokens_per_round=_mean(metrics.tokens_per_round, traces),
        speedup=median(map(metrics.speedup_measured, traces)),
        predicted=_mean(metrics.speedup_expected, traces),
    )


def _mean(metric: Callable[[Trace], float | None], traces: Sequence[Trace]) -> float | None:
    """Mean over the prompts that there is something to count on."""
    found = [value for value in map(metric, traces) if value is not None]
    return fmean(found) if found else None
