"""How far drafts come: the chance that the first k of a round are all kept."""

from dataclasses import dataclass

import numpy as np

from specdec_core.decoding.types import Verdict
from specdec_core.traces.shares import wilson
from specdec_core.traces.trace import Trace


@dataclass(frozen=True, eq=False)
class Survival:
    """How far drafts come, by place; entry k − 1 speaks of the k-th draft of a round.

    Attributes:
        rounds: int64 [K], rounds that drafted so far and needed it.
        tested: int64 [K], rounds in which this place was tested.
        accepted: int64 [K], rounds in which it was kept, and so all places before it.
        rate: float64 [K], accepted / tested, the chance that a tested draft is kept.
        rate_low, rate_high: float64 [K], its 95 % Wilson interval.
        survival: float64 [K], s_k = Π_{i≤k} rate_i, the chance that k drafts in a row are kept.
        low, high: float64 [K], its 95 % interval.
    """

    rounds: np.ndarray
    tested: np.ndarray
    accepted: np.ndarray
    rate: np.ndarray
    rate_low: np.ndarray
    rate_high: np.ndarray
    survival: np.ndarray
    low: np.ndarray
    high: np.ndarray


def survival(trace: Trace, upto: int | None = None) -> Survival:
    """Survival by place, the product-limit estimate of Kaplan and Meier (1958).

    A round that drafted fewer than k tokens, or ended before its k-th, says nothing about place k:
    it is censored there, and counts for the places before. Dividing by all rounds instead, as
    engines do, understates later places wherever K varies. Only places that were ever tested are
    listed. In the example: tested 3, 2, 1, 1; accepted 3, 1, 1, 1; survival 1, 1/2, 1/2, 1/2.

    The interval of s_k is Wilson's with the number of rounds that would give a plain share the
    variance of Greenwood's formula (Rothman 1978); without censoring it is Wilson's interval of
    accepted / rounds. It means nothing where the draft's own confidence chose K.
    """
    verdicts = [item.verdicts for item in trace.rounds[:upto]]
    longest = max((len(row) for row in verdicts), default=0)
    table = np.full((len(verdicts), longest), Verdict.NOT_NEEDED, dtype=np.int8)
    for row, found in zip(table, verdicts, strict=True):
        row[: len(found)] = found
    tested = (table <= Verdict.REJECTED).sum(axis=0)
    reached = int(np.count_nonzero(tested))
    tested, table = tested[:reached], table[:, :reached]
    accepted = (table == Verdict.ACCEPTED).sum(axis=0)
    rate_low, rate_high = wilson(accepted, tested)
    alive = np.cumprod(accepted / tested)
    low, high = _survival_interval(alive, tested, accepted)
    return Survival(
        rounds=(table != Verdict.NOT_NEEDED).sum(axis=0),
        tested=tested,
        accepted=accepted,
        rate=accepted / tested,
        rate_low=rate_low,
        rate_high=rate_high,
        survival=alive,
        low=low,
        high=high,
    )


def _survival_interval(
    alive: np.ndarray, tested: np.ndarray, accepted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval of s_k with the effective number of rounds of Greenwood's variance."""
    failed = tested - accepted
    # A round counts for place k if it was tested there or had failed before; the others are censored.
    known = tested + np.concatenate(([0], np.cumsum(failed)[:-1]))[: len(tested)]
    with np.errstate(divide="ignore", invalid="ignore"):
        greenwood = np.cumsum(failed / (tested * accepted))
        effective = (1 - alive) / (alive * greenwood)
    # At 0 and 1 the variance vanishes and says nothing; what was seen there still has a size.
    effective = np.where((alive <= 0) | (alive >= 1), known, effective)
    return wilson(alive * effective, effective)
