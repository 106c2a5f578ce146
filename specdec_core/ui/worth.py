"""Whether drafting pays in the run on screen, and why it does not where it does not, in one sentence.

Derived from the costs and the survival that "Where drafting stops paying" draws.
"""

from collections.abc import Sequence

from specdec_core.decoding.types import Round
from specdec_core.traces import metrics
from specdec_core.traces.metrics import BreakEven
from specdec_core.traces.trace import Trace

LEAST_TESTED = 10
"""First drafts that must have been tested before anything is said."""

LOSS = 0.03
"""Share of the best speed below which a longer draft length is worth a word."""


def sentence(trace: Trace, upto: int | None = None) -> str:
    """Why drafting does not pay, or pays less than it could, in the first rounds of a run; "" where it pays.

    Args:
        trace: the run.
        upto: how many rounds to look at, by default all.
    """
    asked = [item for item in trace.rounds[:upto] if item.settings.gamma]
    return " ".join(filter(None, (_silent(asked), _dear(trace, upto, asked))))


def _silent(asked: Sequence[Round]) -> str:
    """Most rounds drafted nothing; "" where they did."""
    silent = sum(not len(item.drafted) for item in asked)
    if len(asked) < LEAST_TESTED or 2 * silent <= len(asked):
        return ""
    return (
        f"The draft had nothing to propose in {silent} of {len(asked)} rounds. Those are plain steps of "
        "the target, which gain nothing and lose next to nothing."
    )


def _dear(trace: Trace, upto: int | None, asked: Sequence[Round]) -> str:
    """What was drafted cost more than it brought, or than fewer drafts would have; "" where it did not."""
    pays = metrics.break_even(trace, upto)
    if pays is None or pays.places.tested[0] < LEAST_TESTED:
        return ""
    if pays.speedups[pays.best] >= 1 and pays.best:
        return _too_long(pays, asked[-1].settings.gamma)
    if metrics.speedup_expected(trace, upto) > (1 + LOSS) * pays.speedups[pays.best]:
        return ""  # measured in disturbance: no run is faster than its best draft length
    return _at_its_best(pays) if pays.best else _never(pays, trace.costs.c)


def _never(pays: BreakEven, c: float) -> str:
    """One draft costs a share b₁ of a plain step, and is kept less often than that."""
    price, places = pays.line[0], pays.places
    head = "Drafting" if places.rate_high[0] < price else "So far drafting"
    cost = (
        f"{head} does not pay here: one draft costs {_percent(price)} of a plain step "
        f"(drafting it c = {c:.2f}, the rest a longer pass)"
    )
    kept = f"{places.accepted[0]} of {places.tested[0]}"
    if price >= 1:
        return f"{cost}, so not even one that is always kept would pay; {kept} were kept."
    return f"{cost}, so it would have to be kept in more than {_percent(price)} of tests; it was in {kept}."


def _at_its_best(pays: BreakEven) -> str:
    """Even the best draft length is slower than plain decoding."""
    return (
        f"Drafting does not pay here: even at its best length, γ = {pays.best}, a round gives "
        f"{pays.tokens[pays.best]:.2f} tokens in the time of {pays.costs[pays.best]:.2f} plain ones."
    )


def _too_long(pays: BreakEven, gamma: int) -> str:
    """Later drafts survive too seldom for what they cost; "" if hardly so."""
    used, best = min(gamma, len(pays.line)), pays.best
    gain, most = pays.speedups[used], pays.speedups[best]
    if used <= best or gain > (1 - LOSS) * most:
        return ""
    place = best + 1
    survival, price = (_percent(each[place - 1]) for each in (pays.places.survival, pays.line))
    already = " already" if used < gamma else ""  # beyond it nothing was ever tested
    return (
        f"Shorter drafts would pay more here: the model says {most:.2f}× at γ = {best} and {gain:.2f}× at "
        f"γ = {used}{already}, since draft {place} survives in {survival} of rounds and pays from {price} on."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
