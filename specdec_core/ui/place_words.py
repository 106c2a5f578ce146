"""The words and numbers of one place of a round, as the round view says them.

Percentages and dice are written here and nowhere else, with as many digits as it takes for
what is written to agree with the verdict: a kept token never stands beside "kept if dice <
0.73" and "dice 0.73".
"""

from dataclasses import dataclass

from specdec_core.decoding.types import DraftStop, RuleName, Sampling, Source, Verdict

OWN_CHOICE = {RuleName.GREEDY: "target's choice", RuleName.EXACT_MATCH: "target's own draw"}
"""How a rule that compares tokens, and not probabilities, calls what it compares with."""

_VERDICTS = {
    Verdict.ACCEPTED: "kept",
    Verdict.REJECTED: "rejected",
    Verdict.NOT_TESTED: "computed, thrown away",
    Verdict.NOT_NEEDED: "not needed: the run had ended",
}
_WHY = {Verdict.NOT_TESTED: "a draft before it fell"}
_SAID = {
    Verdict.ACCEPTED: "accepted",
    Verdict.REJECTED: "rejected",
    Verdict.NOT_TESTED: "not tested",
    Verdict.NOT_NEEDED: "not needed",
}


@dataclass(frozen=True)
class Drafted:
    """What there is to say about one drafted token.

    Attributes:
        place: from 1, as people count.
        label: the token with visible whitespace.
        verdict: what became of it.
        p, q: the law's probabilities of it, None if the round was not recorded.
        u: the uniform of its test.
        own: label of the token that the target would put here.
    """

    place: int
    label: str
    verdict: Verdict
    p: float | None
    q: float | None
    u: float | None
    own: str | None


def percent(share: float | None) -> str:
    """A probability as a percentage that never reads as nothing or as certain when it is not.

    >>> [percent(x) for x in (0.3414, 0.00052, 0.00003, 0.0, 0.99999, 1.0, None)]
    ['34.1 %', '0.05 %', '<0.01 %', '0 %', '>99.9 %', '100 %', '–']
    """
    if share is None or share != share:
        return "–"
    if share <= 0.0 or share >= 1.0:
        return f"{100 * max(0.0, min(share, 1.0)):.0f} %"
    if share < 0.0001:
        return "<0.01 %"
    if share > 0.9995:
        return ">99.9 %"
    return f"{100 * share:.{1 if share >= 0.001 else 2}f} %"


def dice(u: float, threshold: float) -> tuple[str, str]:
    """A uniform and the threshold it is held against, with the digits that tell them apart.

    >>> dice(0.4412, 0.7361), dice(0.7361, 0.7364), dice(0.5, 0.0004)
    (('0.44', '0.74'), ('0.7361', '0.7364'), ('0.5000', '0.0004'))
    """
    for digits in range(2, 12):
        shown, limit = f"{u:.{digits}f}", f"{threshold:.{digits}f}"
        told_apart = (float(shown) < float(limit)) == (u < threshold) and shown != limit
        if told_apart and float(limit) > 0:
            return shown, limit
    return f"{u:.3g}", f"{threshold:.3g}"


def ratio_words(drafted: Drafted) -> dict[str, str | None]:
    """The card of one place under the ratio test: kept while u·q < p."""
    if drafted.p is None or drafted.q is None or drafted.u is None:
        return _card(test=_VERDICTS[drafted.verdict], why=_WHY.get(drafted.verdict))
    ratio = drafted.p / drafted.q if drafted.q else 0.0
    if drafted.p >= drafted.q:
        shown, test = f"{drafted.u:.2f}", "always kept"
    elif drafted.p == 0:
        shown, test = f"{drafted.u:.2f}", "never kept"
    else:
        shown, limit = dice(drafted.u, ratio)
        # "dice < 1.00" would read as if nothing could fall.
        test = "almost always kept" if float(limit) == 1 else f"kept if dice < {limit}"
    tested = drafted.verdict <= Verdict.REJECTED
    return _card(
        qs=percent(drafted.q),
        ps=percent(drafted.p),
        test=test if tested else _VERDICTS[drafted.verdict],
        why=_WHY.get(drafted.verdict),
        us=shown if tested else None,
    )


def choice_words(drafted: Drafted, rule: str) -> dict[str, str | None]:
    """The card of one place under a rule that compares the draft with the target's own token."""
    tested = drafted.verdict <= Verdict.REJECTED
    same = "same, kept" if drafted.verdict == Verdict.ACCEPTED else "another, rejected"
    return _card(
        test=same if tested else _VERDICTS[drafted.verdict],
        why=_WHY.get(drafted.verdict),
        own=drafted.own if tested else None,
    )


def _card(
    *,
    qs: str | None = None,
    ps: str | None = None,
    test: str,
    why: str | None = None,
    us: str | None = None,
    own: str | None = None,
) -> dict[str, str | None]:
    return {"qs": qs, "ps": ps, "test": test, "why": why, "us": us, "own": own}


def said(drafted: Drafted, rule: RuleName) -> str:
    """One place for a screen reader: ``place 3, "·the", accepted, draft 34.1 %, target 25.1 %``."""
    start = f'place {drafted.place}, "{drafted.label}", {_SAID[drafted.verdict]}'
    if rule in OWN_CHOICE:
        tested = drafted.verdict <= Verdict.REJECTED and drafted.own
        return f'{start}, {OWN_CHOICE[rule]} "{drafted.own}"' if tested else start
    return f"{start}, draft {percent(drafted.q)}, target {percent(drafted.p)}"


def title(drafted: Drafted) -> str:
    """Heading of the inspector for a drafted token."""
    fate = {
        Verdict.ACCEPTED: "was kept",
        Verdict.REJECTED: "fell",
        Verdict.NOT_TESTED: "was not tested",
        Verdict.NOT_NEEDED: "was not needed",
    }
    return f"Place {drafted.place}: “{drafted.label}” {fate[drafted.verdict]}"


def settings_words(gamma: int, sampling: Sampling, rule: RuleName) -> str:
    """The settings of one round, those that are off left out.

    >>> settings_words(4, Sampling(0.7, top_p=0.9), RuleName.SPECULATIVE_SAMPLING)
    'γ 4 · temperature 0.7 · top-p 0.9'
    >>> settings_words(0, Sampling(0), RuleName.GREEDY), settings_words(5, Sampling(), RuleName.EXACT_MATCH)
    ('γ 0 · greedy', 'γ 5 · temperature 1 · exact match')
    """
    greedy, special = rule == RuleName.GREEDY, rule != RuleName.SPECULATIVE_SAMPLING
    parts = {
        f"temperature {sampling.temperature:g}": not greedy,
        f"top-k {sampling.top_k}": sampling.top_k > 0,
        f"top-p {sampling.top_p:g}": sampling.top_p < 1,
        f"min-p {sampling.min_p:g}": sampling.min_p > 0,
        f"repetition penalty {sampling.repetition_penalty:g}": sampling.repetition_penalty != 1,
        str(rule): special,
    }
    return " · ".join([f"γ {gamma}", *(words for words, on in parts.items() if on)])


def stop_words(gamma: int, drafted: int, stop: DraftStop) -> str | None:
    """Why a round drafted fewer tokens than people may expect, or None.

    >>> stop_words(5, 5, DraftStop.GAMMA), stop_words(0, 0, DraftStop.GAMMA)
    (None, 'γ is 0')
    >>> stop_words(5, 2, DraftStop.LIMIT), stop_words(5, 0, DraftStop.LIMIT)
    ('the token limit leaves no room', "only one more token may come, the target's own")
    """
    if gamma == 0:
        return "γ is 0"
    if drafted == gamma:
        return None
    if drafted == 0 and stop is DraftStop.LIMIT:
        return "only one more token may come, the target's own"
    return stop.value


def last_place_words(drafted: int, bonus: bool, ended: bool, own: str | None) -> str:
    """What the slot after the last draft says."""
    if bonus and drafted == 0:
        return "plain target step: nothing was drafted"
    if bonus:
        return "all kept: the target's own token"
    if ended:
        return _VERDICTS[Verdict.NOT_NEEDED]
    kept = "the draft" if drafted == 1 else f"all {drafted}"
    return f"next token, had {kept} been kept (★)" + (f": “{own}”" if own else "")


def emitted_words(sources: list[Source], clipped: int, end: str | None) -> str:
    """One line under the emitted tokens: how they add up."""
    kept = sources.count(Source.ACCEPTED)
    parts = [f"{kept} kept"] if kept else []
    if Source.CORRECTION in sources:
        parts.append("1 from the target where the draft fell ↺")
    if Source.BONUS in sources:
        parts.append(f"1 from the target, {'all kept' if kept else 'nothing drafted'} ★")
    total = f"{len(sources)} token{'' if len(sources) == 1 else 's'}"
    line = f"Emitted: {' + '.join(parts) or 'none'} = {total} for one target pass."
    if clipped:
        line += f" {clipped} more passed, but lie after the end."
    return f"{line} The run ends: {end}." if end else line
