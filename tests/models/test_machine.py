"""The machine is described, and torch gets as many threads as there are cores to use."""

import platform
import re
from pathlib import Path

import pytest
import torch

from specdec_core import decoding
from specdec_core.models import machine


def test_the_default_format_comes_first_among_those_that_make_sense():
    assert machine.dtypes(torch.device("cpu")) == [torch.float32, torch.bfloat16]
    assert machine.dtypes(torch.device("mps"))[0] is torch.bfloat16


def test_laws_are_computed_where_the_model_is_unless_it_has_no_float64():
    assert machine.law_device(torch.device("mps")) == torch.device("cpu")
    for name in ("cpu", "cuda:1", "meta"):
        assert machine.law_device(torch.device(name)) == torch.device(name)


def test_the_algorithm_names_no_device():
    """DESIGN: decoding knows nothing of devices' names."""
    for file in Path(decoding.__path__[0]).glob("*.py"):
        assert not re.search(r"\b(mps|cuda)\b", file.read_text(), re.IGNORECASE), file.name


@pytest.fixture
def threads():
    """Torch's threads, put back afterwards."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def processors(tmp_path, monkeypatch, text, quota="max 100000\n", allowed=8):
    (tmp_path / "cpuinfo").write_text(text)
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(machine, "CPU_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: set(range(allowed)), raising=False)


HYPERTHREADED = "".join(
    f"processor\t: {n}\nmodel name\t: Some  CPU @ 2\nphysical id\t: 0\ncore id\t\t: {n % 4}\n\n"
    for n in range(8)
)


def test_the_description_names_this_machine():
    found = machine.describe_machine(torch.device("cpu"))
    assert found.device == "cpu"
    assert type(found.torch) is str
    assert (found.torch, found.python) == (torch.__version__, platform.python_version())
    assert found.processor and found.threads == torch.get_num_threads()


def test_two_threads_of_one_core_count_once(tmp_path, monkeypatch):
    processors(tmp_path, monkeypatch, HYPERTHREADED)
    assert machine.usable_cores() == 4


def test_cores_of_two_sockets_are_different(tmp_path, monkeypatch):
    text = "".join(f"physical id : {socket}\ncore id : 0\n" for socket in range(2))
    processors(tmp_path, monkeypatch, text)
    assert machine.usable_cores() == 2


def test_a_container_gets_what_its_quota_pays_for(tmp_path, monkeypatch):
    processors(tmp_path, monkeypatch, HYPERTHREADED, quota="250000 100000\n")
    assert machine.usable_cores() == 2
    processors(tmp_path, monkeypatch, HYPERTHREADED, quota="50000 100000\n")
    assert machine.usable_cores() == 1


def test_affinity_limits_too(tmp_path, monkeypatch):
    processors(tmp_path, monkeypatch, HYPERTHREADED, allowed=3)
    assert machine.usable_cores() == 3


def test_a_system_that_lists_nothing_still_has_a_core(tmp_path, monkeypatch):
    processors(tmp_path, monkeypatch, "", quota="nonsense", allowed=1)
    assert machine.usable_cores() == 1


def test_the_environment_wins(monkeypatch, threads):
    torch.set_num_threads(1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(machine, "usable_cores", lambda: 7)
    assert machine.set_threads() == 1


def test_without_it_all_usable_cores_are_used(monkeypatch, threads):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(machine, "usable_cores", lambda: 2)
    assert machine.set_threads() == 2


def test_the_processor_has_its_model_name(tmp_path, monkeypatch):
    processors(tmp_path, monkeypatch, HYPERTHREADED)
    machine.processor_name.cache_clear()
    assert machine.processor_name() == "Some CPU @ 2"
    machine.processor_name.cache_clear()
