"""From a pair's key to two loaded models that every session shares.

Models come from local folders in Hugging Face format: safetensors only, no code from the
folder, no network. Weights are loaded once in a process and never written to; each run has
caches of its own. A few models and pairs stay loaded, the least recently used ones go first.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

from specdec_core.models.checks import check_folder, check_pair, fingerprint
from specdec_core.models.errors import PairError
from specdec_core.models.lean import lean
from specdec_core.models.machine import default_device, describe_machine
from specdec_core.models.packed import pack_linears
from specdec_core.models.pair import LoadedModel, Pair
from specdec_core.models.registry import PAIRS, PairSpec
from specdec_core.models.runner import runner_for
from specdec_core.traces.trace import ModelInfo, PairInfo

MODELS_KEPT = 4
PAIRS_KEPT = 4
WARM_UP_TOKENS = (1, 16, 1, 2, 3, 5, 9, 1, 2, 3, 5, 9)
"""Sizes of the passes that a model makes before its first run, single tokens and blocks."""

T = TypeVar("T")


class _Recent(Generic[T]):
    """The few most recently used results of an expensive function, made one at a time."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._items: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The item of ``key``, made if need be; others that ask meanwhile wait for it."""
        with self._lock:
            if key not in self._items:
                self._items[key] = make()
            self._items.move_to_end(key)
            while len(self._items) > self._size:
                self._items.popitem(last=False)
            return self._items[key]


_models: _Recent[LoadedModel] = _Recent(MODELS_KEPT)
_pairs: _Recent[Pair] = _Recent(PAIRS_KEPT)


def load_pair(key: str, device: str | torch.device | None = None) -> Pair:
    """The pair of that key, ready to run; loaded by the first who asks, shared with all others.

    Args:
        key: a key of ``PAIRS``.
        device: where it runs; the first CUDA device or else the processor if left out.

    Raises:
        PairError: there is no such pair, a file is missing or unreadable, or the two models
            do not belong together.
    """
    if key not in PAIRS:
        raise PairError(f"There is no pair {key!r}. Known pairs: {', '.join(PAIRS)}.")
    return load_spec(PAIRS[key], device)


def load_spec(spec: PairSpec, device: str | torch.device | None = None) -> Pair:
    """Like ``load_pair``, for a pair described by the caller."""
    place = torch.device(device) if device is not None else default_device()
    return _pairs.get((spec, str(place)), lambda: _make_pair(spec, place))


def _make_pair(spec: PairSpec, device: torch.device) -> Pair:
    target = _models.get((spec.target_dir, str(device)), lambda: _load_model(spec.target_dir, device))
    draft = _models.get((spec.draft_dir, str(device)), lambda: _load_model(spec.draft_dir, device))
    check_pair(target, draft)
    info = PairInfo(
        key=spec.key,
        title=spec.title,
        target=target.info,
        draft=draft.info,
        vocab_size=target.module.config.get_text_config().vocab_size,
        dtype=str(target.module.dtype).removeprefix("torch."),
        licence=spec.licence,
    )
    return Pair(spec, info, target, draft, runner_for(str(device)), describe_machine(device))


def _load_model(folder: Path, device: torch.device) -> LoadedModel:
    check_folder(folder)
    module, tokenizer = _read(folder)
    parameters = module.num_parameters()
    module.eval().requires_grad_(False).to(device)
    passes = lean(module)  # before the layers change their layout in place
    pack_linears(module)
    config = module.config.get_text_config()
    info = ModelInfo(
        name=folder.name,
        parameters=parameters,
        layers=config.num_hidden_layers,
        context_length=config.max_position_embeddings,
        fingerprint=fingerprint(folder),
    )
    model = LoadedModel(folder, module, passes, tokenizer, info)
    _warm_up(model)
    return model


def _read(folder: Path) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model in float32 and its tokenizer; nothing is fetched and no code is run."""
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        with _silence():
            tokenizer = AutoTokenizer.from_pretrained(folder, **local)
            module = AutoModelForCausalLM.from_pretrained(
                folder, use_safetensors=True, dtype=torch.float32, **local
            )
    except Exception as error:
        # transformers raises whatever the file at fault makes it raise; all of it means the same here.
        reason = str(error).strip().split("\n")[0]
        raise PairError(f"The model in {folder} cannot be read: {reason}") from error
    return module, tokenizer


@contextmanager
def _silence() -> Iterator[None]:
    """Without transformers' progress bars: a few megabytes take no time worth showing."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _warm_up(model: LoadedModel) -> None:
    """Make passes of the sizes that rounds have, so that no run pays for the first of each."""
    sequence = model.sequence()
    for count in WARM_UP_TOKENS:
        if sequence.length + count <= sequence.context_length:
            sequence.feed([0] * count, keep=count)
