"""Lowered copies of a target: nearly the same laws from fewer bytes, made once and freed with it."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from specdec_core.decoding.cache import CachedModel
from specdec_core.models import lowered as lowering
from specdec_core.models.lean import LeanLlama
from specdec_core.models.loading import load_spec
from specdec_core.models.lowered import (
    HalfLinear,
    Int8Linear,
    cannot_lower,
    is_lowered,
    lower_linears,
    lowered,
)
from specdec_core.models.progress import Cancelled, Meter
from specdec_core.models.reading import read_module, turn_to_read
from tests.models import tiny
from tests.models.architectures import CONFIGS, random_model

V = 48
IDS = torch.randint(0, V, (40,), generator=torch.Generator().manual_seed(2)).tolist()


def overlaps(one, other):
    return torch.minimum(one.softmax(-1), other.softmax(-1)).sum(-1)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize(("format_", "least"), [("bfloat16", 0.97), ("int8", 0.93)])
def test_a_lowered_model_says_nearly_what_the_model_says(name, format_, least):
    module = random_model(name, V, layers=2, seed=3)
    expected = CachedModel(module).feed(IDS, keep=len(IDS))
    module.to(torch.bfloat16)
    assert lower_linears(module, format_) > 0
    model = CachedModel(module)
    rows = [model.feed(IDS[:30], keep=30), *(model.feed([token], keep=1) for token in IDS[30:])]
    assert overlaps(torch.cat(rows), expected).mean() > least


@pytest.mark.parametrize("rows", [1, 2, 3, 9, 64])
@pytest.mark.parametrize("bias", [True, False])
def test_lowered_layers_compute_the_product_they_stand_for(rows, bias):
    torch.manual_seed(0)
    linear, x = nn.Linear(48, 21, bias=bias), torch.randn(2, rows, 48)
    exact, half = linear(x), x.to(torch.bfloat16)
    scale = exact.abs().max()
    layers = HalfLinear(linear.weight.bfloat16(), linear.bias.bfloat16() if bias else None), Int8Linear(
        linear.weight, linear.bias
    )
    for layer in layers:
        product = layer(half)
        assert product.dtype is torch.bfloat16 and product.shape == exact.shape
        assert ((product.float() - exact).abs().max() / scale) < 0.03


def test_int8_weights_take_a_byte_each_and_use_their_whole_range():
    layer = Int8Linear(torch.randn(8, 32), None)
    assert layer.weight.element_size() == 1
    assert (layer.weight.abs().amax(dim=1) == 127).all()


def test_a_row_of_zeros_stays_zero():
    layer = Int8Linear(torch.zeros(4, 16), None)
    assert (layer(torch.ones(1, 16, dtype=torch.bfloat16)) == 0).all()


def test_layers_that_the_int8_product_cannot_read_stay_as_they_are():
    """torch gives wrong numbers for inputs that fill no whole strip, instead of an error."""
    module = nn.Sequential(nn.Linear(37, 8), nn.Linear(32, 8)).to(torch.bfloat16)
    lower_linears(module, "int8")
    assert not isinstance(module[0], Int8Linear) and isinstance(module[1], Int8Linear)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return load_spec(tiny.pair_spec(tmp_path_factory.mktemp("pair")))


@pytest.mark.parametrize("format_", lowering.FORMATS)
def test_a_copy_is_made_once_and_shared(pair, format_):
    copy = lowered(pair.target_model, format_)
    assert lowered(pair.target_model, format_) is copy
    assert copy.module.dtype is torch.bfloat16 and pair.target_module.dtype is torch.float32
    assert format_ in copy.info.name
    rows = copy.sequence().feed([1, 2, 3], keep=3)
    assert rows.dtype is torch.float32
    assert overlaps(rows, pair.target().feed([1, 2, 3], keep=3)).mean() > 0.9


def test_making_a_copy_tells_stages_and_bytes_and_can_be_cancelled_in_each(pair):
    class Watched(Meter):
        def __init__(self, end=""):
            super().__init__()
            self.seen, self.end = {}, end

        def check(self):
            if self.end and self.progress.stage.startswith(self.end):
                self.cancel()
            super().check()
            self.seen[self.progress.stage.split()[0]] = self.progress

    for stage in ("reading", "lowering", "warming"):
        target = lowering.replace(pair.target_model)
        with pytest.raises(Cancelled, match=stage):
            lowered(target, "int8", Watched(stage))
        assert not is_lowered(target, "int8")
    meter = Watched()
    assert lowered(target, "int8", meter) and is_lowered(target, "int8")
    done = meter.seen["lowering"]
    assert 0.5 * done.bytes_total < done.bytes_done <= done.bytes_total


def test_a_copy_waits_until_no_other_weights_are_read(pair):
    meter, target = Meter(), lowering.replace(pair.target_model)
    with turn_to_read(Meter()), ThreadPoolExecutor(1) as pool:
        copy = pool.submit(lowered, target, "int8", meter)
        while not meter.progress.stage.startswith("waiting"):
            assert not copy.done()
        meter.cancel()
        with pytest.raises(Cancelled):
            copy.result(30)


def test_a_copy_is_freed_with_its_target(tmp_path):
    pair = load_spec(tiny.pair_spec(tmp_path))
    target = lowering.replace(pair.target_model)
    copy = weakref.ref(lowered(target, "int8").passes)
    assert copy() is not None
    del target
    gc.collect()
    assert copy() is None


def test_a_target_in_bfloat16_is_not_lowered_to_bfloat16(pair):
    module = random_model("llama", V, layers=1, seed=0).to(torch.bfloat16)
    target = lowering.replace(pair.target_model, module=module)
    assert "bfloat16 already" in cannot_lower(target, "bfloat16")
    with pytest.raises(ValueError, match="bfloat16 already"):
        lowered(target, "bfloat16")
    assert cannot_lower(target, "int8") is None


def test_a_lean_copy_keeps_no_second_one(pair):
    copy = lowered(pair.target_model, "int8")
    assert isinstance(copy.passes, LeanLlama)
    assert {parameter.device.type for parameter in copy.module.parameters()} == {"meta"}
    assert next(copy.passes.parameters()).device.type == "cpu"


@pytest.mark.parametrize("format_", lowering.FORMATS)
def test_a_lean_copy_says_what_the_lowered_module_says(pair, format_):
    module = read_module(pair.target_model.folder, torch.bfloat16)
    lower_linears(module, format_)
    rows = lowered(pair.target_model, format_).sequence().feed(IDS, keep=len(IDS))
    assert overlaps(rows, CachedModel(module).feed(IDS, keep=len(IDS))).mean() > 0.97


def test_a_copy_that_does_not_fit_or_cannot_be_multiplied_is_refused_in_words(pair, monkeypatch):
    target = lowering.replace(pair.target_model)
    monkeypatch.setattr(lowering, "free_memory", lambda device: 1_000)
    assert "0.0 GB are free" in cannot_lower(target, "int8")
    monkeypatch.setattr(lowering, "multiplies_int8", lambda device_type: False)
    assert "no product with int8 weights on cpu" in cannot_lower(target, "int8")
