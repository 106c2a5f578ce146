"""`python -m specdec_core bench`: how fast this decoder is beside plain decoding and transformers' own."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from specdec_core.cli import INTERRUPTED, shapes
from specdec_core.cli.options import add_pair_options, check_place, chosen_device, chosen_dtype, chosen_pair
from specdec_core.experiments.bench_plan import BENCH_VERSION, PROMPTS, QUICK, BenchSettings

HEAD = ("", "γ", "tokens/s", "× plain", "× assisted", "E", "α", "× decode", "predicted", "closed form")

NOTES = """\
Speeds are medians. Ratios are medians over pairs of runs of the same prompt in the same repetition,
with an interval of 95 % (their range, where there are fewer than six pairs).
tokens/s     new tokens over wall-clock time, reading the prompt included
× plain      tokens/s over that of plain decoding
× assisted   tokens/s over that of transformers' assisted generation at the same draft length
E            new tokens per target pass
α            sampled: mean Σ min(p, q) over tested places; greedy: kept of tested
× decode     as × plain, without reading the prompt; what the two predictions are compared with
predicted    E / (γ·c + v(γ)) with E as measured
closed form  the same with E = (1 − α^(γ+1)) / (1 − α)"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "bench",
        help="time this decoder beside plain decoding and transformers' own",
        description="Times plain decoding, transformers' own plain and assisted generation, and this decoder "
        "with and without a record, interleaved in one process on the same weights.",
    )
    add_pair_options(parser)
    parser.add_argument(
        "--quick", action="store_true", help="a small run, then --shapes: a first look at a device"
    )
    parser.add_argument(
        "--shapes", action="store_true", help="only larger pairs, made of random weights, for their times"
    )
    parser.add_argument(
        "--gammas", type=_numbers, metavar="N,N,...", help=f"draft lengths {_defaults('gammas')}"
    )
    parser.add_argument(
        "--prompts", type=int, metavar="N", help=f"how many of {len(PROMPTS)} prompts {_defaults('prompts')}"
    )
    parser.add_argument(
        "--tokens", type=int, metavar="N", help=f"new tokens in each run {_defaults('tokens')}"
    )
    parser.add_argument(
        "--repeats", type=int, metavar="N", help=f"how often all is repeated {_defaults('repeats')}"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all raw times and results as JSON")


def run(args: argparse.Namespace) -> int:
    """Measure what was asked for. Stopped with Ctrl+C, it shows and writes what was complete by then.

    Returns:
        0, or 130 after Ctrl+C.
    """
    check_place(args.json)
    settings = _settings(args)
    report: dict[str, Any] = {}
    complete = args.shapes or _bench(args, settings, report)
    if complete and (args.shapes or args.quick):
        complete = _shapes(args, report)
    return 0 if complete else INTERRUPTED


def _bench(args: argparse.Namespace, settings: BenchSettings, report: dict[str, Any]) -> bool:
    """The benchmark of a real pair, into the report; whether it came to its end."""
    from transformers.utils import logging

    from specdec_core.experiments.bench import run_bench
    from specdec_core.experiments.bench_summary import to_json

    logging.set_verbosity_error()  # assisted generation warns of how it calls itself
    pair = chosen_pair(args)
    result = run_bench(pair, settings, _Progress())
    report |= to_json(result, pair.info, pair.machine)
    _write(report, args.json)
    print("\n".join(lines(report)))
    if (done := result.settings.repeats) < settings.repeats:
        print(f"\nstopped: this is what {done} of {settings.repeats} repetitions say", file=sys.stderr)
    return done == settings.repeats


def _shapes(args: argparse.Namespace, report: dict[str, Any]) -> bool:
    """The larger pairs, each shown and written as soon as it is measured; whether all of them were."""
    from specdec_core.experiments.shape_bench import bench_shapes
    from specdec_core.models.machine import describe_machine

    device = chosen_device(args)
    machine = describe_machine(device)
    report |= {"version": BENCH_VERSION, "machine": asdict(machine), "shapes": []}
    print("\n".join([*([""] if "rows" in report else []), machine_line(report["machine"]), shapes.HEAD]))
    try:
        if args.compile:
            print("\ncompiling the passes of each pair first, outside of all times", file=sys.stderr)
        for result in bench_shapes(device, chosen_dtype(args), compiled=args.compile):
            report["shapes"].append(shapes.to_json(result))
            _write(report, args.json)
            print("\n".join(["", *shapes.lines(result)]), flush=True)
    except KeyboardInterrupt:
        print("\nstopped: the pair that was being measured is left out", file=sys.stderr)
        return False
    print(f"\n{shapes.NOTES}")
    return True


def _write(report: dict[str, Any], path: Path | None) -> None:
    if path:
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False), encoding="utf-8")


def lines(report: dict[str, Any]) -> Iterator[str]:
    """The report of ``bench_summary.to_json`` as text for people."""
    yield from _conditions(report)
    for mode in dict.fromkeys(row["job"]["mode"] for row in report["rows"]):
        yield ""
        yield from _aligned([(mode, *HEAD[1:]), *_cells(report, mode)])
    yield ""
    yield NOTES
    yield ""
    yield from _costs(report)
    yield ""
    yield from _goals(report)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of whole numbers such as 1,2,4") from None


def _defaults(name: str) -> str:
    """What an option is where it is not given, in words."""
    usual, quick = (_written(getattr(settings, name)) for settings in (BenchSettings(), QUICK))
    return f"(default: {usual}; quick: {quick})"


def _written(value: int | tuple[int, ...]) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _settings(args: argparse.Namespace) -> BenchSettings:
    asked = {name: getattr(args, name) for name in ("gammas", "prompts", "tokens", "repeats")}
    given = {name: value for name, value in asked.items() if value is not None}
    return replace(QUICK if args.quick else BenchSettings(), **given)


class _Progress:
    """One line on a terminal's standard error: how far, and how long still."""

    def __init__(self) -> None:
        self._started = perf_counter()

    def __call__(self, done: int, total: int) -> None:
        if sys.stderr.isatty():
            left = (perf_counter() - self._started) / done * (total - done)
            line = f"\r{done} of {total} runs, about {left:.0f} s left  "
            print(line, end="\n" if done == total else "", file=sys.stderr, flush=True)


def _conditions(report: dict[str, Any]) -> Iterator[str]:
    pair, machine, settings = report["pair"], report["machine"], report["settings"]
    target, draft = pair["target"], pair["draft"]
    yield f"{pair['title']}: target {_millions(target)}, draft {_millions(draft)}, {pair['dtype']}, batch 1"
    yield machine_line(machine)
    yield (
        f"{settings['prompts']} prompts × {settings['repeats']} repetitions, "
        f"{settings['tokens']} new tokens each, all ways interleaved in one process"
    )


def machine_line(machine: dict[str, Any]) -> str:
    """What the times were measured on, to stand beside them."""
    return (
        f"{machine['processor']}, {machine['device']}, {machine['threads']} threads, "
        f"torch {machine['torch']}, transformers {machine['transformers']}, "
        f"Python {machine['python']}, {machine['system']}"
    )


def _millions(model: dict[str, Any]) -> str:
    return f"{model['parameters'] / 1e6:.2f} M parameters in {model['layers']} layers"


def _cells(report: dict[str, Any], mode: str) -> Iterator[tuple[str, ...]]:
    for row in report["rows"]:
        if row["job"]["mode"] == mode:
            yield (
                row["job"]["way"],
                str(row["job"]["gamma"] or ""),
                f"{row['speed']:.1f}",
                _ratio(row["versus_plain"]),
                _ratio(row["versus_assisted"]),
                _number(row["tokens_per_pass"]),
                _number(row["alpha"]),
                _ratio(row["measured"]),
                _number(row["predicted"]),
                _number(row["predicted_closed"]),
            )


def _ratio(ratio: dict[str, Any] | None) -> str:
    return f"{ratio['median']:.2f} [{ratio['low']:.2f}, {ratio['high']:.2f}]" if ratio else "–"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _aligned(table: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows with the first column flush left, all others flush right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *others in table:
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        yield "  ".join(cells).rstrip()


def _costs(report: dict[str, Any]) -> Iterator[str]:
    costs = report["costs"]
    draft, plain = 1e3 * costs["draft"], 1e3 * costs["plain"]
    yield f"Draft step {draft:.2f} ms, a token of plain decoding {plain:.2f} ms: c = {costs['c']:.3f}"
    passes = zip(costs["tokens"], costs["target"], costs["rest"], strict=True)
    yield "Target pass + tests and draw (v, in plain tokens): " + ", ".join(
        f"{count} tokens {1e3 * target:.2f} + {1e3 * rest:.2f} ms ({1e3 * (target + rest) / plain:.2f})"
        for count, target, rest in passes
    )
    share = report["recording"]
    yield (
        f"Records take {100 * share['median']:.1f} % of the time of recorded rounds "
        f"[{100 * share['low']:.1f}, {100 * share['high']:.1f}]"
    )


def _goals(report: dict[str, Any]) -> Iterator[str]:
    yield from _aligned(
        [
            (
                goal["text"],
                f"{goal['value']:.3f}",
                f"{'≥' if goal['least'] else '≤'} {goal['wanted']:g}",
                "met" if goal["met"] else "missed",
                goal["where"],
            )
            for goal in report["goals"]
        ]
    )
