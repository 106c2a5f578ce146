"""Making a pair: check it, fetch what is missing, read the weights, get it ready to run.

Weights are read once in a process and never written to; each run has caches of its own. Two
pairs with one target share it.
"""

import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

import torch

from specdec_core.decoding.cache import CachedModel
from specdec_core.models.checklist import WORKING, Checklist
from specdec_core.models.checks import fingerprint, shown_name, weight_bytes
from specdec_core.models.compiled import cannot_compile, traceable
from specdec_core.models.errors import PairError
from specdec_core.models.inspection import inspect
from specdec_core.models.lean import fastest, lean
from specdec_core.models.machine import (
    describe_machine,
    device_name,
    format_words,
    free_memory,
    give_back_memory,
)
from specdec_core.models.packed import pack_linears
from specdec_core.models.pair import LoadedModel, Pair
from specdec_core.models.progress import Meter
from specdec_core.models.reading import read_module, read_tokenizer, turn_to_read
from specdec_core.models.runner import runner_for
from specdec_core.models.shelf import Shelf, collect
from specdec_core.models.sources import obtain
from specdec_core.models.specs import ModelRef, PairSpec
from specdec_core.models.steps import make_steps
from specdec_core.models.trial import try_out
from specdec_core.models.vocabulary import Vocabulary, alone, shared, vocabulary_of
from specdec_core.traces.trace import ModelInfo, PairInfo

WARM_UP_TOKENS = (1, 16, 1, 2, 3, 5, 9, 1, 2, 3, 5, 9)
"""Sizes of the passes that a model makes before its first run, single tokens and blocks."""

WARM_UP_SECONDS = 5.0
"""Time after which a large model has warmed up enough."""

_models: WeakValueDictionary[tuple, LoadedModel] = WeakValueDictionary()
"""Models in memory, each for as long as a pair holds it."""


class Way(NamedTuple):
    """Where and how a pair runs.

    Attributes:
        device: where its weights lie.
        dtype: their number format.
        compiled: whether its passes are compiled.
    """

    device: torch.device
    dtype: torch.dtype
    compiled: bool = False


def make_pair(spec: PairSpec, way: Way, meter: Meter, kept: Shelf[Pair]) -> Pair:
    """A pair ready to run.

    Args:
        spec: which pair.
        way: where and how it runs.
        meter: told of every stage; a cancelled meter ends the work.
        kept: pairs that give way if memory runs short.

    Raises:
        PairError: it cannot run here; says why.
        Cancelled: the work was cancelled; nothing is left half done.
    """
    meter.stage("checking the pair")
    if way.compiled and (reason := cannot_compile(way.device)):
        raise PairError(reason)
    found = _checked(spec, way, meter, kept)
    folders = [obtain(model, meter) for model in spec.models]
    if not found.complete:
        meter.stage("checking what was fetched")
        _checked(spec, way, meter, kept)
    with turn_to_read(meter):
        _make_room(folders, way, kept)
        named = zip(spec.models, folders, strict=True)
        models = [_loaded(model, folder, way, meter) for model, folder in named]
    return _paired(spec, way, *models)


def held_bytes(kept: Shelf[Pair], device: torch.device) -> int:
    """Bytes of weights on a device that would come free if no pair were kept."""
    models = [model for pair in kept.kept() for model in (pair.target_model, pair.draft_model) if model]
    sizes = {
        model.module: model.info.parameters * model.module.dtype.itemsize
        for model in models
        if model.module.device.type == device.type
    }
    return sum(sizes.values())


def _checked(spec: PairSpec, way: Way, meter: Meter, kept: Shelf[Pair]) -> Checklist:
    """The pair's checklist, unless it refuses the pair."""
    reclaimable = held_bytes(kept, way.device)
    found = inspect(spec, way.device, meter, dtype=way.dtype, reclaimable=reclaimable)
    if item := found.refusal:
        raise PairError(f"{item.reason} {item.advice}".strip())
    return found


def _make_room(folders: list[Path], way: Way, kept: Shelf[Pair]) -> None:
    """Let kept pairs go until the weights to be read fit, the one unused for longest first."""
    new = [folder for folder in folders if (folder, way) not in _models]
    # Files hold two bytes a weight as a rule; what is too much here only frees a pair too early.
    needed = int(WORKING * sum(map(weight_bytes, new)) * way.dtype.itemsize / 2)

    def enough() -> bool:
        free = free_memory(way.device)
        return free is None or free >= needed

    if new and not enough():
        collect()
        kept.make_room(enough)


def _loaded(model: ModelRef, folder: Path, way: Way, meter: Meter) -> LoadedModel:
    """The model in memory, read now unless another pair has it."""
    found = _models.get((folder, way))
    if found is None:
        found = _models[folder, way] = _read(model, folder, way, meter)
    return found


def _read(model: ModelRef, folder: Path, way: Way, meter: Meter) -> LoadedModel:
    tokenizer = read_tokenizer(folder)
    module = read_module(folder, way.dtype, way.device, meter)
    parameters = module.num_parameters()
    # A lean model takes its weights before the layers change their layout in place.
    passes = lean(module, traceable if way.compiled else fastest)
    pack_linears(module)
    config = module.config.get_text_config()
    meter.stage(f"identifying {model.title}")
    info = ModelInfo(
        name=model.title if model.hub_id else shown_name(folder),
        parameters=parameters,
        layers=config.num_hidden_layers,
        context_length=config.max_position_embeddings,
        fingerprint=fingerprint(folder),
    )
    own = alone(vocabulary_of(info.name, tokenizer, config.vocab_size))
    loaded = LoadedModel(folder, module, passes, tokenizer, info, own.size, own.padding)
    try_out(info.name, CachedModel(passes, loaded.laws_on), module.dtype)
    if way.compiled:
        loaded = replace(loaded, steps=make_steps(passes, info.name, meter))
    _warm_up(loaded, meter)
    give_back_memory()  # the weights as they were read, before they were laid out anew
    return loaded


def _warm_up(model: LoadedModel, meter: Meter) -> None:
    """Make passes of the sizes that rounds have, so that no run pays for the first of each."""
    meter.stage(f"warming up {model.info.name}")
    sequence, end = model.sequence(), time.monotonic() + WARM_UP_SECONDS
    for count in WARM_UP_TOKENS:
        meter.check()
        if sequence.length + count <= sequence.context_length and time.monotonic() < end:
            sequence.feed([0] * count, keep=count)


def _paired(spec: PairSpec, way: Way, target: LoadedModel, draft: LoadedModel | None = None) -> Pair:
    if draft is not None:
        together = shared(_vocabulary(target), _vocabulary(draft))
        masked = together.padding + together.not_drafted
        draft = replace(draft, size=together.size, masked=masked, laws=target.laws_on, whole=draft)
    info = PairInfo(
        key=spec.key,
        title=spec.title,
        target=target.info,
        draft=draft.info if draft else None,
        vocab_size=target.size,
        dtype=format_words(target.module.dtype, way.compiled),
        licence=spec.licence,
    )
    machine = replace(describe_machine(target.device), device=" + ".join(map(device_name, target.devices)))
    return Pair(spec, info, target, draft, runner_for(str(target.device)), machine)


def _vocabulary(model: LoadedModel) -> Vocabulary:
    rows = model.module.config.get_text_config().vocab_size
    return vocabulary_of(model.info.name, model.tokenizer, rows)
