"""The record of one run, from which everything shown, exported or tested is derived.

A ``Trace`` is immutable: a run in progress makes a new trace with every round and shares
the rounds before it, so that a reader may hold on to any of them. It knows numpy and the
words of ``decoding.types`` alone, neither torch nor a tokenizer. Times are in seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from specdec_core.decoding.types import EndReason, Prefill, Round, RoundTimes, RunSettings, Sampling

TRACE_VERSION = 2
"""Version of the record. It rises when a reader of the old form would misread the new one."""


@dataclass(frozen=True)
class ModelInfo:
    """One model of a pair.

    Attributes:
        name: what people call it.
        parameters: how many weights it has, tied ones counted once.
        layers: transformer layers.
        context_length: longest sequence it accepts, in tokens.
        fingerprint: SHA-256 of its weights, in hex.
    """

    name: str
    parameters: int
    layers: int
    context_length: int
    fingerprint: str


@dataclass(frozen=True)
class PairInfo:
    """A target and the draft that proposes for it, over one vocabulary.

    Attributes:
        key: name of the pair in code and on the command line.
        title: name of the pair on screen.
        target, draft: the two models; None where what drafts is no model of its own.
        vocab_size: tokens in the shared vocabulary; ids are below it.
        dtype: number format of the weights in memory, for example ``float32``.
        licence: licence of the weights.
    """

    key: str
    title: str
    target: ModelInfo
    draft: ModelInfo | None
    vocab_size: int
    dtype: str
    licence: str


@dataclass(frozen=True)
class Machine:
    """What a run was timed on.

    Attributes:
        processor: model name of the processor.
        device: where the models ran: ``cpu``, or ``cuda:0`` and the name of the accelerator.
        threads: processor threads that torch may use.
        torch, transformers, python, system: versions.
    """

    processor: str
    device: str
    threads: int
    torch: str
    transformers: str
    python: str
    system: str

    @property
    def summary(self) -> str:
        """The device in a few words, to stand beside every speed.

        >>> Machine("Xeon", "cpu", 2, "2.13.0", "5.24.0", "3.11.2", "Linux").summary
        '2 CPU threads'
        >>> Machine("Xeon", "cuda:0 NVIDIA H200", 8, "2.13.0", "5.24.0", "3.11.2", "Linux").summary
        'NVIDIA H200'
        """
        if self.device == "cpu":
            return "1 CPU thread" if self.threads == 1 else f"{self.threads} CPU threads"
        return self.device.partition(" ")[2] or self.device


@dataclass(frozen=True, eq=False)
class PlainRun:
    """Plain decoding by the target alone on the same prompt: what the run is compared with.

    Attributes:
        sampling: settings of every token of it.
        ids: int32 [n], its tokens.
        seconds: float64 [n], wall-clock seconds of each token, pass and draw together.
        prefill: seconds of the pass over the prompt.
        contended: another run used the device at the same time.
    """

    sampling: Sampling
    ids: np.ndarray
    seconds: np.ndarray
    prefill: float
    contended: bool = False


@dataclass(frozen=True)
class Framing:
    """What stands around the prompt, and which text ends the run.

    Attributes:
        chat: the prompt was put into the target's chat template, as a user's message.
        system: the system message before it, "" for none; a plain prompt has none.
        stop_strings: texts that end the run with the token that completes the first of them.
    """

    chat: bool = False
    system: str = ""
    stop_strings: tuple[str, ...] = ()


PLAIN_TEXT = Framing()


@dataclass(frozen=True)
class CostTable:
    """What the parts of a round cost on this machine, measured beside the run and frozen with it.

    Attributes:
        tokens: rising counts n of tokens in one target pass; the first is 1.
        target: seconds of a target pass over n tokens, and nothing else.
        rest: seconds of all else in a round that verifies n - 1 drafts: laws, tests, the draw.
        plain: seconds of one token of plain decoding, pass, law and draw.
        draft: seconds of one draft step, pass, law and draw.
        context: tokens in the caches while measuring.
        repeats: how many passes each median stands for.

    >>> table = CostTable((1, 3), (0.006, 0.007), (0.0005, 0.001), 0.0064, 0.0016, context=128, repeats=15)
    >>> table.c, table.verify_cost(2)
    (0.25, 1.25)
    """

    tokens: tuple[int, ...]
    target: tuple[float, ...]
    rest: tuple[float, ...]
    plain: float
    draft: float
    context: int
    repeats: int

    def __post_init__(self) -> None:
        if not len(self.tokens) == len(self.target) == len(self.rest) or self.tokens[:1] != (1,):
            raise ValueError("a cost table needs a time for each count of tokens, the first of them 1")
        if any(b <= a for a, b in zip(self.tokens, self.tokens[1:], strict=False)):
            raise ValueError("the counts of tokens of a cost table must rise")
        if min(*self.target, self.plain) <= 0 or min(*self.rest, self.draft) < 0:
            raise ValueError("the times of a cost table must be above 0")

    @property
    def c(self) -> float:
        """Time of a draft step over that of a plain token (Leviathan et al., section 3.3)."""
        return self.draft / self.plain

    def verify_cost(self, gamma: int) -> float:
        """v(γ): what verifying γ drafts costs, pass, tests and draw, in tokens of plain decoding.

        Linear between measured counts. Above the largest it goes on along the last segment,
        or stays level where that one falls.
        """
        count, seconds = gamma + 1, np.add(self.target, self.rest)
        found = float(np.interp(count, self.tokens, seconds))
        if count > self.tokens[-1] and len(self.tokens) > 1:
            slope = (seconds[-1] - seconds[-2]) / (self.tokens[-1] - self.tokens[-2])
            found += max(float(slope), 0.0) * (count - self.tokens[-1])
        return found / self.plain


@dataclass(frozen=True, eq=False)
class Trace:
    """One run on one pair: settings, rounds, and what it is compared with.

    Attributes:
        pair, machine: what ran, and on what.
        run: settings of the whole run; each round has its own besides.
        prompt: the prompt as text, as a person wrote it.
        framing: what stands around it, and which text ends the run.
        pieces: the bytes of every token id that appears anywhere in the trace.
        prefill: times of the passes over the prompt, or None before they were made.
        rounds: the rounds so far, in order.
        baseline: the target alone on the same prompt, or None while not measured.
        costs: the cost table in force, or None while not measured.
        replay: times of the first rounds, replayed without pauses; () if they were not.
        created: ISO 8601 date and time.
        name: name of a recorded trace, "" for a live one.
        version: version of the record.
    """

    pair: PairInfo
    machine: Machine
    run: RunSettings
    prompt: str
    framing: Framing = PLAIN_TEXT
    pieces: Mapping[int, bytes] = field(default_factory=dict, repr=False)
    prefill: Prefill | None = None
    rounds: tuple[Round, ...] = field(default=(), repr=False)
    baseline: PlainRun | None = None
    costs: CostTable | None = None
    replay: tuple[RoundTimes, ...] = field(default=(), repr=False)
    created: str = ""
    name: str = ""
    version: int = TRACE_VERSION

    @property
    def end(self) -> EndReason | None:
        """Why the run ended, or None while it has not."""
        return self.rounds[-1].end if self.rounds else None

    @property
    def emitted(self) -> list[int]:
        """All tokens the run has added to the prompt."""
        return [int(token) for item in self.rounds for token in item.emitted]

    @property
    def conditions(self) -> str:
        """What must stand beside every speed: device, number format, batch size."""
        return f"{self.machine.summary} · {self.pair.dtype} · batch 1"

    def append(self, item: Round, pieces: Mapping[int, bytes]) -> Self:
        """This trace and one more round; the rounds before it are shared, not copied.

        Args:
            item: the next round.
            pieces: the bytes of the ids in it; known ones may be left out.

        Raises:
            ValueError: the round is not the next one, or the run has ended.
        """
        if item.index != len(self.rounds):
            raise ValueError(f"round {item.index} cannot follow {len(self.rounds)} recorded rounds")
        if self.end is not None:
            raise ValueError(f"the run has ended ({self.end.value}); no round can follow")
        new = {id_: piece for id_, piece in pieces.items() if id_ not in self.pieces}
        known = {**self.pieces, **new} if new else self.pieces
        return replace(self, rounds=(*self.rounds, item), pieces=known)

    def with_(self, **changes: Any) -> Self:
        """A copy with some fields changed, for example ``trace.with_(baseline=run)``."""
        return replace(self, **changes)
