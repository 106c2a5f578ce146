"""The target alone, token by token, for as long as nobody else wants the device."""

import numpy as np

from specdec_core.decoding.baseline import PlainToken, decode_plain, prefill_plain
from specdec_core.decoding.types import RunSettings, Sampling, Stop
from specdec_core.models.pair import Pair
from specdec_core.traces.trace import PlainRun


class Alone:
    """Plain decoding of a run's prompt, a turn of the device for each token.

    Args:
        pair: the models, of which the target alone is used.
        run: the settings of the speculative run.
        sampling: what shapes p.
        stop: text condition that ends the run.
        timeout: most seconds to wait for the device before each token.

    Attributes:
        tokens: those written so far.
        prefill: seconds of the pass over the prompt.
        contended: another run wanted the device meanwhile.
    """

    def __init__(
        self, pair: Pair, run: RunSettings, sampling: Sampling, stop: Stop | None, timeout: float | None
    ) -> None:
        self._pair, self._run, self._sampling, self._timeout = pair, run, sampling, timeout
        self._target = pair.target()
        self._steps = decode_plain(self._target, run, sampling, stop)
        self.tokens: list[PlainToken] = []
        self.prefill, self.contended = 0.0, False

    @property
    def done(self) -> bool:
        """Whether there is no further token."""
        return bool(self.tokens) and self.tokens[-1].end is not None

    def read(self) -> None:
        """Read the prompt."""
        with self._pair.runner.turn(self._timeout) as turn:
            self.prefill = prefill_plain(self._target, self._run, self._pair.clock)
            self.contended = turn.contended

    def write(self, upto: int) -> bool:
        """Go on until there are ``upto`` tokens or the end; whether nobody else wanted the device."""
        contended = False
        while len(self.tokens) < upto and not self.done and not contended:
            with self._pair.runner.turn(self._timeout) as turn:
                self.tokens.append(next(self._steps))
                contended = turn.contended
        self.contended = self.contended or contended
        return not contended

    def as_run(self) -> PlainRun:
        """The tokens so far as a baseline."""
        ids = np.array([token.id for token in self.tokens], dtype=np.int32)
        seconds = np.array([token.seconds for token in self.tokens])
        return PlainRun(self._sampling, ids, seconds, self.prefill, self.contended)


def merged(old: PlainRun | None, new: PlainRun, kept: int) -> PlainRun:
    """A baseline with newer times, which end earlier.

    Args:
        old: the baseline so far.
        new: the first tokens once more, or all of them.
        kept: of so many tokens the old times stay.

    Returns:
        ``new`` alone where the two are not the same tokens, or where the old times count for nothing.
    """
    count = len(new.ids)
    same = old is not None and old.sampling == new.sampling and np.array_equal(old.ids[:count], new.ids)
    if not same or old.contended:
        return new
    seconds = np.concatenate([old.seconds[:kept], new.seconds[kept:], old.seconds[count:]])
    return PlainRun(new.sampling, old.ids, seconds, new.prefill, new.contended)
