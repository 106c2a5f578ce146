"""Models go onto one GPU where one holds them, else over several: shown with made-up memory."""

import pytest
import torch
from transformers import AutoModelForCausalLM

from specdec_core.models import machine, reading
from specdec_core.models.errors import PairError
from specdec_core.models.placement import SHARE, placement
from specdec_core.models.reading import read_module
from tests.models import tiny

MODULE = tiny.model(320, layers=6, seed=1, tied=False)
BYTES = sum(weight.nbytes for weight in MODULE.parameters())
WHOLE = int(BYTES / SHARE) + 8


def place(*free, dtype=torch.float32):
    return placement(MODULE.config, dtype, dict(enumerate(free)))


def test_one_gpu_takes_all_of_a_model_that_it_holds_and_the_first_such_one():
    assert place(WHOLE, 2 * WHOLE) == {"": 0}
    assert place(WHOLE // 2, WHOLE) == {"": 1}
    assert place(WHOLE // 2 + 8, WHOLE // 4, dtype=torch.bfloat16) == {"": 0}


def test_a_larger_one_is_spread_layer_by_layer_in_order():
    found = place(int(0.7 * WHOLE), int(0.7 * WHOLE))
    assert set(found.values()) == {0, 1}
    layers = [number for name, number in found.items() if name.startswith("model.layers.")]
    assert len(layers) == 6 and layers == sorted(layers)
    assert found["model.embed_tokens"] == 0 and found["lm_head"] == 1


def test_one_that_is_too_large_for_all_is_refused():
    with pytest.raises(PairError, match="all GPUs together hold"):
        place(WHOLE // 3, WHOLE // 3)


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Some GPU")


def test_all_gpus_are_the_default_among_several_and_the_only_one_is_named(two_gpus, monkeypatch):
    assert str(machine.default_device()) == "cuda" and list(map(str, machine.devices()))[:3] == [
        "cuda",
        "cuda:0",
        "cuda:1",
    ]
    assert machine.device_name(torch.device("cuda")) == "cuda:0 Some GPU + cuda:1 Some GPU"
    assert str(machine.placed("cuda:1")) == "cuda:1"
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10 + device.index, 100))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 0)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 0)
    assert machine.free_memory(torch.device("cuda")) == 21
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert str(machine.default_device()) == "cuda:0" == str(machine.placed("cuda"))


@pytest.mark.parametrize(("free", "parts"), [(int(0.7 * WHOLE), 2), (WHOLE, 0)])
def test_reading_hands_the_map_on_only_where_it_spreads(two_gpus, monkeypatch, tmp_path, free, parts):
    seen = []

    def read(folder, *, device_map=None, **options):
        seen.append(device_map)
        return MODULE

    tiny.save(tmp_path, tiny.model(320, layers=6, seed=1, tied=False), tiny.tokenizer())
    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", read)
    monkeypatch.setattr(reading, "free_memory", lambda device: free)
    monkeypatch.setattr(type(MODULE), "to", lambda self, device: seen.append(device) or self)
    read_module(tmp_path, torch.float32, "cuda")
    assert len(set((seen[0] or {}).values())) == parts
    assert seen[1:] == ([] if parts else [0])
