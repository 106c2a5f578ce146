"""Moments on a CUDA device, told by events in its stream of work."""

from time import perf_counter

import torch

from specdec_core.decoding.clock import Clock, Moment, host_clock


def clock_for(device: torch.device) -> Clock:
    """What notes moments on a device; the host's own clock where calls return when they are done."""
    return (lambda: _noted(device)) if device.type == "cuda" else host_clock


def _noted(device: torch.device) -> Moment:
    noted = _event(device)

    def at() -> float:
        now = _event(device)
        now.synchronize()
        return perf_counter() - noted.elapsed_time(now) / 1e3

    return at


def _event(device: torch.device) -> torch.cuda.Event:
    event = torch.cuda.Event(enable_timing=True)
    event.record(torch.cuda.current_stream(device))
    return event
