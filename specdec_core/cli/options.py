"""Options that several commands share, and the objects made from them."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specdec_core.decoding.types import RoundSettings
    from specdec_core.models.pair import Pair


def add_pair_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pair", default="embedded", help="which pair of models (default: %(default)s)")
    parser.add_argument("--device", help="cpu, cuda or cuda:N (default: the first CUDA device, else cpu)")


def add_round_options(parser: argparse.ArgumentParser) -> None:
    """Draft length and sampling; the defaults are those of ``Sampling``."""
    parser.add_argument("--gamma", type=int, default=4, help="draft length (default: %(default)s)")
    parser.add_argument("--temperature", type=float, default=1.0, help="0 is greedy (default: %(default)s)")
    parser.add_argument("--top-k", type=int, default=0, help="keep the k most probable tokens; 0 keeps all")
    parser.add_argument("--top-p", type=float, default=1.0, help="keep the most probable mass; 1 keeps all")
    parser.add_argument("--min-p", type=float, default=0.0, help="keep this share of the best; 0 keeps all")
    parser.add_argument("--repetition-penalty", type=float, default=1.0, metavar="R", help="1 is off")


def check_place(path: Path | None) -> None:
    """Refuse a file that cannot be written before the work is done that would go into it.

    Raises:
        ValueError: its folder does not exist.
    """
    if path and not path.parent.is_dir():
        raise ValueError(f"the folder {path.parent} does not exist")


def chosen_pair(args: argparse.Namespace) -> "Pair":
    """Load the pair that was asked for.

    Raises:
        PairError: there is no such pair, or it cannot be read.
        ValueError: there is no such device.
    """
    from specdec_core.models.loading import load_pair
    from specdec_core.models.machine import set_threads

    if args.device:
        _check_device(args.device)
    set_threads()
    return load_pair(args.pair, args.device)


def _check_device(name: str) -> None:
    import torch

    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        # torch asserts that it was built for a device, and adds its own stack to other messages.
        raise ValueError(f"device {name}: {str(error).splitlines()[0]}") from error


def round_settings(args: argparse.Namespace) -> "RoundSettings":
    """Draft length and sampling as asked for.

    Raises:
        ValueError: naming the setting that lies outside its range.
    """
    from specdec_core.decoding.types import RoundSettings, Sampling

    sampling = Sampling(args.temperature, args.top_k, args.top_p, args.min_p, args.repetition_penalty)
    return RoundSettings(args.gamma, sampling)
