"""Choosing the recorded trace that the app opens on: ``python -m specdec_core.experiments.recorded``.

A newcomer's first rounds should hold everything there is to see. So seeds are searched for a
run whose first rounds show a sure keep, a lucky keep, a plausible word rejected after a kept
one, and a round kept as a whole; the chosen one is then run again without pauses and measured
in full.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from specdec_core.decoding.types import Round, Source, Verdict
from specdec_core.experiments.live import LiveRun
from specdec_core.experiments.opening import MAX_NEW_TOKENS, PAIR, PROMPT, ROUND
from specdec_core.models.loading import load_pair
from specdec_core.models.pair import Pair
from specdec_core.traces import json_codec
from specdec_core.traces.trace import Trace

PATH = Path(__file__).parents[2] / "assets" / "traces" / "opening.json"
FIRST_ROUNDS = 5
"""How many rounds a newcomer is expected to look at."""

SURE, LUCKY, PLAUSIBLE, STAR = "sure keep", "lucky keep", "rejected plausible word", "all kept"
WANTED = frozenset({SURE, LUCKY, PLAUSIBLE, STAR})
LEAST_PLAUSIBLE = 0.01
"""A rejected word counts as plausible when the target gives it at least this probability."""


def shown(trace: Trace, first: int = FIRST_ROUNDS) -> set[str]:
    """Which of the wanted sights the first rounds of a trace hold."""
    return {sight for item in trace.rounds[:first] for sight in sights(item, trace)}


def sights(item: Round, trace: Trace) -> Iterator[str]:
    """The wanted sights of one recorded round."""
    for place, verdict in enumerate(item.verdicts):
        p, q = item.places.p[place], item.places.q[place]
        if verdict == Verdict.ACCEPTED:
            yield SURE if p >= q else LUCKY
        # A rejection after a kept draft, so that one round shows both.
        elif verdict == Verdict.REJECTED and place and _plausible_word(p, item.drafted[place], trace):
            yield PLAUSIBLE
    if Source.BONUS in item.sources and len(item.drafted):
        yield STAR


def candidates(pair: Pair, seeds: range) -> Iterator[tuple[int, int]]:
    """(rounds needed, seed) of every seed whose first rounds show everything."""
    for seed in seeds:
        trace = _run(pair, seed, FIRST_ROUNDS).trace
        needed = next((n for n in range(1, FIRST_ROUNDS + 1) if shown(trace, n) >= WANTED), None)
        if needed:
            yield needed, seed


def record(pair: Pair, seed: int) -> Trace:
    """The whole run of a seed, made without pauses, with costs and the target alone measured."""
    _run(pair, seed, MAX_NEW_TOKENS)  # the rounds right after loading are cold
    live = _run(pair, seed, MAX_NEW_TOKENS)
    live.measure_costs()
    live.measure_baseline(ROUND.sampling)
    return live.trace.with_(name="opening")


def _run(pair: Pair, seed: int, rounds: int) -> LiveRun:
    live = LiveRun.start(pair, PROMPT, seed=seed, max_new_tokens=MAX_NEW_TOKENS)
    while not live.ended and len(live.trace.rounds) < rounds:
        live.next_round(ROUND)
    return live


def _text(trace: Trace) -> str:
    return trace.prompt + b"".join(trace.pieces[id_] for id_ in trace.emitted).decode(errors="replace")


def _plausible_word(p: float, id_: int, trace: Trace) -> bool:
    piece = trace.pieces[int(id_)]
    return p >= LEAST_PLAUSIBLE and piece.startswith(b" ") and len(piece) > 3 and piece[1:].isalpha()


def main() -> None:
    parser = argparse.ArgumentParser(description="Record the run that the app opens on.")
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds to search, from 0")
    parser.add_argument("--list", action="store_true", help="print every fitting seed's text, record none")
    parser.add_argument("--seed", type=int, help="record this seed and search none")
    options = parser.parse_args()
    pair = load_pair(PAIR)
    if options.seed is not None:
        return save(record(pair, options.seed), options.seed)
    found = sorted(candidates(pair, range(options.seeds)))
    if options.list:
        for needed, seed in found:
            text = _text(_run(pair, seed, MAX_NEW_TOKENS).trace)
            print(f"seed {seed}, everything in {needed} rounds: {text}\n")
    elif found:
        save(record(pair, found[0][1]), found[0][1])
    else:
        parser.exit(1, f"none of {options.seeds} seeds shows everything in {FIRST_ROUNDS} rounds\n")


def save(trace: Trace, seed: int) -> None:
    """Write the trace to where the app reads it."""
    PATH.parent.mkdir(parents=True, exist_ok=True)
    PATH.write_text(json_codec.dumps(trace), encoding="utf-8")
    size = PATH.stat().st_size / 1e3
    print(f"seed {seed}, {len(trace.rounds)} rounds, {size:.0f} kB\n{_text(trace)}")


if __name__ == "__main__":
    main()
