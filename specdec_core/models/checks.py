"""Whether a folder holds a model, and whether two models belong together."""

import hashlib
from pathlib import Path
from typing import Any

from specdec_core.models.errors import PairError

NEEDED = ("config.json", "tokenizer.json")
BLOCK = 1 << 20


def check_folder(folder: Path) -> None:
    """Refuse a folder that lacks what a model needs.

    Raises:
        PairError: naming the folder and what is missing.
    """
    if not folder.is_dir():
        raise PairError(f"The model folder {folder} does not exist.")
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    if not weight_files(folder):
        missing.append("model.safetensors")
    if missing:
        raise PairError(f"The model folder {folder} lacks {', '.join(missing)}.")


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a folder, in order of their names."""
    return sorted(folder.glob("*.safetensors"))


def fingerprint(folder: Path) -> str:
    """SHA-256 of the folder's weights, in hex: what identifies a model in a trace."""
    digest = hashlib.sha256()
    for path in weight_files(folder):
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
    return digest.hexdigest()


def check_pair(target: Any, draft: Any) -> None:
    """Refuse two models whose ids do not mean the same tokens.

    Equal sizes are not enough: the ratio test compares p and q id by id.

    Raises:
        PairError: naming the first id that differs, or the sizes.
    """
    sizes = [model.module.config.get_text_config().vocab_size for model in (target, draft)]
    if sizes[0] != sizes[1]:
        raise PairError(
            f"{target.info.name} has a vocabulary of {sizes[0]:,} tokens and {draft.info.name} one of "
            f"{sizes[1]:,}; a pair must share one."
        )
    theirs, ours = _tokens(target.tokenizer, sizes[0]), _tokens(draft.tokenizer, sizes[0])
    for id_, (one, other) in enumerate(zip(theirs, ours, strict=True)):
        if one != other:
            raise PairError(
                f"Token {id_} is {one!r} in {target.info.name} but {other!r} in {draft.info.name}; "
                "the two must share one tokenizer."
            )


def _tokens(tokenizer: Any, size: int) -> list[str | None]:
    """The token string of every id below ``size``; None where the tokenizer has none."""
    if len(tokenizer) > size:
        raise PairError(f"The tokenizer has {len(tokenizer):,} tokens but the model only {size:,}.")
    known = {id_: token for token, id_ in tokenizer.get_vocab().items()}
    return [known.get(id_) for id_ in range(size)]
