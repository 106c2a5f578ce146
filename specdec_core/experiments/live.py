"""One live run on a pair: a decoder, and the trace that grows with each of its rounds.

A browser session may start a script while the one before it is still inside a round. A run
therefore has a lock of its own: rounds are made one at a time, none is lost, and whoever
says which round it wants never makes one twice. The device is held for one round (or one
token of the baseline) at a time and never across a call of the user interface.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType

from specdec_core.decoding.checks import ModelFailure
from specdec_core.decoding.decoder import Decoder, RunEnded
from specdec_core.decoding.record import Recorder
from specdec_core.decoding.types import (
    Round,
    RoundFlags,
    RoundSettings,
    RoundTimes,
    RuleName,
    RunSettings,
    Sampling,
    Stop,
)
from specdec_core.experiments.alone import Alone, merged
from specdec_core.experiments.costs import measure_costs
from specdec_core.experiments.drafts import DraftSettings, default_draft, make_drafter
from specdec_core.experiments.idle import IdleCaches
from specdec_core.experiments.replay import Replay, run_warm
from specdec_core.models.pair import Pair
from specdec_core.models.prompt import clean
from specdec_core.text.chat import as_chat
from specdec_core.text.stopping import stop_at
from specdec_core.traces.trace import PLAIN_TEXT, CostTable, Framing, PlainRun, Trace

_idle = IdleCaches()

WAIT = 30.0
"""Seconds that a round waits for the device before it says how many others are waiting."""


class LiveRun:
    """A run that goes on when asked to. Make one with ``LiveRun.start``.

    Attributes:
        pair: the models.
        run: what is fixed for the run.
        draft: what drafts.
        failure: what ended the run early, as a sentence, or "".

    Example:
        >>> live = LiveRun.start(pair, "Once upon a time", seed=7)  # doctest: +SKIP
        >>> while not live.ended:  # doctest: +SKIP
        ...     live.next_round(RoundSettings(gamma=4))
        >>> live.trace.emitted  # doctest: +SKIP
    """

    def __init__(
        self,
        pair: Pair,
        trace: Trace,
        decoder: Decoder,
        stop: Stop | None,
        draft: DraftSettings,
    ) -> None:
        self.pair, self.run, self.draft, self.failure = pair, trace.run, draft, ""
        self._trace, self._stop = trace, stop
        self._decoder: Decoder | None = decoder
        self._rested = False  # its caches were given back
        self._in_turns = 0  # tokens of the baseline that were timed in turns with rounds of a replay
        self._making = threading.Lock()  # one round at a time
        self._changing = threading.Lock()  # one change of the trace at a time; held briefly

    @classmethod
    def start(
        cls,
        pair: Pair,
        prompt: str,
        *,
        rule: RuleName = RuleName.SPECULATIVE_SAMPLING,
        seed: int = 0,
        branch: int = 0,
        draft: DraftSettings | None = None,
        framing: Framing = PLAIN_TEXT,
        max_new_tokens: int = 64,
        recorder: Recorder | None = None,
        timeout: float | None = WAIT,
    ) -> "LiveRun":
        """Encode the prompt and read it with both models; the first round comes next.

        Args:
            pair: the models.
            prompt: the prompt as text.
            rule, seed, branch, max_new_tokens: as in ``RunSettings``.
            draft: what drafts; the pair's default if left out.
            framing: what to put around the prompt, and which text ends the run.
            recorder: turns evidence into records; the full one if left out.
            timeout: most seconds to wait for the device.

        Raises:
            PromptError: the prompt is empty or too long.
            ChatError: the target has no chat template, or it refuses the prompt.
            ValueError: a setting is out of its range, a stop string is empty, or the draft is not to
                be had for this pair.
            Busy: the device did not come free in time.
        """
        # The trace holds the texts that were used, which are such as can be written to a file.
        prompt, framing = clean(prompt), _clean(framing)
        ids = _encoded(pair, prompt, framing)
        run = RunSettings(ids, rule, seed, branch, max_new_tokens, pair.end_ids)
        stop = stop_at(framing.stop_strings, pair.piece)
        decoder = Decoder(pair.target(), make_drafter(pair, draft), run, recorder, stop, pair.clock)
        with pair.runner.turn(timeout):
            prefill = decoder.prefill()
        trace = Trace(
            pair=pair.info,
            machine=pair.machine,
            run=run,
            prompt=prompt,
            framing=framing,
            pieces=_pieces(pair, run.prompt_ids),
            prefill=prefill,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        return cls(pair, trace, decoder, stop, draft or default_draft(pair))

    @property
    def trace(self) -> Trace:
        """Everything that has happened so far; immutable, so it may be kept."""
        return self._trace

    @property
    def ended(self) -> bool:
        """Whether there is no further round: the run ended, failed, or was closed."""
        return self._decoder is None or self._trace.end is not None

    def next_round(
        self,
        settings: RoundSettings,
        *,
        single: bool = False,
        warm_up: bool = False,
        index: int | None = None,
        timeout: float | None = WAIT,
    ) -> Round:
        """Make the next round and add it to the trace.

        Args:
            settings: draft length and sampling from this round on.
            single: a person stepped this round on its own, so its times measure no speed.
            warm_up: make a round of no consequence just before, untimed, since a pause has cooled the device.
            index: number of the round that is wanted. If another script has made it
                meanwhile, it is returned and none is made.
            timeout: most seconds to wait for the device.

        Raises:
            RunEnded: the run has ended, failed, or was closed.
            Busy: the device did not come free in time; nothing has changed.
            ModelFailure: a model gave unusable logits. The run is over, its trace intact.
        """
        with self._making:
            if index is not None and index < len(self._trace.rounds):
                return self._trace.rounds[index]
            if self._decoder is None or self.ended:
                raise RunEnded(self._ending())
            flags = RoundFlags(single=single)
            item = self._make(self._decoder, settings, flags, timeout, warm_up)
            pieces = _pieces(self.pair, item.ids.tolist(), self._trace.pieces)
            with self._changing:
                self._trace = self._trace.append(item, pieces)
        _idle.used(self)
        return item

    def measure_costs(self) -> CostTable:
        """The costs of the pair with this draft, measured once for all runs, frozen in this trace."""
        measure = partial(measure_costs, self.pair, self.draft)
        costs = self._trace.costs or self.pair.costs(self.draft, measure)
        self._change(costs=costs)
        return costs

    def measure_baseline(
        self, sampling: Sampling, *, cancel: threading.Event | None = None, timeout: float | None = WAIT
    ) -> PlainRun:
        """Let the target alone write as many tokens from the same prompt, and time each.

        Args:
            sampling: what shapes p; usually that of the round in force.
            cancel: set it to stop early; what was written until then counts, if anything was.
            timeout: most seconds to wait for the device before each token.

        Raises:
            Busy: the device did not come free in time; the baseline is not changed.
        """
        alone = Alone(self.pair, self.run, sampling, self._stop, timeout)
        alone.read()
        while not alone.done and not (cancel and cancel.is_set()):
            alone.write(len(alone.tokens) + 1)
        baseline = alone.as_run()
        if alone.tokens:
            self._in_turns = 0
            self._change(baseline=baseline, new_ids=baseline.ids.tolist())
        return baseline

    def replay(
        self,
        sampling: Sampling | None = None,
        *,
        afresh: bool = False,
        cancel: threading.Event | None = None,
        timeout: float | None = WAIT,
    ) -> Iterator[RoundTimes]:
        """Make the recorded rounds again without pauses or records, for their times alone.

        Rounds stepped by hand, one after a pause for thought, say little about speed. The
        replay makes the same rounds back to back and fills ``trace.replay`` as it goes, and the
        baseline with the times of the target alone that were taken in turns with them. It
        ends early when another run wants the device: times measured then would be no better.

        Args:
            sampling: what shapes p of the target alone; None leaves the baseline as it is.
            afresh: forget the times of earlier replays.
            cancel: set it to end early.
            timeout: most seconds to wait for the device before each round and token.

        Yields:
            The times of each round.

        Raises:
            ReplayDiffers: a round gave other tokens than the recorded one.
            Busy: the device did not come free in time; the replay so far stands.
        """
        if afresh:
            self._in_turns = 0
            self._change(replay=())
        again = Replay(self.pair, self.run, self.draft, self._stop, sampling, timeout)
        again.read()
        try:
            while again.made < len(self._trace.rounds) and not (cancel and cancel.is_set()):
                times = again.round(self._trace.rounds[again.made])
                if times is None:
                    return
                if again.made > len(self._trace.replay):
                    # Times once measured stay: what is on screen must not change under the reader.
                    self._change(replay=(*self._trace.replay, times))
                yield times
            again.finish(cancel)
        finally:
            self._take_over(again)

    def _take_over(self, again: Replay) -> None:
        """Put the times of the target alone that were taken in turns with rounds into the baseline."""
        plain, whole = again.plain() or (None, False)
        if plain is None:
            return
        found = merged(self._trace.baseline, plain, min(self._in_turns, len(plain.ids)))
        if whole or found is not plain:
            self._in_turns = max(self._in_turns, min(again.tokens, len(plain.ids)))
            self._change(baseline=found, new_ids=found.ids.tolist())

    @property
    def cache_bytes(self) -> int:
        """Memory of the run's caches."""
        decoder = self._decoder
        return decoder.cache_bytes if decoder else 0

    def rest(self) -> None:
        """Give the caches back until the next round, unless a round is being made."""
        if self._making.acquire(blocking=False):
            try:
                if self._decoder:
                    self._decoder.rest()
                    self._rested = True
            finally:
                self._making.release()

    def close(self) -> None:
        """End the run between rounds and free its caches; the trace stays."""
        with self._making:
            self._decoder = None

    def _make(
        self,
        decoder: Decoder,
        settings: RoundSettings,
        flags: RoundFlags,
        timeout: float | None,
        warm_up: bool,
    ) -> Round:
        """One round on the device, flagged with the circumstances in which it was made."""
        with self.pair.runner.turn(timeout) as turn:
            if warm_up:
                run_warm(self.pair, self.run, self.draft, settings)
            cold = self.pair.count_round() or self._rested
            try:
                item = decoder.step(settings, replace(flags, cold=cold))
                self._rested = False
            except Exception as error:
                self._decoder, self.failure = None, _failure(error)
                raise
            return replace(item, flags=replace(item.flags, contended=turn.contended))

    def _ending(self) -> str:
        """Why there is no further round, in words."""
        if self.failure:
            return f"the run has failed: {self.failure}"
        end = self._trace.end
        return f"the run has ended: {end.value}" if end else "the run was closed"

    def _change(self, *, new_ids: Sequence[int] = (), **changes: object) -> None:
        with self._changing:
            pieces = _pieces(self.pair, new_ids, self._trace.pieces)
            known = {**self._trace.pieces, **pieces} if pieces else self._trace.pieces
            self._trace = self._trace.with_(pieces=known, **changes)


def _clean(framing: Framing) -> Framing:
    return Framing(framing.chat, clean(framing.system), tuple(map(clean, framing.stop_strings)))


def _encoded(pair: Pair, prompt: str, framing: Framing) -> tuple[int, ...]:
    """The ids of a prompt in its frame."""
    if not framing.chat:
        return pair.encode(prompt)
    return pair.encode(as_chat(pair.tokenizer, prompt, framing.system), framed=True)


def _failure(error: Exception) -> str:
    """What went wrong, in words for a visitor: a model's own fault, or only its kind."""
    if isinstance(error, ModelFailure):
        return str(error)
    return f"an error in the model ({type(error).__name__})"


def _pieces(
    pair: Pair, ids: Sequence[int], known: Mapping[int, bytes] = MappingProxyType({})
) -> dict[int, bytes]:
    """The bytes of those ids that are not known yet."""
    return {id_: pair.piece(id_) for id_ in map(int, ids) if id_ not in known}
