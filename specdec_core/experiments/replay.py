"""The rounds of a run once more, in turns with the target alone, for the times of both."""

import threading
from contextlib import suppress
from dataclasses import replace

import numpy as np

from specdec_core.decoding.checks import ModelFailure
from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.record import NoRecorder
from specdec_core.decoding.types import Round, RoundSettings, RoundTimes, RunSettings, Sampling, Stop
from specdec_core.experiments.alone import Alone
from specdec_core.experiments.drafts import DraftSettings, make_drafter
from specdec_core.models.pair import Pair
from specdec_core.traces.trace import PlainRun


class ReplayDiffers(RuntimeError):
    """A replayed round did not give the tokens of the recorded one."""


class Replay:
    """Makes recorded rounds again, back to back and without records.

    The target alone writes in turns with them, a round here, as many tokens there, so that a machine
    that is busier now than a minute ago slows both alike.

    Args:
        pair: the models.
        run, draft, stop: as those of the recorded run.
        sampling: what shapes p of the target alone; None leaves it out.
        timeout: most seconds to wait for the device before each round and token.

    Attributes:
        made: rounds so far whose times nobody disturbed.
        tokens: what they emitted, and how many tokens of the target alone were timed beside them.
    """

    def __init__(
        self,
        pair: Pair,
        run: RunSettings,
        draft: DraftSettings,
        stop: Stop | None,
        sampling: Sampling | None,
        timeout: float | None,
    ) -> None:
        drafter = make_drafter(pair, draft)
        self._runner, self._timeout = pair.runner, timeout
        self._decoder = Decoder(pair.target(), drafter, run, NoRecorder(), stop, pair.clock)
        self._alone = None if sampling is None else Alone(pair, run, sampling, stop, timeout)
        self.made = self.tokens = 0

    def read(self) -> None:
        """Read the prompt."""
        with self._runner.turn(self._timeout):
            self._decoder.prefill()
        if self._alone:
            self._alone.read()

    def round(self, recorded: Round) -> RoundTimes | None:
        """The times of the next round; None if another run wanted the device meanwhile.

        Raises:
            ReplayDiffers: it gave other tokens.
        """
        with self._runner.turn(self._timeout) as turn:
            again = self._decoder.step(recorded.settings)
            contended = turn.contended
        if not np.array_equal(again.emitted, recorded.emitted):
            raise ReplayDiffers(f"round {recorded.index + 1} gave other tokens when it was replayed")
        upto = self.tokens + len(recorded.emitted)
        if contended or (self._alone and not self._alone.write(upto)):
            return None
        self.made, self.tokens = self.made + 1, upto
        return again.times

    def finish(self, cancel: threading.Event | None) -> None:
        """Let the target alone write on to its end, as long as nobody else wants the device."""
        alone = self._alone
        while alone and not alone.done and not (cancel and cancel.is_set()):
            if not alone.write(len(alone.tokens) + 1):
                return

    def plain(self) -> tuple[PlainRun, bool] | None:
        """The target alone as far as nobody disturbed it, and whether that is all of it; None for nothing."""
        if self._alone is None:
            return None
        found = self._alone.as_run()
        whole = self._alone.done and not found.contended
        if not whole:
            ids, seconds = found.ids[: self.tokens], found.seconds[: self.tokens]
            found = replace(found, ids=ids, seconds=seconds, contended=False)
        return (found, whole) if len(found.ids) else None


def run_warm(pair: Pair, run: RunSettings, draft: DraftSettings, settings: RoundSettings) -> None:
    """A round on the end of a run's prompt, by caches of its own; what comes of it is forgotten.

    After a pause the processor's caches and clocks are cold: measured, a round takes some 15 % longer
    than one in a row, and as long as that after a warm-up. The device must be held.
    """
    short = replace(run, prompt_ids=run.prompt_ids[-2:])
    with suppress(ModelFailure):
        drafter = make_drafter(pair, draft)
        decoder = Decoder(pair.target(), drafter, short, NoRecorder(), clock=pair.clock)
        decoder.prefill()
        decoder.step(settings)
