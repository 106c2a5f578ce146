"""What the parts of a round cost on this machine, timed in rounds of the decoder itself."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from statistics import median
from time import perf_counter

from specdec_core.decoding.baseline import decode_plain
from specdec_core.decoding.cache import SequenceModel
from specdec_core.decoding.clock import Clock, host_clock
from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.draws import Draws
from specdec_core.decoding.origin import Origin
from specdec_core.decoding.proposal import Drafter, DraftRequest, Proposal, Vocabulary
from specdec_core.decoding.record import NoRecorder
from specdec_core.decoding.types import DraftStop, RoundSettings, RunSettings, Sampling
from specdec_core.experiments.drafts import DraftSettings, make_drafter
from specdec_core.models.pair import Pair
from specdec_core.models.runner import Runner
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
PERIOD = 16
"""The text repeats itself, so that drafts that copy find something to copy."""


def measure_costs(
    pair: Pair,
    draft: DraftSettings | None = None,
    *,
    tokens: Sequence[int] = TOKENS,
    context: int = CONTEXT,
    repeats: int = REPEATS,
) -> CostTable:
    """The costs of a pair with one of its drafts; see ``CostBench``.

    Args:
        pair: the models.
        draft: what drafts, the pair's default if left out; only the time of its steps depends on it.
        tokens, context, repeats: as in ``CostBench``.
    """
    drafter = make_drafter(pair, draft)
    room = pair.info.draft.context_length if pair.info.draft else None
    bench = CostBench(pair.target(), drafter, runner=pair.runner, clock=pair.clock, room=room)
    return bench.measure(tokens, context, repeats)


class CostBench:
    """Times rounds that verify 0, 1, ... drafts, plain tokens and draft steps, and takes medians.

    The rounds are the decoder's own, so that their passes, tests and draws cost here what they
    cost in a run; what they verify is made up, which changes no time. All sizes take turns, which
    spreads a disturbance of the machine over them instead of spoiling one. The device is held for
    one round at a time.

    Args:
        target: the target with an empty cache.
        drafter: what drafts, not having read anything.
        runner: hands out the device.
        clock: notes moments on it.
        room: most tokens that the draft's cache holds, the target's number if left out.
    """

    def __init__(
        self,
        target: SequenceModel,
        drafter: Drafter,
        *,
        runner: Runner,
        clock: Clock = host_clock,
        room: int | None = None,
    ) -> None:
        self._target, self._drafter, self._runner, self._clock = target, drafter, runner, clock
        self._room = room or target.context_length
        self._forget()

    def measure(
        self, tokens: Sequence[int] = TOKENS, context: int = CONTEXT, repeats: int = REPEATS
    ) -> CostTable:
        """Medians in seconds.

        Args:
            tokens: numbers of tokens in a pass; 1 is always measured.
            context: tokens in the caches before a pass; less where the models hold less.
            repeats: how many passes of each size; fewer on a slow machine.
        """
        sizes = tuple(sorted({1, *tokens}))
        longest = min(self._target.context_length - sizes[-1], self._room - STEPS) - 1
        self._read(max(2, min(context, longest)))
        self._repeat(sizes)
        self._forget()  # the first times were for warming up
        started = perf_counter()
        for done in range(repeats):
            if done >= LEAST_REPEATS and perf_counter() - started > SECONDS:
                break
            self._repeat(sizes)
        return self._table(sizes)

    def _read(self, context: int) -> None:
        """Fill the caches; every timed step begins after these tokens."""
        text = tuple(n % min(PERIOD, self._target.vocab_size) for n in range(context))
        self._run = RunSettings(text, max_new_tokens=self._target.context_length)
        with self._runner.turn():
            self._target.feed(text[:-1], keep=1)
            self._drafter.prefill(text[:-1])

    def _forget(self) -> None:
        self._passes: dict[int, list[float]] = {}
        self._rest: dict[int, list[float]] = {}
        self._plain: list[float] = []
        self._steps: list[float] = []

    def _repeat(self, sizes: Sequence[int]) -> None:
        """One round of each size, and a few plain tokens and draft steps."""
        for timed in (*(partial(self._round, size) for size in sizes), self._tokens, self._draft):
            with self._runner.turn():
                timed()
                self._target.rewind(len(self._run.prompt_ids) - 1)

    def _table(self, sizes: Sequence[int]) -> CostTable:
        return CostTable(
            tokens=tuple(sizes),
            target=tuple(median(self._passes[size]) for size in sizes),
            rest=tuple(median(self._rest[size]) for size in sizes),
            plain=median(self._plain),
            draft=median(self._steps) if self._steps else 0.0,
            context=len(self._run.prompt_ids),
            repeats=len(self._passes[1]),
        )

    def _round(self, size: int) -> None:
        drafter = _MadeUp(Vocabulary(self._target.vocab_size))
        decoder = Decoder(self._target, drafter, self._run, NoRecorder(), clock=self._clock)
        times = decoder.step(RoundSettings(gamma=size - 1)).times
        self._passes.setdefault(size, []).append(times.verify)
        self._rest.setdefault(size, []).append(times.sample + times.other)

    def _tokens(self) -> None:
        made = islice(decode_plain(self._target, self._run, Sampling()), STEPS)
        self._plain += [token.seconds for token in made]

    def _draft(self) -> None:
        request = DraftRequest(self._run.prompt_ids, STEPS, Sampling(), Draws(0), 0, frozenset())
        self._steps += self._drafter.propose(request).seconds
        self._drafter.observe(len(self._run.prompt_ids))


class _MadeUp(Drafter):
    """Proposes the first tokens of the vocabulary, in order."""

    name, length, nbytes = "made up", 0, 0

    def __init__(self, vocab: Vocabulary) -> None:
        self._vocab = vocab

    def prefill(self, ids: Sequence[int]) -> None:
        pass

    def propose(self, request: DraftRequest) -> Proposal:
        started = perf_counter()
        ids = [place % self._vocab.size for place in range(request.limit)]
        proposal = Proposal.certain(ids, request, self._vocab, (), DraftStop.GAMMA, Origin(by=self.name))
        # All its time is drafting, which nobody asks for: none of it may count as the rest of the round.
        return replace(proposal, seconds=(perf_counter() - started,))

    def observe(self, committed: int) -> None:
        pass
