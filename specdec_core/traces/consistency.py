"""Whether the parts of a trace agree with each other, asked of every trace written or read.

Forms look at one field at a time; this looks across fields: lengths, ids against the vocabulary, rounds
against each other. What it lets through can be shown without further care.
"""

from collections.abc import Iterator

import numpy as np

from specdec_core.decoding.types import TOP, Places, Round, Source, TopTokens, Verdict
from specdec_core.traces.schema import fail
from specdec_core.traces.trace import Trace

AT_DRAFTS = (
    "p", "q", "soft_p", "soft_q", "draft_u", "accept_u", "draft_interval", "overlap", "expected",
    "residual_fallback", "draft_entropy", "kl", "rank",
)  # fmt: skip
"""Columns of a record with one row for each of the K drafts."""
AT_PLACES = ("correct_u", "replacement", "replacement_interval", "target_entropy", "gap")
"""Columns with one row for each of the K + 1 places."""


def check(trace: Trace) -> None:
    """Raise ``TraceError`` with the path of the first field that disagrees with the others."""
    _check_rounds(trace)
    _check_ids(trace)
    if len(trace.replay) > len(trace.rounds):
        fail("replay", f"has {len(trace.replay)} entries, but there are {len(trace.rounds)} rounds")
    plain = trace.baseline
    if plain is not None and len(plain.ids) != len(plain.seconds):
        fail("baseline", f"has {len(plain.ids)} ids, but {len(plain.seconds)} times")


def _check_rounds(trace: Trace) -> None:
    start = len(trace.run.prompt_ids)
    for index, item in enumerate(trace.rounds):
        path = f"rounds[{index}]"
        if item.index != index:
            fail(f"{path}.index", f"is {item.index}; it must be {index}")
        if item.start != start:
            fail(f"{path}.start", f"is {item.start}; the prompt and the rounds before it make {start} tokens")
        if item.end is not None and index < len(trace.rounds) - 1:
            fail(f"{path}.end", "says that the run ended, but rounds follow")
        _check_round(item, path)
        start += len(item.emitted)
    if len(trace.emitted) > trace.run.max_new_tokens:
        fail("rounds", f"emit {len(trace.emitted)} tokens; the limit is {trace.run.max_new_tokens}")


def _check_round(item: Round, path: str) -> None:
    count = len(item.drafted)
    if count > item.settings.gamma:
        fail(f"{path}.drafted", f"has {count} tokens; the draft length is {item.settings.gamma}")
    if len(item.verdicts) != count:
        fail(f"{path}.verdicts", f"has {len(item.verdicts)} entries for {count} drafted tokens")
    if len(item.sources) != len(item.emitted):
        fail(f"{path}.sources", f"has {len(item.sources)} entries for {len(item.emitted)} emitted tokens")
    if not np.array_equal(item.verdicts, _verdicts_like(item)):
        fail(f"{path}.verdicts", "must be accepted ones, then at most one rejected and the rest not tested, "
             "or the rest not needed")  # fmt: skip
    if not np.array_equal(item.sources, _sources_like(item)):
        fail(f"{path}.sources", "must be the accepted drafts, then at most one token of the target's own, "
             "a correction after a rejection and else a bonus")  # fmt: skip
    if not np.array_equal(item.emitted[: item.accepted], item.drafted[: item.accepted]):
        fail(f"{path}.emitted", "must begin with the accepted drafts")
    if item.end is None:
        _check_going_on(item, path)
    if item.clipped > np.count_nonzero(item.verdicts == Verdict.NOT_NEEDED):
        fail(f"{path}.clipped", f"is {item.clipped}, more than the drafts that are not needed")
    if item.places is not None:
        _check_places(item.places, count, f"{path}.places")


def _check_going_on(item: Round, path: str) -> None:
    """Only the end of a run makes drafts needless, or leaves a round without the target's own token."""
    if Verdict.NOT_NEEDED in item.verdicts:
        fail(f"{path}.verdicts", "says that drafts are not needed, but end does not say why the run ended")
    if len(item.emitted) == item.accepted:
        fail(f"{path}.emitted", "lacks the target's own token, but end does not say why the run ended")


def _verdicts_like(item: Round) -> np.ndarray:
    """What the verdicts of a round with as many accepted drafts, rejected or not, must be."""
    rejected = int(Verdict.REJECTED in item.verdicts)
    like = np.full(len(item.verdicts), Verdict.NOT_TESTED if rejected else Verdict.NOT_NEEDED, dtype=np.int8)
    like[: item.accepted] = Verdict.ACCEPTED
    like[item.accepted : item.accepted + rejected] = Verdict.REJECTED
    return like


def _sources_like(item: Round) -> list[Source]:
    """What the sources must be: accepted drafts, then at most one token of the target's own."""
    accepted = [Source.ACCEPTED] * item.accepted
    if len(item.sources) == item.accepted and item.tested == item.accepted:
        return accepted
    if item.tested > item.accepted:
        return [*accepted, Source.CORRECTION]
    return [*accepted, Source.BONUS] if item.accepted == len(item.drafted) else accepted


def _check_places(places: Places, count: int, path: str) -> None:
    for names, wanted in ((AT_DRAFTS, count), (AT_PLACES, count + 1)):
        for name in names:
            found = len(getattr(places, name))
            if found != wanted:
                fail(f"{path}.{name}", f"has {found} entries; {count} drafts make it {wanted}")
    for name in ("top_target", "top_draft", "top_residual"):
        _check_top(getattr(places, name), count + 1, f"{path}.{name}")


def _check_top(top: TopTokens, places: int, path: str) -> None:
    rows, size = top.ids.shape
    if rows != places or not 1 <= size <= TOP:
        fail(f"{path}.ids", f"is {rows} rows of {size}; it must be {places} rows of 1 to {TOP}")
    if top.p.shape != top.ids.shape or top.q.shape != top.ids.shape or len(top.rest) != places:
        fail(path, "must have a p and a q for every id, and a rest for every place")


def _check_ids(trace: Trace) -> None:
    size = trace.pair.vocab_size
    for path, ids in _ids(trace):
        for id_ in ids:
            if id_ >= size:
                fail(path, f"holds the token id {id_}; the vocabulary has {size} tokens")
            if id_ not in trace.pieces and not path.endswith("end_ids"):
                fail(path, f"holds the token id {id_}, which pieces lacks")
    if beyond := [id_ for id_ in trace.pieces if id_ >= size]:
        fail("pieces", f"holds the token id {beyond[0]}; the vocabulary has {size} tokens")


def _ids(trace: Trace) -> Iterator[tuple[str, list[int]]]:
    """All token ids of a trace by the path they are at."""
    yield "run.prompt_ids", list(trace.run.prompt_ids)
    yield "run.end_ids", sorted(trace.run.end_ids)
    if trace.baseline is not None:
        yield "baseline.ids", trace.baseline.ids.tolist()
    for index, item in enumerate(trace.rounds):
        yield f"rounds[{index}].drafted", item.drafted.tolist()
        yield f"rounds[{index}].emitted", item.emitted.tolist()
        if item.places is not None:
            path = f"rounds[{index}].places"
            yield f"{path}.replacement", item.places.replacement.tolist()
            for name in ("top_target", "top_draft", "top_residual"):
                top: TopTokens = getattr(item.places, name)
                # A place without a draft ranks nothing there; its ids stand for no token.
                yield f"{path}.{name}.ids", top.ids[~np.isnan(top.p)].tolist()
