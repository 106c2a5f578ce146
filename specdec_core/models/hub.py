"""The Hugging Face hub: what lies in its cache here, what it offers, and fetching that.

The only token ever sent is ``HF_TOKEN`` of the environment; one that a login left on the disk
is not used, and no message contains it. Only weights in safetensors and the few text files
beside them are fetched, never code. huggingface_hub downloads each file under another name and
moves it in place when it is whole; a model counts as there when all its files are.
"""

import os
import time
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, constants, hf_hub_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)

from specdec_core.models.checks import missing_files
from specdec_core.models.errors import PairError
from specdec_core.models.progress import Cancelled, Meter

SMALL = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "chat_template.jinja",
    "model.safetensors.index.json",
)
"""What a model is checked by before its weights are fetched."""

WEIGHTS = ("model.safetensors", "model-?????-of-?????.safetensors")
TIMEOUT = 10.0
"""Seconds to wait for the hub's first word."""

SILENCE = 30.0
"""Seconds for which a hub that did not answer is not asked again: a list of pairs asks many times."""


class _Silent:
    """Until when the hub counts as silent, by the monotonic clock."""

    until = 0.0


_silent = _Silent()


class HubUnreachable(PairError):
    """No answer from the hub: there is no network, or it is switched off."""


@dataclass(frozen=True)
class HubModel:
    """What the hub says of a model.

    Attributes:
        hub_id: its id.
        revision: the commit that is fetched, in hex.
        sizes: bytes of each file that would be fetched.
        gated: whether its terms must be accepted first.
    """

    hub_id: str
    revision: str
    sizes: dict[str, int]
    gated: bool

    @property
    def bytes(self) -> int:
        """Bytes of all files that would be fetched."""
        return sum(self.sizes.values())

    @property
    def has_weights(self) -> bool:
        """Whether there are weights in safetensors."""
        return any(_is_weights(name) for name in self.sizes)


def cached(hub_id: str) -> Path | None:
    """The folder of a model that lies whole in the hub's cache; None if it does not.

    Of several revisions it is the one that ``main`` named last, or else the newest.
    """
    repository = Path(constants.HF_HUB_CACHE) / f"models--{hub_id.replace('/', '--')}"
    folders = sorted(repository.glob("snapshots/*"), key=lambda folder: folder.stat().st_mtime, reverse=True)
    main = repository / "refs" / "main"
    if main.is_file():
        folders.insert(0, repository / "snapshots" / main.read_text().strip())
    return next((folder for folder in folders if not missing_files(folder)), None)


def answers() -> bool:
    """Whether the hub answers at all, as of the last half minute."""
    try:
        describe("gpt2")
    except HubUnreachable:
        return False
    except PairError:
        pass
    return True


def describe(hub_id: str) -> HubModel:
    """Ask the hub what it has.

    Raises:
        HubUnreachable: there is no answer.
        PairError: there is no such model, or it is not to be had.
    """
    if time.monotonic() < _silent.until:
        raise _unreachable(hub_id, "no answer")
    try:
        info = HfApi(token=_token()).model_info(hub_id, files_metadata=True, timeout=TIMEOUT)
    except Exception as error:
        raise _refusal(hub_id, error) from error
    sizes = {
        file.rfilename: file.size or 0
        for file in info.siblings or ()
        if file.rfilename in SMALL or _is_weights(file.rfilename)
    }
    return HubModel(hub_id, info.sha or "main", sizes, bool(info.gated))


def fetch(model: HubModel, meter: Meter, *, small: bool = False) -> Path:
    """Download a model into the hub's cache; what is there already is not fetched again.

    Args:
        model: what to fetch.
        meter: told of the bytes; a cancelled meter ends the work, a file that was begun goes on later.
        small: only the files that a model is checked by.

    Returns:
        The model's folder in the cache.

    Raises:
        HubUnreachable: the connection is gone.
        PairError: the model is gated, or a file is gone.
        Cancelled: the work was cancelled.
    """
    names = [name for name in sorted(model.sizes) if name in SMALL or not small]
    if "config.json" not in names:
        raise PairError(f"{model.hub_id} has no config.json; it is no model that can be loaded.")
    title = model.hub_id.rpartition("/")[2]
    stage = f"reading about {title}" if small else f"downloading {title}"
    meter.stage(stage, sum(model.sizes[name] for name in names))
    done = 0
    for name in names:
        path = Path(_fetch_file(model, name, _bar_class(meter, done)))
        done += model.sizes[name]
        meter.reach(done)
    return path.parent


def _fetch_file(model: HubModel, name: str, bar: type) -> str:
    try:
        return hf_hub_download(
            model.hub_id,
            name,
            revision=model.revision,
            token=_token(),
            cache_dir=constants.HF_HUB_CACHE,
            tqdm_class=bar,
        )
    except Cancelled:
        raise
    except Exception as error:
        raise _refusal(model.hub_id, error) from error


def _bar_class(meter: Meter, done: int) -> type:
    """A stand-in for tqdm that tells the meter, whose stage covers all files, of one file's bytes."""

    class Bar:
        def __init__(self, *_: Any, initial: int = 0, **__: Any) -> None:
            self.n, self.total = 0, None
            self.update(initial)

        def update(self, count: float | None = 1) -> None:
            self.n += int(count or 0)
            meter.reach(done + self.n)

        def __enter__(self) -> "Bar":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def __getattr__(self, name: str) -> Any:
            return lambda *_, **__: None  # what else a bar can do only concerns how it looks

    return Bar


def _is_weights(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in WEIGHTS)


def _token() -> str | bool:
    """``HF_TOKEN``, or False, which also keeps a token saved by a login from being sent."""
    return os.environ.get("HF_TOKEN") or False


def _refusal(hub_id: str, error: Exception) -> PairError:
    """What went wrong, in words that name no token and no address."""
    if isinstance(error, GatedRepoError):
        advice = (
            "The token in HF_TOKEN has no access to it yet: accept its terms on its page on the hub."
            if _token()
            else "Accept its terms on its page on the hub, make a token that may read it, and start the app "
            "with the token in the environment variable HF_TOKEN."
        )
        return PairError(f"{hub_id} is gated. {advice}")
    if isinstance(error, RepositoryNotFoundError):
        return PairError(f"The hub has no model {hub_id}, or it is private.")
    if isinstance(error, EntryNotFoundError) and isinstance(error, HfHubHTTPError):
        return PairError(f"{hub_id} lacks a file that it lists.")
    if isinstance(error, HfHubHTTPError):
        return PairError(f"The hub refused to hand out {hub_id} ({_status(error)}).")
    if isinstance(error, OfflineModeIsEnabled):
        return _unreachable(hub_id, "it is switched off by HF_HUB_OFFLINE")
    _silent.until = time.monotonic() + SILENCE
    return _unreachable(hub_id, "no answer")


def _unreachable(hub_id: str, reason: str) -> HubUnreachable:
    return HubUnreachable(
        f"{hub_id} is not on this machine and the hub cannot be reached ({reason}). Put the model's folder "
        "into SPECDEC_MODELS_DIR, or fetch it where there is a network."
    )


def _status(error: HfHubHTTPError) -> str:
    response = getattr(error, "response", None)
    return f"status {response.status_code}" if response is not None else "no reason given"
