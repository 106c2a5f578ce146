"""`python -m specdec_core doctor`: what is there to run models with, and why anything is not."""

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specdec_core.models.inventory import Finding

THERE, MISSING = "✓", "–"


def add_parser(subparsers: Any) -> None:
    subparsers.add_parser(
        "doctor",
        help="say what is there, what is not, and why",
        description="Lists devices, libraries, folders, models and pairs, and says why anything is missing.",
    )


def run(args: argparse.Namespace) -> int:
    from specdec_core.models.inventory import take_inventory

    found = take_inventory()
    for subject in ("devices", "libraries", "folders", "models", "pairs"):
        print(subject.capitalize())
        print("\n".join(lines(getattr(found, subject))) + "\n")
    return 0


def lines(findings: "tuple[Finding, ...]") -> list[str]:
    """One line a finding, what they say flush below each other unless a name is very long."""
    width = min(28, max((len(each.what) for each in findings), default=0))
    return [
        f"  {THERE if each.there else MISSING} {each.what.ljust(width)}  {each.words}" for each in findings
    ]
