"""A whole trace as JSON and back, documented field by field in FORMAT.md.

``loads(dumps(trace))`` is the same trace to the last bit. ``loads`` expects the text to come from
anyone: size, depth, types, ranges, lengths and ids are checked, nothing is executed, and whatever
is wrong raises ``TraceError`` with one sentence that names the field.
"""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from specdec_core.decoding import origin
from specdec_core.decoding.origin import Origin
from specdec_core.decoding.types import (
    DraftStop,
    EndReason,
    Places,
    Prefill,
    Round,
    RoundFlags,
    RoundSettings,
    RoundTimes,
    RuleName,
    RunSettings,
    Sampling,
    Source,
    TopTokens,
    Verdict,
)
from specdec_core.traces.columns import Flags, Ids, Numbers, Words
from specdec_core.traces.consistency import check
from specdec_core.traces.schema import (
    Choice,
    Flag,
    Integer,
    Items,
    Key,
    Maybe,
    Number,
    Pieces,
    Record,
    Text,
    TraceError,
    as_object,
    fail,
    shown,
)
from specdec_core.traces.trace import (
    TRACE_VERSION,
    CostTable,
    Framing,
    Machine,
    ModelInfo,
    PairInfo,
    PlainRun,
    Trace,
)
from specdec_core.traces.upgrade import upgraded

__all__ = ["FORMAT", "TraceError", "dumps", "loads"]

FORMAT = "speculative decoding trace"
"""The first field of every trace, so that a file says what it is."""
MOST_BYTES = 128 * 2**20
# What a few characters of JSON become in memory can be twenty times as large, so their number is bounded too.
MOST_LISTS = 2**21
MOST_VALUES = 2**24
MOST_ROUNDS = 2**16
LONGEST_SEQUENCE = 2**20

SECONDS = Number(0.0, 1e9)
CHANCES = Numbers(0.0, 1.0 + 1e-9)
INTERVALS = Numbers(0.0, 1.0 + 1e-9, table=True, width=2)
SAMPLING = Record(
    Sampling,
    {
        "temperature": Number(),
        "top_k": Integer(),
        "top_p": Number(),
        "min_p": Number(),
        "repetition_penalty": Number(),
    },
)
TIMES = Record(
    RoundTimes,
    {
        "draft": Items(SECONDS, 1024),
        "verify": SECONDS,
        "sample": SECONDS,
        "other": Number(-1.0, 1e9),
        "record": SECONDS,
    },
)
TOP_TOKENS = Record(
    TopTokens,
    {
        "ids": Ids(table=True),
        "p": Numbers(0.0, 1.0 + 1e-9, table=True, gaps=True),
        "q": Numbers(0.0, 1.0 + 1e-9, table=True, gaps=True),
        "rest": Numbers(0.0, 1.0 + 1e-9, gaps=True),
    },
)
PLACES = Record(
    Places,
    {
        "p": CHANCES,
        "q": CHANCES,
        "soft_p": CHANCES,
        "soft_q": CHANCES,
        "draft_u": CHANCES,
        "accept_u": CHANCES,
        "correct_u": CHANCES,
        "replacement": Ids(),
        "draft_interval": INTERVALS,
        "replacement_interval": INTERVALS,
        "overlap": CHANCES,
        "expected": CHANCES,
        "residual_fallback": Flags(),
        "target_entropy": Numbers(-1e-9),
        "draft_entropy": Numbers(-1e-9),
        "kl": Numbers(-1e-9, infinite=True),
        "rank": Ids(),
        "gap": Numbers(infinite=True),
        "top_target": TOP_TOKENS,
        "top_draft": TOP_TOKENS,
        "top_residual": TOP_TOKENS,
    },
)
ORIGIN = Record(
    Origin,
    {
        "choice": Choice(origin.Choice),
        "by": Text(),
        "matched": Integer(),
        "copied_from": Integer(-1),
        "occurrences": Integer(),
    },
)
ROUND = Record(
    Round,
    {
        "index": Integer(),
        "start": Integer(),
        "settings": Record(RoundSettings, {"gamma": Integer(), "sampling": SAMPLING}),
        "draft": Text(),
        "origin": ORIGIN,
        "drafted": Ids(),
        "verdicts": Words(Verdict),
        "emitted": Ids(),
        "sources": Words(Source),
        "clipped": Integer(),
        "draft_stop": Choice(DraftStop),
        "end": Maybe(Choice(EndReason)),
        "times": TIMES,
        "flags": Record(RoundFlags, {"cold": Flag(), "contended": Flag(), "single": Flag()}),
        "target_cache": Integer(),
        "draft_cache": Integer(),
        "places": Maybe(PLACES),
    },
)
MODEL = Record(
    ModelInfo,
    {
        "name": Text(),
        "parameters": Integer(high=2**53),
        "layers": Integer(),
        "context_length": Integer(),
        "fingerprint": Text(128),
    },
)
PAIR = Record(
    PairInfo,
    {
        "key": Text(),
        "title": Text(),
        "target": MODEL,
        "draft": Maybe(MODEL),
        "vocab_size": Integer(1),
        "dtype": Text(),
        "licence": Text(),
    },
)
MACHINE = Record(
    Machine,
    {
        "processor": Text(),
        "device": Text(),
        "threads": Integer(),
        "torch": Text(),
        "transformers": Text(),
        "python": Text(),
        "system": Text(),
    },
)
RUN = Record(
    RunSettings,
    {
        "prompt_ids": Items(Integer(), LONGEST_SEQUENCE),
        "rule": Choice(RuleName),
        "seed": Key(),
        "branch": Key(),
        "max_new_tokens": Integer(1),
        "end_ids": Items(Integer(), 1024, frozenset),
    },
)
FRAMING = Record(
    Framing,
    {
        "chat": Flag(),
        "system": Text(2**22),
        "stop_strings": Items(Text(), 64),
    },
)
PLAIN = Record(
    PlainRun,
    {
        "sampling": SAMPLING,
        "ids": Ids(),
        "seconds": Numbers(0.0, 1e9),
        "prefill": SECONDS,
        "contended": Flag(),
    },
)
COSTS = Record(
    CostTable,
    {
        "tokens": Items(Integer(1), 4096),
        "target": Items(SECONDS, 4096),
        "rest": Items(SECONDS, 4096),
        "plain": SECONDS,
        "draft": SECONDS,
        "context": Integer(),
        "repeats": Integer(1),
    },
)
TRACE = Record(
    Trace,
    {
        "created": Text(64),
        "name": Text(),
        "pair": PAIR,
        "machine": MACHINE,
        "run": RUN,
        "prompt": Text(2**22),
        "framing": FRAMING,
        "pieces": Pieces(most=2**21, longest=4096),
        "prefill": Maybe(Record(Prefill, {"target": SECONDS, "draft": SECONDS, "tokens": Integer()})),
        "costs": Maybe(COSTS),
        "baseline": Maybe(PLAIN),
        "replay": Items(TIMES, MOST_ROUNDS),
        "rounds": Items(ROUND, MOST_ROUNDS),
    },
)


def dumps(trace: Trace) -> str:
    """The trace as JSON text, a line for each round.

    Raises:
        TraceError: the parts of the trace disagree, so that ``loads`` would refuse the text.
    """
    check(trace)
    fields = {"format": FORMAT, "version": trace.version, **TRACE.write(trace)}
    rounds = fields.pop("rounds")
    head = _dump(fields)[:-1]
    lines = ",\n".join(_dump(item) for item in rounds)
    return f'{head},"rounds":[\n{lines}\n]}}\n' if rounds else f'{head},"rounds":[]}}\n'


def loads(text: str | bytes) -> Trace:
    """Read a trace from JSON text of unknown origin.

    Raises:
        TraceError: saying which field is wrong and why, or that the trace was written by a
            version that this one cannot read, naming both.
    """
    fields = as_object(_parse(text), "")
    if fields.pop("format", None) != FORMAT:
        fail("", f'is no trace: its field format must be "{FORMAT}"')
    version = fields.pop("version", None)
    _check_version(version)
    trace: Trace = TRACE.read(upgraded(fields, version), "")
    check(trace)
    return trace


def _check_version(version: Any) -> None:
    if type(version) is not int or version < 1:
        fail("version", f"must be a whole number from 1 on, not {shown(version)}")
    if version > TRACE_VERSION:
        fail(
            "",
            f"was written as version {version}; this program reads versions up to {TRACE_VERSION}. "
            "Open it with a newer release.",
        )


def _parse(text: str | bytes) -> Any:
    """JSON with bounds on what it may cost, and without anything that JSON does not have."""
    if len(text) > MOST_BYTES:
        fail("", f"is larger than {MOST_BYTES // 2**20} MiB, the most that is read")
    if isinstance(text, bytes):
        text = _decode(text)
    if text.count("[") + text.count("{") > MOST_LISTS:
        fail("", f"holds more than {MOST_LISTS} lists and objects, the most that is read")
    if text.count(",") > MOST_VALUES:
        fail("", f"holds more than {MOST_VALUES} values, the most that is read")
    try:
        return json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except TraceError:
        raise
    except json.JSONDecodeError as error:
        fail("", f"is not JSON: {error.msg} in line {error.lineno}, column {error.colno}")
    except RecursionError:
        fail("", "is nested too deeply")
    except ValueError:
        fail("", "holds a number with too many digits")


def _decode(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        fail("", "is not text in UTF-8")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        fail("", f"has the field {shown(twice)} twice in one object")
    return found


def _no_constant(word: str) -> Any:
    fail("", f"holds {word}, which JSON does not have; FORMAT.md says how such numbers are written")


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_dump: Callable[[Any], str] = _encoder.encode
