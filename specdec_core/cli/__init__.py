"""The command line: one subcommand per module, each with `add_parser(subparsers)` and `run(args) -> int`.

Modules import torch and the models only inside `run`, so that `--help` answers at once. A `ValueError`
or `OSError` is something the person can mend: it is printed in one line and ends with code 2.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

COMMANDS = ("generate", "drafts", "bench", "train", "fetch", "doctor")

INTERRUPTED = 130
"""Exit code after Ctrl+C, as shells use it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 2 for a mistake in what was asked, 130 for Ctrl+C."""
    args = parser().parse_args(arguments)
    try:
        return args.run(args)
    except BrokenPipeError:
        # The reader of a pipe has left (`| head`): nothing more to say, also not at shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except (ValueError, OSError) as error:
        print(f"{args.command}: {error}", file=sys.stderr)
        return 2


class Parser(argparse.ArgumentParser):
    """Answers a mistake in one line, not with the whole usage before it."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see --help\n")


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; `args.run` is the command's function."""
    result = Parser(
        prog="python -m specdec_core",
        description="Speculative decoding, recorded round by round.",
    )
    subparsers = result.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        module = import_module(f"specdec_core.cli.{name}")
        module.add_parser(subparsers)
        subparsers.choices[name].set_defaults(run=module.run)
    return result
