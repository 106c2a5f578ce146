"""The tokens of one place of a round: the bars of the inspector, and how the target's own is drawn."""

from collections.abc import Sequence
from typing import Any

from specdec_core.decoding.types import Places, Round, RuleName, Source, Verdict
from specdec_core.text.display import label
from specdec_core.traces.trace import Trace
from specdec_core.ui import place_words as words

Json = dict[str, Any]


def tokens(trace: Trace, item: Round, place: int, count: int | None) -> Json:
    """The bars of one place, the stretched law of the target's own draw, and a sentence."""
    known = known_tokens(trace, item, place)
    ids = _chosen(item, place, known, count)
    rows = [[id_, label_of(trace, id_), *_bars(trace, item, place, known, id_)] for id_ in ids]
    left_p = 1.0 - sum(known[id_][0] for id_ in ids)
    left_q = 1.0 - sum(known[id_][1] or 0.0 for id_ in ids)
    others = trace.pair.vocab_size - len(ids)
    return {
        "top": rows,
        "rest": None if others <= 0 else [others, words.percent(left_q), words.percent(left_p)],
        "strip": _strip(trace, item, place, known, ids),
        "note": _note(trace, item, place),
    }


def _bars(trace: Trace, item: Round, place: int, known: dict, id_: int) -> list[float | str | None]:
    """q and p of one token as numbers and in words; a bound is said to be one."""
    p, q = known[id_]
    in_words = [words.percent(q), words.percent(p)]
    if q is None and place < len(item.drafted):
        in_words[0] = f"≤ {words.percent(_least_recorded_q(item, place))}"
        if _draws_from_residual(trace, item, place):
            in_words[1] = f"≥ {words.percent(p)}"
    return [number(q), number(p), *in_words]


def known_tokens(trace: Trace, item: Round, place: int) -> dict[int, tuple[float, float | None]]:
    """p and q of every token recorded at a place, the drafted and the target's own always among them.

    q is None where nothing was drafted, and for a token that lies below all those recorded by q.
    """
    full: Places = item.places
    known: dict[int, tuple[float, float | None]] = {}
    if place < len(item.drafted):
        # The top tokens of an argmax law come with the softmax behind it, and so must this one.
        argmax = rule_of(trace, item) == RuleName.GREEDY
        p, q = (full.soft_p, full.soft_q) if argmax else (full.p, full.q)
        known[int(item.drafted[place])] = (float(p[place]), float(q[place]))
    for top in (full.top_target, full.top_draft, full.top_residual):
        columns = (top.ids[place].tolist(), top.p[place].tolist(), top.q[place].tolist())
        known.update({id_: (p, None if q != q else q) for id_, p, q in zip(*columns, strict=True)})
    known.setdefault(int(full.replacement[place]), _own_by_interval(trace, item, place))
    return known


def _own_by_interval(trace: Trace, item: Round, place: int) -> tuple[float, float | None]:
    """p and q of the target's own token where it was not recorded by name.

    Its interval is as wide as its probability in its law. Under the residual that gives p − q,
    which is p itself where the draft's recorded tokens have all of q, and else a lower bound.
    """
    low, high = (float(edge) for edge in item.places.replacement_interval[place])
    mass = _left_over(item, place) if _draws_from_residual(trace, item, place) else 1.0
    unknown = place == len(item.drafted) or _least_recorded_q(item, place) > 0
    return (high - low) * mass, None if unknown else 0.0


def _least_recorded_q(item: Round, place: int) -> float:
    """No token that was not recorded can have more of q than this."""
    return float(item.places.top_draft.q[place].min())


def _left_over(item: Round, place: int) -> float:
    """Mass of the residual (p − q)₊, which is 1 − β."""
    return 1.0 - float(item.places.overlap[place])


def _chosen(item: Round, place: int, known: dict, count: int | None) -> list[int]:
    """The ids to show: the drafted and the target's own always, then by the larger of p and q."""
    always = [int(item.places.replacement[place])]
    if place < len(item.drafted):
        always.append(int(item.drafted[place]))
    weight = {id_: max(p, q or 0.0) for id_, (p, q) in known.items()}
    ranked = sorted((id_ for id_ in known if weight[id_] > 0), key=lambda id_: (-weight[id_], id_))
    chosen = list(dict.fromkeys([*always, *ranked]))[:count]
    return sorted(chosen, key=lambda id_: (-known[id_][0], id_))


def _strip(trace: Trace, item: Round, place: int, known: dict, ids: Sequence[int]) -> Json | None:
    """The law behind the target's own token stretched to 0..1, in the order of ids as it is drawn.

    The drawn token's segment and the dart lie where they are; the tokens known by name keep
    their width and their side of it, and all others fill the outer ends (id −1).
    """
    if rule_of(trace, item) == RuleName.GREEDY:
        return None
    full, own = item.places, int(item.places.replacement[place])
    low, high = (float(edge) for edge in full.replacement_interval[place])
    residual = _draws_from_residual(trace, item, place)
    mass = _left_over(item, place) if residual else 1.0
    shares = {
        id_: (max(p - (q or 0.0), 0.0) / mass if residual else p)
        for id_, (p, q) in known.items()
        if id_ in ids and id_ != own
    }
    below = [[id_, shares[id_]] for id_ in sorted(shares) if id_ < own and shares[id_] > 0]
    above = [[id_, shares[id_]] for id_ in sorted(shares) if id_ > own and shares[id_] > 0]
    first = max(low - sum(share for _, share in below), 0.0)
    last = max(1.0 - high - sum(share for _, share in above), 0.0)
    segments = [[-1, first], *below, [own, high - low], *above, [-1, last]]
    return {
        "residual": residual,
        "u": number(float(full.correct_u[place])),
        "us": f"{full.correct_u[place]:.2f}",
        "own": own,
        "segs": [[id_, number(share)] for id_, share in segments if share > 0],
    }


def _draws_from_residual(trace: Trace, item: Round, place: int) -> bool:
    if rule_of(trace, item) in words.OWN_CHOICE or place == len(item.drafted):
        return False
    return not bool(item.places.residual_fallback[place])


def _note(trace: Trace, item: Round, place: int) -> str:
    """The sentence under the bars: how much agrees, and how the target's own token comes about."""
    full = item.places
    own = f"“{label_of(trace, full.replacement[place])}”"
    u = f"dice {full.correct_u[place]:.2f}"
    if rule_of(trace, item) == RuleName.GREEDY:
        return f"The target's most probable token here is {own}."
    if place == len(item.drafted):
        lands = "lands" if Source.BONUS in item.sources else "would land"
        return f"The target draws from its whole distribution here: {u} {lands} on {own}."
    if rule_of(trace, item) == RuleName.EXACT_MATCH:
        chance = f"Two independent draws agree here with chance {full.expected[place]:.2f}, Σ p·q."
        return f"{chance} The target draws from its whole distribution: {u} lands on {own}."
    beta = float(full.overlap[place])
    agree = f"Draft and target overlap by {beta:.2f} here, Σ min(p, q)."
    if full.residual_fallback[place]:
        return f"{agree} The target has nothing left over, so its whole distribution stands in."
    lands = "lands" if item.verdicts[place] == Verdict.REJECTED else "would have landed, had it fallen,"
    left = f"What the target has left over (hatched, {1 - beta:.2f} in all), stretched to 1:"
    return f"{agree} {left} {u} {lands} on {own}."


def rule_of(trace: Trace, item: Round) -> RuleName:
    """The rule as a reader should see it: at temperature 0 every rule compares with the argmax."""
    return RuleName.GREEDY if trace.run.in_force(item.settings.sampling).greedy else trace.run.rule


def label_of(trace: Trace, id_: int) -> str:
    return label(trace.pieces.get(int(id_), b""))


def number(value: float | None) -> float | None:
    """Four significant digits: enough to draw, and short to send."""
    return None if value is None or value != value else float(f"{value:.4g}")
