"""`python -m specdec_core drafts`: which drafts a pair can have, and what each is worth."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from specdec_core.cli.options import DEFAULT, add_pair_options, chosen_pair
from specdec_core.decoding.settings import Sampling

if TYPE_CHECKING:
    from specdec_core.experiments.draft_bench import DraftRow
    from specdec_core.experiments.greedy_check import GreedyCheck
    from specdec_core.models.pair import Pair

MEASURED, CHECKED = 100, 200
"""New tokens of each run."""

HEAD = ("draft", "answers", "γ", "Σ min(p, q)", "kept", "c", "tokens/round", "× plain", "predicted")

NOTES = """\
Σ min(p, q)  mean over tested places     kept  of tested
c            a draft step, in tokens of plain decoding
× plain      time per token of the target alone over this draft's, on the same prompts"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "drafts",
        help="list the drafts that a pair can have, or measure them",
        description="Lists every kind of draft, what it costs and whether the pair can have it.",
    )
    add_pair_options(parser)
    parser.add_argument("--measure", action="store_true", help="run each of them beside plain decoding")
    parser.add_argument(
        "--check", action="store_true", help="hold each against plain greedy decoding, token for token"
    )
    usual = f"(default: {MEASURED}; with --check {CHECKED})"
    parser.add_argument("--tokens", type=int, metavar="N", help=f"new tokens of each run {usual}")
    parser.add_argument(
        "--temperature", type=float, default=1.0, metavar="T", help=f"of each run; 0 is greedy{DEFAULT}"
    )


def run(args: argparse.Namespace) -> int:
    """List the drafts, hold them against plain decoding, or measure them.

    Returns:
        0, or 1 if a draft changed what is written.
    """
    tokens = args.tokens or (CHECKED if args.check else MEASURED)
    if tokens < 2:
        raise ValueError("a run needs at least 2 tokens")
    sampling = Sampling(args.temperature)
    pair = chosen_pair(args)
    if not (args.check or args.measure):
        print("\n".join(catalogue(pair)))
    passed = _check(pair, tokens) if args.check else True
    if args.measure:
        _measure(pair, tokens, sampling)
    return 0 if passed else 1


def _check(pair: "Pair", tokens: int) -> bool:
    from specdec_core.experiments.greedy_check import check_greedy, check_prompt

    found = []
    print(f"{pair.info.title}, {pair.info.dtype}, {pair.machine.device}: greedy, {tokens} tokens")
    for each in check_greedy(pair, check_prompt(pair), tokens):
        found.append(each)
        print(checked(each), flush=True)
    return all(each.passed for each in found)


def checked(found: "GreedyCheck") -> str:
    """What holding one draft against plain greedy decoding gave, in a line."""
    start = f"{'✓' if found.passed else '✕'} {found.kind}: "
    kept = f" ({found.accepted} of {found.tested} tested drafts kept)"
    if found.place is None:
        return f"{start}equal to plain greedy over {found.tokens} tokens{kept}"
    what = "a tie" if found.passed else "differs"
    return f"{start}{what} at token {found.place + 1}, the target's best two are {found.gap:.2g} apart{kept}"


def _measure(pair: "Pair", tokens: int, sampling: Sampling) -> None:
    from specdec_core.experiments.draft_bench import bench_drafts

    rows = []
    for row in bench_drafts(pair, tokens=tokens, sampling=sampling):
        rows.append(row)
        print(f"{row.kind}, {row.answers} answers: {row.speedup:.2f} times plain decoding", file=sys.stderr)
    print("\n".join(table(rows)))


def catalogue(pair: "Pair") -> list[str]:
    """Each kind in a few lines: what it does, costs and draws from, and its settings."""
    from specdec_core.experiments.drafts import DRAFTS

    lines = []
    for kind in DRAFTS.values():
        reason = kind.missing(pair)
        lines += [f"{'–' if reason else '✓'} {kind.key}: {kind.title}", f"    {reason or kind.summary}"]
        if reason is None:
            lines += [f"    costs {kind.cost}", f"    q is {kind.law}"]
            options = kind.options(pair)
            lines += [f"    {each.key} (default: {each.default}): {each.help}" for each in options]
    return lines


def table(rows: Sequence["DraftRow"]) -> list[str]:
    """The measured drafts, a line each, in columns."""
    cells = [HEAD, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for first, second, *others in cells:
        numbers = [cell.rjust(width) for cell, width in zip(others, widths[2:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), second.ljust(widths[1]), *numbers]))
    return [*lines, "", NOTES]


def _cells(row: "DraftRow") -> tuple[str, ...]:
    shares = ("–" if share is None else f"{share:.2f}" for share in (row.overlap, row.kept))
    rest = (row.c, row.tokens_per_round, row.speedup, row.predicted)
    return (row.kind, row.answers, str(row.gamma), *shares, *(f"{number:.2f}" for number in rest))
