"""Made-up p and q over a small vocabulary of words, and the full record of a round under them."""

import re
from dataclasses import replace

import numpy as np

from specdec_core.decoding.types import TOP, Places, Sampling, TopTokens, Verdict

WORDS = re.compile(r" ?\w+|<b>|</|[^\w ]")
TALE = WORDS.findall(
    "Once upon a time there was a king who had three daughters, and the youngest was so fair that the "
    "sun himself marvelled whenever he shone in her face.\n"
    "Near the castle lay a dark wood, and in the wood a well."
)
OTHERS = WORDS.findall(" queen little old man wolf forest went said to of not one day it they<b>$*&_`</")
EMOJI = [bytes([byte]) for byte in "👩".encode()]

PIECES: tuple[bytes, ...] = tuple(
    dict.fromkeys([b"<|endoftext|>", *EMOJI, *(word.encode() for word in (*TALE, *OTHERS))])
)
"""The bytes of every token of this vocabulary, by id."""
VOCAB = len(PIECES)
END_ID = 0
STORY: tuple[int, ...] = tuple(PIECES.index(word.encode()) for word in TALE)
PROMPT = STORY[:4]


def places(
    verdicts: np.ndarray, wishes: list[int], sampling: Sampling, rule: str, rng: np.random.Generator
) -> tuple[np.ndarray, Places]:
    """Drafted tokens (int32 [K]) and a record in which they fare as ``verdicts`` say.

    ``wishes`` [K+1] are the tokens the run should emit if it comes to emit one at that place.
    """
    if rule == "greedy":
        sampling = replace(sampling, temperature=0.0)
    rows = [_place(Verdict(v), wish, sampling, rule, rng) for v, wish in zip(verdicts, wishes, strict=False)]
    every = [*rows, _target_only(wishes[-1], sampling, rng)]

    def column(name: str, source: list[dict], *shape: int) -> np.ndarray:
        return np.array([row[name] for row in source], dtype=np.float64).reshape(len(source), *shape)

    drafted = np.array([row["token"] for row in rows], dtype=np.int32)
    scalars = ("p", "q", "soft_p", "soft_q", "draft_u", "accept_u", "overlap", "expected")
    record = Places(
        **{name: column(name, rows) for name in (*scalars, "draft_entropy", "kl")},
        **{name: column(name, every) for name in ("correct_u", "target_entropy", "gap")},
        replacement=np.array([row["replacement"] for row in every], dtype=np.int32),
        draft_interval=column("draft_interval", rows, 2),
        replacement_interval=column("replacement_interval", every, 2),
        residual_fallback=np.array([row["fallback"] for row in rows], dtype=bool),
        rank=np.array([row["rank"] for row in rows], dtype=np.int32),
        top_target=_top("seen_p", every),
        top_draft=_top("seen_q", every),
        top_residual=_top("residual", every),
    )
    return drafted, record


def tokens(
    verdicts: np.ndarray, wishes: list[int], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Drafted tokens (int32 [K]) and the target's own (int32 [K+1]) for a round without a record."""
    own = np.array(wishes, dtype=np.int32)
    other = (own[:-1] + rng.integers(1, VOCAB, len(verdicts))) % VOCAB
    return np.where(verdicts == Verdict.ACCEPTED, own[:-1], other).astype(np.int32), own


def _place(verdict: Verdict, wish: int, sampling: Sampling, rule: str, rng: np.random.Generator) -> dict:
    """One drafted place: logits shaped so that the verdict can happen, then draws that make it so."""
    p_logits, q_logits = _logits(verdict, wish, rng)
    soft_p, soft_q = (_softmax(x, sampling.temperature) for x in (p_logits, q_logits))
    p, q = _law(p_logits, sampling), _law(q_logits, sampling)
    forced = {Verdict.ACCEPTED: wish, Verdict.REJECTED: int(q_logits.argmax())}
    token = forced.get(verdict, _draw(q, rng.random()))
    own = p if rule == "exact match" else _residual(p, q)
    forced = {Verdict.ACCEPTED: token if rule == "exact match" else None, Verdict.REJECTED: wish}
    replacement = forced.get(verdict)
    replacement = _draw(own, rng.random()) if replacement is None else replacement
    seen_p, seen_q = (soft_p, soft_q) if sampling.temperature == 0 else (p, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        kl = float(np.where(seen_p > 0, seen_p * np.log(seen_p / seen_q), 0).sum())
    return {
        "seen_p": seen_p, "seen_q": seen_q, "residual": _residual(seen_p, seen_q),
        "token": token, "p": p[token], "q": q[token], "soft_p": soft_p[token], "soft_q": soft_q[token],
        "draft_interval": _interval(q, token), "draft_u": _inside(_interval(q, token), rng),
        "accept_u": _accept_u(verdict, min(1.0, p[token] / q[token]), rng),
        "replacement": replacement, "replacement_interval": _interval(own, replacement),
        "correct_u": _inside(_interval(own, replacement), rng), "fallback": not (p > q).any(),
        "overlap": np.minimum(p, q).sum(), "kl": kl,
        "rank": int(np.flatnonzero(_ranking(soft_p) == token)[0]),
        "expected": (p * q if rule == "exact match" else np.minimum(p, q)).sum(),
        "target_entropy": _entropy(seen_p), "draft_entropy": _entropy(seen_q), "gap": _gap(p_logits),
    }  # fmt: skip


def _logits(verdict: Verdict, wish: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    p = 2 * rng.standard_normal(VOCAB)
    q = 0.7 * p + 1.2 * rng.standard_normal(VOCAB)
    p[wish] = p.max() + 1
    if verdict is Verdict.ACCEPTED:
        q[wish] = q.max() + rng.uniform(0.2, 1.6)
    if verdict is Verdict.REJECTED:
        wrong = int(rng.choice([id_ for id_ in range(VOCAB) if id_ != wish]))
        q[[wrong, wish]] = q.max() + 1.5, q.min()
        p[wrong] = np.median(p)
    return p, q


def _target_only(wish: int, sampling: Sampling, rng: np.random.Generator) -> dict:
    """The last place, where the target alone speaks."""
    logits = 2 * rng.standard_normal(VOCAB)
    logits[wish] = logits.max() + 1
    p = _law(logits, sampling)
    seen = _softmax(logits, 0.0) if sampling.temperature == 0 else p
    interval = _interval(p, wish)
    return {
        "seen_p": seen, "seen_q": None, "residual": None,
        "replacement": wish, "replacement_interval": interval, "correct_u": _inside(interval, rng),
        "target_entropy": _entropy(seen), "gap": _gap(logits),
    }  # fmt: skip


def _top(name: str, rows: list[dict]) -> TopTokens:
    """The top of one distribution at each place; where there is none, ids are 0 and the rest NaN."""
    size = min(TOP, VOCAB)
    ids = np.zeros((len(rows), size), dtype=np.int32)
    p, q, rest = np.full(ids.shape, np.nan), np.full(ids.shape, np.nan), np.full(len(rows), np.nan)
    for place, row in enumerate(rows):
        if row[name] is None:
            continue
        ids[place] = _ranking(row[name])[:size]
        p[place], rest[place] = row["seen_p"][ids[place]], max(0.0, 1 - row[name][ids[place]].sum())
        if row["seen_q"] is not None:
            q[place] = row["seen_q"][ids[place]]
    return TopTokens(ids, p, q, rest)


def _residual(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    left = np.maximum(p - q, 0)
    return left / left.sum() if left.sum() > 0 else p


def _softmax(logits: np.ndarray, temperature: float) -> np.ndarray:
    powers = np.exp((logits - logits.max()) / (temperature or 1.0))
    return powers / powers.sum()


def _law(logits: np.ndarray, sampling: Sampling) -> np.ndarray:
    if sampling.temperature == 0:
        return np.eye(VOCAB)[int(logits.argmax())]
    law = _softmax(logits, sampling.temperature)
    if sampling.top_k:
        law = np.where(np.isin(np.arange(VOCAB), _ranking(law)[: sampling.top_k]), law, 0)
    return law / law.sum()


def _ranking(law: np.ndarray) -> np.ndarray:
    return np.lexsort((np.arange(len(law)), -law))


def _draw(law: np.ndarray, u: float) -> int:
    cdf = np.cumsum(law)
    return int(np.searchsorted(cdf, u * cdf[-1], side="right"))


def _interval(law: np.ndarray, token: int) -> tuple[float, float]:
    cdf = np.cumsum(law)
    return (0.0 if token == 0 else float(cdf[token - 1] / cdf[-1])), float(cdf[token] / cdf[-1])


def _inside(interval: tuple[float, float], rng: np.random.Generator) -> float:
    low, high = interval
    return low + (high - low) * rng.uniform(0.05, 0.95)


def _accept_u(verdict: Verdict, ratio: float, rng: np.random.Generator) -> float:
    inside = rng.uniform(0.02, 0.98)
    if verdict is Verdict.ACCEPTED:
        return ratio * inside
    return ratio + (1 - ratio) * inside if verdict is Verdict.REJECTED else inside


def _entropy(law: np.ndarray) -> float:
    return float(-(law[law > 0] * np.log(law[law > 0])).sum())


def _gap(logits: np.ndarray) -> float:
    best = np.sort(logits)[-2:]
    return float(best[1] - best[0])
