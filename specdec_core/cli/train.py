"""``train``: make the embedded pair from a folder of texts."""

import argparse
from pathlib import Path

STEPS = ("tokenizer", "target", "sample", "draft", "weak-draft", "report")


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the subcommand and its options."""
    parser = subparsers.add_parser(
        "train",
        help="train the embedded pair",
        description="Train the tokenizer, the target and its two drafts, and measure them. "
        "Interrupted, it goes on from its last checkpoint when it is given again.",
    )
    parser.add_argument(
        "--corpus", type=Path, required=True, help="folder of texts pg*.txt, a paragraph a line"
    )
    parser.add_argument("--out", type=Path, default=Path("assets/models"), help="where the models go")
    parser.add_argument("--work-dir", type=Path, default=Path(".training"), help="checkpoints and samples")
    parser.add_argument("--seed", type=int, default=7, help="of the split, the weights and the samples")
    parser.add_argument(
        "--steps", nargs="+", choices=STEPS, default=STEPS, help="only these steps, in this order"
    )
    _add_budget(parser, "target", tokens=3.5)
    _add_budget(parser, "draft", tokens=10.0)


def _add_budget(parser: argparse.ArgumentParser, name: str, tokens: float) -> None:
    budget = parser.add_mutually_exclusive_group()
    help_tokens = f"million tokens for the {name} (default {tokens:g}; the same seed gives the same weights)"
    budget.add_argument(f"--{name}-tokens", type=float, default=tokens, metavar="M", help=help_tokens)
    budget.add_argument(f"--{name}-minutes", type=float, metavar="MIN", help="end after this long instead")


def run(args: argparse.Namespace) -> int:
    """Run the steps asked for, in order."""
    from specdec_core.training.pipeline import STEPS as DO
    from specdec_core.training.pipeline import Plan
    from specdec_core.training.workshop import Workshop

    workshop = Workshop(args.corpus, args.out, args.work_dir, args.seed)
    plan = Plan(target=_budget(args, "target"), draft=_budget(args, "draft"))
    for step in args.steps:
        _say(f"== {step}")
        DO[step](workshop, plan, _say)
    return 0


def _budget(args: argparse.Namespace, name: str):
    from specdec_core.training.schedule import Budget

    minutes, tokens = getattr(args, f"{name}_minutes"), getattr(args, f"{name}_tokens")
    return Budget(seconds=60 * minutes) if minutes else Budget(tokens=round(1e6 * tokens))


def _say(line: str) -> None:
    # Flushed at once, so that a log file shows progress as it happens.
    print(line, flush=True)
