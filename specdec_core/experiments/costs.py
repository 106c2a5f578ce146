"""What the parts of a round cost on this machine, timed in rounds of the decoder itself."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from statistics import median
from time import perf_counter

from specdec_core.decoding.baseline import decode_plain
from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.draws import Draws
from specdec_core.decoding.origin import Origin
from specdec_core.decoding.proposal import Drafter, DraftRequest, Proposal, Vocabulary
from specdec_core.decoding.record import NoRecorder
from specdec_core.decoding.types import DraftStop, RoundSettings, RunSettings, Sampling
from specdec_core.drafting.model import ModelDrafter
from specdec_core.models.pair import Pair
from specdec_core.traces.trace import CostTable

TOKENS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 17)
"""Sizes of the passes that are measured; between them the cost is interpolated."""

CONTEXT = 96
"""Tokens in the caches meanwhile: about the middle of a usual run."""

REPEATS = 15
SECONDS = 5.0
"""Measuring stops after so long, but not before it has made three repeats."""
LEAST_REPEATS = 3
STEPS = 4
"""Draft steps, and tokens of plain decoding, in each repeat."""


def measure_costs(
    pair: Pair, *, tokens: Sequence[int] = TOKENS, context: int = CONTEXT, repeats: int = REPEATS
) -> CostTable:
    """Time rounds that verify 0, 1, ... drafts, plain tokens and draft steps, and take medians.

    The rounds are the decoder's own, so that their passes, tests and draws cost here what they
    cost in a run; what they verify is made up, which changes no time. All sizes take turns, which
    spreads a disturbance of the machine over them instead of spoiling one. The device is held for
    one round at a time.

    Args:
        pair: the models.
        tokens: numbers of tokens in a pass; 1 is always measured.
        context: tokens in the caches before a pass; less where the models hold less.
        repeats: how many passes of each size; fewer on a slow machine.

    Returns:
        Medians in seconds.
    """
    sizes = tuple(sorted({1, *tokens}))
    bench = _Bench(pair, min(context, _room(pair) - sizes[-1] - STEPS - 1))
    bench.repeat(sizes)
    bench.forget()
    started = perf_counter()
    for done in range(repeats):
        if done >= LEAST_REPEATS and perf_counter() - started > SECONDS:
            break
        bench.repeat(sizes)
    return bench.table(sizes)


def _room(pair: Pair) -> int:
    """Most tokens that every cache holds."""
    draft = pair.info.draft
    target = pair.info.target.context_length
    return min(target, draft.context_length) if draft else target


class _Bench:
    """The caches and the times of one measurement; every timed step begins after the same tokens."""

    def __init__(self, pair: Pair, context: int) -> None:
        self._runner, self.context = pair.runner, context
        prompt = tuple(n % pair.info.vocab_size for n in range(1, context + 1))
        self._run = RunSettings(prompt, max_new_tokens=pair.info.target.context_length)
        self._target, self._drafter = pair.target(), ModelDrafter(pair.draft(), "draft")
        with self._runner.turn():
            self._target.feed(prompt[:-1], keep=1)
            self._drafter.prefill(prompt[:-1])
        self.forget()

    def forget(self) -> None:
        """Drop the times so far, which were for warming up."""
        self._passes: dict[int, list[float]] = {}
        self._rest: dict[int, list[float]] = {}
        self._plain: list[float] = []
        self._steps: list[float] = []

    def repeat(self, sizes: Sequence[int]) -> None:
        """One round of each size, and a few plain tokens and draft steps."""
        for timed in (*(partial(self._round, size) for size in sizes), self._tokens, self._draft):
            with self._runner.turn():
                timed()
                self._target.rewind(self.context - 1)

    def table(self, sizes: Sequence[int]) -> CostTable:
        return CostTable(
            tokens=tuple(sizes),
            target=tuple(median(self._passes[size]) for size in sizes),
            rest=tuple(median(self._rest[size]) for size in sizes),
            plain=median(self._plain),
            draft=median(self._steps),
            context=self.context,
            repeats=len(self._passes[1]),
        )

    def _round(self, size: int) -> None:
        drafter = _MadeUp(Vocabulary(self._target.vocab_size))
        decoder = Decoder(self._target, drafter, self._run, NoRecorder())
        times = decoder.step(RoundSettings(gamma=size - 1)).times
        self._passes.setdefault(size, []).append(times.verify)
        self._rest.setdefault(size, []).append(times.sample + times.other)

    def _tokens(self) -> None:
        made = islice(decode_plain(self._target, self._run, Sampling()), STEPS)
        self._plain += [token.seconds for token in made]

    def _draft(self) -> None:
        request = DraftRequest(self._run.prompt_ids, STEPS, Sampling(), Draws(0), 0, frozenset())
        self._steps += self._drafter.propose(request).seconds
        self._drafter.observe(self.context)


class _MadeUp(Drafter):
    """Proposes the first tokens of the vocabulary, in order."""

    name, length = "made up", 0

    def __init__(self, vocab: Vocabulary) -> None:
        self._vocab = vocab

    def prefill(self, ids: Sequence[int]) -> None:
        pass

    def propose(self, request: DraftRequest) -> Proposal:
        started = perf_counter()
        ids = tuple(range(request.limit))
        proposal = Proposal.certain(ids, request, self._vocab, (), DraftStop.GAMMA, Origin(by=self.name))
        # All its time is drafting, which nobody asks for: none of it may count as the rest of the round.
        return replace(proposal, seconds=(perf_counter() - started,))

    def observe(self, committed: int) -> None:
        pass
