"""`python -m specdec_core fetch`: have a model on this machine before it is needed, say in a classroom."""

import argparse
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specdec_core.models.progress import Meter, Progress
    from specdec_core.models.specs import ModelRef

SHOWN_EVERY = 0.2
"""Seconds between two looks at the progress."""

BAR = 24


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "fetch",
        help="fetch models, so that they run without a network later",
        description="Fetches models of pairs into the cache of this machine and checks that they are whole. "
        "What is there already is not fetched again. `doctor` lists the names.",
    )
    parser.add_argument("names", nargs="+", metavar="NAME", help="a pair, a model of one, or hub:ID")


def run(args: argparse.Namespace) -> int:
    for model in chosen(args.names):
        _fetch(model)
    return 0


def chosen(names: list[str]) -> "list[ModelRef]":
    """The models that the names stand for, each once: a pair stands for all of its own.

    Raises:
        PairError: there is no such pair or model.
    """
    from specdec_core.models.registry import PAIRS, find_model

    found = [
        model for name in names for model in (PAIRS[name].models if name in PAIRS else [find_model(name)])
    ]
    return list(dict.fromkeys(found))


def _fetch(model: "ModelRef") -> None:
    """Fetch one model in a thread of its own, while this one shows how far it is."""
    from specdec_core.models.progress import Meter
    from specdec_core.models.sources import obtain

    meter, outcome = Meter(), {}

    def work() -> None:
        try:
            outcome["folder"] = obtain(model, meter)
        except Exception as error:
            outcome["error"] = error

    thread = threading.Thread(target=work, name=f"fetch {model.name}", daemon=True)
    thread.start()
    try:
        _show_until_done(thread, meter)
    except KeyboardInterrupt:
        meter.cancel()
        thread.join()
        print("\nstopped; nothing was left half done", file=sys.stderr)
        raise
    if error := outcome.get("error"):
        raise error
    print(f"{model.title} is in {outcome['folder']} ({meter.progress.seconds:.1f} s)")


def _show_until_done(thread: threading.Thread, meter: "Meter") -> None:
    """On a terminal one line that changes; elsewhere one line for each stage."""
    shown, live = "", sys.stderr.isatty()
    while thread.is_alive():
        thread.join(SHOWN_EVERY)
        line = progress_line(meter.progress) if live else meter.progress.stage
        if line != shown:
            shown = line
            print(f"\r\x1b[K{line}" if live else line, end="" if live else "\n", file=sys.stderr, flush=True)
    if live:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def progress_line(progress: "Progress") -> str:
    """Stage, a bar where the size is known, bytes and seconds.

    >>> from specdec_core.models.progress import Progress
    >>> progress_line(Progress("downloading", 25_000_000, 100_000_000, 3.25))
    'downloading ██████░░░░░░░░░░░░░░░░░░ 25.0 of 100.0 MB  3 s'
    >>> progress_line(Progress("warming up", seconds=12.0))
    'warming up  12 s'
    """
    parts = progress.stage
    if progress.fraction is not None:
        full = round(BAR * progress.fraction)
        done, total = progress.bytes_done / 1e6, progress.bytes_total / 1e6
        parts += f" {'█' * full}{'░' * (BAR - full)} {done:,.1f} of {total:,.1f} MB"
    return f"{parts}  {progress.seconds:.0f} s"
