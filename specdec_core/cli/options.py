"""Options that several commands share, and the objects made from them."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from specdec_core.decoding.settings import MOST_DRAFTED, RoundSettings, Sampling
from specdec_core.experiments import opening

if TYPE_CHECKING:
    import torch

    from specdec_core.experiments.drafts import DraftSettings
    from specdec_core.models.pair import Pair

DEFAULT = " (default: %(default)s)"

COMPILE = (
    "make the passes faster before the first run: compiled for a processor, in half a minute to a few "
    "minutes a model, for passes about a tenth faster in the folk tales' target and no faster in its draft; "
    "captured as graphs on a CUDA GPU, in seconds"
)


def add_pair_options(parser: argparse.ArgumentParser) -> None:
    """Which models, and where they run."""
    from specdec_core.models.presets import DTYPES
    from specdec_core.models.registry import PAIRS

    pairs = ", ".join(PAIRS)
    parser.add_argument(
        "--pair", default=opening.PAIR, metavar="KEY", help=f"the pair of models, one of: {pairs}{DEFAULT}"
    )
    where = "cpu, cuda (as many GPUs as it takes), cuda:N or mps (default: cuda where there is one, else cpu)"
    parser.add_argument("--device", metavar="NAME", help=where)
    formats = f"of the weights, one of: {', '.join(DTYPES)} (default: the pair's own, else the device's)"
    parser.add_argument("--dtype", choices=DTYPES, metavar="FORMAT", help=formats)
    parser.add_argument("--compile", action="store_true", help=COMPILE)


def add_draft_options(parser: argparse.ArgumentParser) -> None:
    """What drafts, and its own settings."""
    kinds = "what drafts, one of those that the command drafts lists (default: the pair's own)"
    parser.add_argument("--draft", metavar="KIND", help=kinds)
    parser.add_argument(
        "--draft-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the draft, such as max_ngram=5; may be given several times",
    )


def chosen_draft(args: argparse.Namespace) -> "DraftSettings | None":
    """The draft that was asked for; None for the pair's own.

    Raises:
        ValueError: a setting is not of the form NAME=VALUE, or there is no draft to set it for.
    """
    from specdec_core.experiments.drafts import DraftSettings

    if args.draft is None:
        if args.draft_option:
            raise ValueError("--draft-option needs --draft: name the draft that it is for")
        return None
    pairs = [text.partition("=") for text in args.draft_option]
    if wrong := [name for name, equals, value in pairs if not (name and equals and value)]:
        raise ValueError(f"--draft-option {wrong[0]!r} is not of the form NAME=VALUE")
    return DraftSettings.of(args.draft, **{name: _value(value) for name, _, value in pairs})


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def add_round_options(parser: argparse.ArgumentParser) -> None:
    """Draft length and sampling; the defaults are those of a new run in the app."""
    sampling = opening.ROUND.sampling

    def add(name: str, letter: str, default: float, words: str) -> None:
        kind = type(default)
        parser.add_argument(name, type=kind, default=default, metavar=letter, help=words + DEFAULT)

    add("--gamma", "N", opening.ROUND.gamma, f"draft length, from 0 (drafts nothing) to {MOST_DRAFTED}")
    add("--temperature", "T", sampling.temperature, "divides the logits; 0 is greedy")
    add("--top-k", "K", sampling.top_k, "keep the K most probable tokens; 0 keeps all")
    add("--top-p", "P", sampling.top_p, "keep the most probable tokens up to this mass; 1 keeps all")
    add("--min-p", "P", sampling.min_p, "keep tokens with this share of the largest probability; 0 keeps all")
    add("--repetition-penalty", "R", sampling.repetition_penalty, "of tokens seen before; 1 is off")


def round_settings(args: argparse.Namespace) -> RoundSettings:
    """Draft length and sampling as asked for.

    Raises:
        ValueError: naming the setting that lies outside its range.
    """
    sampling = Sampling(args.temperature, args.top_k, args.top_p, args.min_p, args.repetition_penalty)
    return RoundSettings(args.gamma, sampling)


def check_place(path: Path | None) -> None:
    """Refuse a file that cannot be written before the work is done that would go into it.

    Raises:
        ValueError: its folder does not exist, it is a folder itself, or it may not be written.
    """
    if path is None:
        return
    if not path.parent.is_dir():
        raise ValueError(f"the folder {path.parent} does not exist")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{path} may not be written")


def chosen_pair(args: argparse.Namespace) -> "Pair":
    """Load the pair that was asked for.

    Raises:
        PairError: there is no such pair, or it cannot be read.
        ValueError: there is no such device.
    """
    from specdec_core.models.loading import load_pair

    return load_pair(args.pair, chosen_device(args), chosen_dtype(args), args.compile)


def chosen_dtype(args: argparse.Namespace) -> "torch.dtype | None":
    """The number format of weights that was asked for, if any."""
    import torch

    return getattr(torch, args.dtype) if args.dtype else None


def chosen_device(args: argparse.Namespace) -> "torch.device":
    """The device that was asked for, else a GPU where there is one, else the processor.

    Raises:
        ValueError: there is no such device.
    """
    import torch

    from specdec_core.models.machine import default_device, set_threads

    if args.device:
        _check_device(args.device)
    set_threads()
    return torch.device(args.device) if args.device else default_device()


def _check_device(name: str) -> None:
    import torch

    from specdec_core.models.machine import device_name, devices

    found = devices()
    kinds = {device.type for device in found}  # "cuda" alone means the first
    if name in {*map(str, found), *kinds}:
        return
    there = " and ".join(map(device_name, found))
    raise ValueError(f"there is no device {name} here; torch {torch.__version__} finds {there}")
