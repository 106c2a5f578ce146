"""`python -m specdec_core train`: make the embedded pair from a folder of texts."""

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specdec_core.cli.options import DEFAULT
from specdec_core.training.defaults import MILLION_TOKENS, SEED, StepName

if TYPE_CHECKING:
    from specdec_core.training.schedule import Budget

OUT, WORK = Path("assets/models"), Path(".training")


def add_parser(subparsers: Any) -> None:
    """Add the subcommand and its options."""
    parser = subparsers.add_parser(
        "train",
        help="train the embedded pair",
        description="Trains the tokenizer, the target and its two drafts, and measures them. "
        "Interrupted, it goes on from its last checkpoint when it is given again.",
    )
    texts = "folder of texts pg*.txt, a paragraph a line"
    parser.add_argument("--corpus", type=Path, required=True, metavar="DIR", help=texts)
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=f"for the models{DEFAULT}")
    parser.add_argument(
        "--work-dir", type=Path, default=WORK, metavar="DIR", help=f"for checkpoints and samples{DEFAULT}"
    )
    parser.add_argument(
        "--seed", type=_seed, default=SEED, metavar="N", help=f"of the split, weights and samples{DEFAULT}"
    )
    parser.add_argument(
        "--steps",
        nargs="+",
        type=_step,
        default=tuple(StepName),
        metavar="STEP",
        help=f"only these steps, in this order, out of: {', '.join(StepName)} (default: all)",
    )
    for name, tokens in MILLION_TOKENS.items():
        _add_budget(parser, name, tokens)


def _add_budget(parser: argparse.ArgumentParser, name: str, tokens: float) -> None:
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument(
        f"--{name}-tokens",
        type=_amount,
        default=tokens,
        metavar="M",
        help=f"million tokens for the {name}; the same seed gives the same weights{DEFAULT}",
    )
    budget.add_argument(f"--{name}-minutes", type=_amount, metavar="MIN", help="end after this long instead")


def run(args: argparse.Namespace) -> int:
    """Run the steps asked for, in order."""
    from specdec_core.training.pipeline import STEPS, Plan
    from specdec_core.training.workshop import Workshop

    for folder in (args.out, args.work_dir):
        # Made now, so that a place that cannot be written is not found out after an hour.
        folder.mkdir(parents=True, exist_ok=True)
    workshop = Workshop(args.corpus, args.out, args.work_dir, args.seed)
    plan = Plan(target=_budget(args, "target"), draft=_budget(args, "draft"))
    try:
        for step in args.steps:
            _say(f"== {step}")
            STEPS[step](workshop, plan, _say)
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on from the last checkpoint", file=sys.stderr)
        raise
    return 0


def _budget(args: argparse.Namespace, name: str) -> "Budget":
    from specdec_core.training.schedule import Budget

    minutes, tokens = getattr(args, f"{name}_minutes"), getattr(args, f"{name}_tokens")
    return Budget(tokens=round(1e6 * tokens)) if minutes is None else Budget(seconds=60 * minutes)


def _step(text: str) -> StepName:
    try:
        return StepName(text)
    except ValueError:
        message = f"there is no step {text!r}; there are {', '.join(StepName)}"
        raise argparse.ArgumentTypeError(message) from None


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not 0 < amount < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return amount


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 to 2^63 - 1")
    return int(text)


def _say(line: str) -> None:
    # Flushed at once, so that a log file shows progress as it happens.
    print(line, flush=True)
