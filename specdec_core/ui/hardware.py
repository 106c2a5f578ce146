"""The devices and number formats that a visitor can choose by hand, once torch is there to say."""

from dataclasses import dataclass

from specdec_core.ui.loading import torch_is_there

BY_ITSELF = ""
"""Choice that leaves device or number format to the app."""


@dataclass(frozen=True)
class Device:
    """A device that models can run on here.

    Attributes:
        name: as torch writes it, such as ``cuda:0``.
        title: name on screen, with its free memory.
        dtypes: number formats, as torch writes them; the one taken by itself first.
    """

    name: str
    title: str
    dtypes: tuple[str, ...]


def devices() -> tuple[Device, ...]:
    """The devices of this machine, the one taken by itself first; () until torch has been imported."""
    if not torch_is_there():
        return ()
    from specdec_core.models.checklist import gib
    from specdec_core.models.machine import device_name, devices, dtypes, free_memory, processor_name

    found = []
    for device in devices():
        name = processor_name() if device.type == "cpu" else device_name(device)
        free = free_memory(device)
        memory = "free memory unknown" if free is None else f"{gib(free)} free"
        formats = tuple(str(each).removeprefix("torch.") for each in dtypes(device))
        found.append(Device(str(device), f"{device} · {name} · {memory}", formats))
    return tuple(found)


def known(device: str, dtype: str) -> tuple[str, str]:
    """Device and number format if this machine has them, else "" for those that it has not."""
    if not (device or dtype):
        return BY_ITSELF, BY_ITSELF
    named = {each.name: each for each in devices()}
    if device not in named:
        device = BY_ITSELF
    offered = named[device].dtypes if device else next(iter(devices()), Device("", "", ())).dtypes
    return device, dtype if dtype in offered else BY_ITSELF


def why_not_compiled(device: str) -> str:
    """Why passes on a device cannot be compiled here, as a sentence, or ""; the default device for ""."""
    if not torch_is_there():
        return "Whether passes can be compiled is known once torch has been imported."
    import torch

    from specdec_core.models.compiled import cannot_compile
    from specdec_core.models.machine import default_device

    return cannot_compile(torch.device(device) if device else default_device()) or ""
