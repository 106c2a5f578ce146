"""Compiled passes write what the others write, forget what is rewound, and say where they cannot be had."""

import time
from dataclasses import replace

import pytest
import torch

from specdec_core.decoding.types import RoundSettings, Sampling
from specdec_core.experiments.live import LiveRun
from specdec_core.models import lean
from specdec_core.models.compiled import CompiledSteps, cannot_compile
from specdec_core.models.errors import PairError
from specdec_core.models.loading import begin, load_spec
from specdec_core.models.progress import Cancelled, Meter
from tests.models.architectures import random_model
from tests.models.tiny import pair_spec

PROMPT = "Once upon a time there was a king, and once upon a time there was a queen, and once upon"
CPU = torch.device("cpu")
with_compiler = pytest.mark.skipif(bool(cannot_compile(CPU)), reason=str(cannot_compile(CPU)))


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    """A target of one layer alone, so that little is compiled; it is drafted for by copying."""
    both = pair_spec(tmp_path_factory.mktemp("pair"), context=512)
    return replace(both, target=both.draft, draft=None)


@pytest.fixture(scope="module")
def pair(spec):
    return load_spec(spec, "cpu")


@pytest.fixture(scope="module")
def fast(spec):
    """Compiled with tables of places for far fewer tokens than are read later, so that they grow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lean, "PLACES", 64)
        return compiled_pair(spec)


def compiled_pair(spec):
    stages, loading = set(), begin(spec, "cpu", compiled=True)
    while not loading.done:
        stages.add(loading.progress.stage)
        time.sleep(0.05)
    assert any("compiling" in stage for stage in stages)
    return loading.pair()


def finished(pair, sampling):
    live = LiveRun.start(pair, PROMPT, seed=3, max_new_tokens=24)
    while not live.ended:
        live.next_round(RoundSettings(3, sampling))
        if len(live.trace.rounds) == 2:
            live.rest()
    return live.trace


@with_compiler
@pytest.mark.parametrize("sampling", [Sampling(0.0), Sampling(0.9)], ids=["greedy", "sampled"])
def test_a_compiled_run_is_the_same_run(pair, fast, sampling):
    """Tokens and draws the same, p within 1e-4, also after its caches were given back."""
    one, other = finished(pair, sampling), finished(fast, sampling)
    assert one.emitted == other.emitted
    for ours, theirs in zip(one.rounds, other.rounds, strict=True):
        assert ours.places.p == pytest.approx(theirs.places.p, abs=1e-4)
        assert (ours.places.accept_u == theirs.places.accept_u).all()
    assert (one.pair.dtype, other.pair.dtype) == ("float32", "float32, compiled")


@with_compiler
def test_any_feeding_and_rewinding_gives_the_same_logits_and_memory_is_given_back(pair, fast):
    assert len(fast.target_model.passes.reserve(1)[0]) == 64
    ids = torch.randint(0, 300, (300,), generator=torch.Generator().manual_seed(2)).tolist()
    whole, model = pair.target().feed(ids, keep=300), fast.target()
    with torch.compiler.set_stance("fail_on_recompile"):  # rooms and sizes that were not met before
        steps = [(0, 100, 100), (100, 105, 102), (102, 103, 103), (103, 300, 40), (40, 49, 49)]
        for start, end, rewound in steps:
            rows = model.feed(ids[start:end], keep=end - start)
            assert torch.allclose(rows, whole[start:end], atol=1e-4)
            model.rewind(rewound)
    assert model.nbytes > 0
    other = fast.target()
    assert other.length == 0 and torch.allclose(other.feed(ids[:3], 2), whole[1:3], atol=1e-4)
    model.rewind(0)
    assert model.nbytes == 0 and model.length == 0
    with pytest.raises(ValueError, match="cannot rewind"):
        model.rewind(1)


def test_where_there_is_no_compiler_it_is_refused_in_words_before_anything_is_read(spec, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(PairError, match="needs a C.. compiler; no-such-compiler is not installed"):
        load_spec(replace(spec, key="never loaded"), "cpu", compiled=True)
    assert cannot_compile(torch.device("cuda:0")) is None  # captured there, without a compiler
    assert "not for mps" in cannot_compile(torch.device("mps"))


def test_a_model_that_the_compiler_does_not_understand_is_refused_in_words():
    steps = CompiledSteps(random_model("gpt2", 48, layers=1, seed=1), "Odd")
    steps._compiled = lambda *_: 1 / 0
    with pytest.raises(PairError, match="Odd cannot be compiled .ZeroDivisionError."):
        steps.compile(Meter())
    meter = Meter()
    meter.cancel()
    with pytest.raises(Cancelled):
        steps.compile(meter)
