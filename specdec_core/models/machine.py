"""What this machine is: processor, device, threads and versions, to stand beside every speed."""

import ctypes
import os
import platform
import sys
from functools import cache
from pathlib import Path

import torch
import transformers

from specdec_core.traces.trace import Machine

CPUINFO = Path("/proc/cpuinfo")
MEMINFO = Path("/proc/meminfo")
CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")
CGROUP = Path("/sys/fs/cgroup")


def describe_machine(device: torch.device) -> Machine:
    """The machine that models on ``device`` run on."""
    return Machine(
        processor=processor_name(),
        device=device_name(device),
        threads=torch.get_num_threads(),
        torch=str(torch.__version__),
        transformers=str(transformers.__version__),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
    )


def device_name(device: torch.device) -> str:
    """``cpu``, or ``cuda:0`` and the name of the accelerator; of all of them for ``cuda`` alone."""
    if device.type != "cuda":
        return str(device)
    if device.index is None:
        return " + ".join(map(device_name, gpus()))
    return f"{device} {torch.cuda.get_device_name(device)}"


def gpus() -> list[torch.device]:
    """Every CUDA device."""
    return [torch.device(f"cuda:{number}") for number in range(torch.cuda.device_count())]


def default_device() -> torch.device:
    """CUDA where there is such a device, else Apple's GPU, else the processor."""
    if torch.cuda.is_available():
        return placed("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def placed(device: str | torch.device) -> torch.device:
    """The device of that name; ``cuda`` alone stays so only where a model may be spread over several.

    Example:
        >>> placed("cpu")
        device(type='cpu')
    """
    found = torch.device(device)
    return torch.device("cuda:0") if found == torch.device("cuda") and len(gpus()) < 2 else found


def default_dtype(device: torch.device) -> torch.dtype:
    """The number format of weights on a device: bfloat16 on a GPU that computes in it, else float32."""
    if device.type == "cuda" and torch.cuda.is_bf16_supported():
        return torch.bfloat16
    return torch.bfloat16 if device.type == "mps" else torch.float32


def dtypes(device: torch.device) -> list[torch.dtype]:
    """The number formats of weights that make sense on a device, the default one first."""
    usual = [torch.float32, torch.bfloat16]
    formats = usual if device.type == "cpu" else [torch.bfloat16, torch.float16, torch.float32]
    default = default_dtype(device)
    return [default, *(each for each in formats if each is not default)]


def format_words(dtype: torch.dtype, compiled: bool = False) -> str:
    """How a model's numbers and passes are told beside every speed.

    >>> format_words(torch.float32), format_words(torch.bfloat16, compiled=True)
    ('float32', 'bfloat16, compiled')
    """
    return str(dtype).removeprefix("torch.") + (", compiled" if compiled else "")


def law_device(device: torch.device) -> torch.device:
    """Where laws are computed and tokens drawn for models on a device: there, unless it lacks float64.

    Example:
        >>> law_device(torch.device("mps")), law_device(torch.device("cuda:1"))
        (device(type='cpu'), device(type='cuda', index=1))
    """
    return torch.device("cpu") if device.type == "mps" else device


def devices() -> list[torch.device]:
    """Every device that models can run on here, the default one first.

    Among several GPUs the first choice is all of them, ``cuda``: a model then takes as many as it needs.
    """
    several = [torch.device("cuda")] if len(gpus()) > 1 else []
    mps = [torch.device("mps")] if torch.backends.mps.is_available() else []
    return [*several, *gpus(), *mps, torch.device("cpu")]


def free_memory(device: torch.device) -> int | None:
    """Bytes that new models may take on a device; None where the system does not say.

    On a processor it is what Linux calls available, within the limit of the container.
    """
    if device == torch.device("cuda"):
        return sum(map(free_memory, gpus()))
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    if device.type == "mps":
        return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
    return min(filter(None, (_available(), _within_container())), default=None)


def give_back_memory() -> None:
    """Hand memory that is free inside this process back to the system, for whoever needs it next.

    Weights are freed in pieces among others, and glibc keeps such pieces: 0.7 of the 0.9 GB that
    a model of 135 million parameters had taken.
    """
    if sys.platform == "linux":
        # Other C libraries than glibc may lack the function, and need it less.
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _available() -> int | None:
    try:
        lines = MEMINFO.read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, ValueError, StopIteration):
        return None


def _within_container() -> int | None:
    """What the container's limit leaves; pages of files that can be dropped count as free."""
    try:
        limit, used = (int((CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        lines = (CGROUP / "memory.stat").read_text().splitlines()
        stale = next(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
        return limit - used + stale
    except (OSError, ValueError, StopIteration):  # ValueError: the limit is "max", so there is none
        return None


def set_threads() -> int:
    """Let torch use the physical cores, and return how many threads that are.

    Two threads on one core share its arithmetic units and slow small matrix products down.
    ``OMP_NUM_THREADS`` wins where it is set. Meant to be called once, when the app starts.
    """
    if not os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(usable_cores())
    return torch.get_num_threads()


def usable_cores() -> int:
    """Physical cores that this process may use: within its affinity and its container's quota."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limits = [allowed, *filter(None, (_physical_cores(), _quota()))]
    return max(1, min(limits))


@cache
def processor_name() -> str:
    """Model name of the processor as the system gives it."""
    for key in ("model name", "Hardware", "Processor"):
        for line in _cpuinfo():
            if line.partition(":")[0].strip() == key:
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine() or "unknown processor"


def _physical_cores() -> int | None:
    """Different (socket, core) pairs that Linux lists, or None where it lists none."""
    cores: set[tuple[str, str]] = set()
    socket = ""
    for line in _cpuinfo():
        key, _, value = (part.strip() for part in line.partition(":"))
        if key == "physical id":
            socket = value
        elif key == "core id":
            cores.add((socket, value))
    return len(cores) or None


def _quota() -> int | None:
    """Whole processors that the container's quota pays for, or None without a quota."""
    try:
        quota, period = CPU_QUOTA.read_text().split()[:2]
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):
        return None


def _cpuinfo() -> list[str]:
    try:
        return CPUINFO.read_text(errors="replace").splitlines()
    except OSError:
        return []
