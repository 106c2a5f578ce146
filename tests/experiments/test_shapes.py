"""Random pairs for times: as large as they say, drafts kept as often as they were told."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from specdec_core.decoding.cache import CachedModel
from specdec_core.experiments import shape_bench, shapes
from specdec_core.experiments.shape_bench import ACCEPTANCES, SIZES, bench_shape, bench_shapes
from specdec_core.experiments.shapes import ON_CPU, ON_GPU, Shape, ShapedPair, forced, random_llama
from specdec_core.models.errors import PairError

TINY = ShapedPair("tiny", Shape(2, 32, 48, 4, 2), Shape(1, 16, 24, 2, 1), vocab_size=100)
CPU = torch.device("cpu")


@pytest.mark.parametrize("shape", [TINY.target, TINY.draft])
def test_a_shape_knows_how_many_weights_it_has(shape):
    made = random_llama(shape, 100, CPU, torch.float64)  # float64 layers stay as they are
    assert made.num_parameters() == shape.parameters(100)


def test_the_shapes_are_as_large_as_their_titles_say():
    for pair in (*ON_GPU, *ON_CPU):
        sizes = [float(word) for word in pair.title.replace("←", "").split() if word != "B"]
        counts = [shape.parameters(pair.vocab_size) / 1e9 for shape in (pair.target, pair.draft)]
        assert counts == pytest.approx(sizes, rel=0.15)


def test_random_weights_give_finite_logits_that_depend_on_the_text():
    made = random_llama(TINY.target, 100, CPU, torch.float32)
    with torch.inference_mode():
        one, other = (made(torch.tensor([ids])).logits[0, -1] for ids in ([1, 2, 3], [3, 2, 1]))
    assert one.isfinite().all() and not torch.allclose(one, other)


def test_a_forced_rule_keeps_the_share_it_was_told():
    u = np.random.default_rng(0).random(20_000)
    q = torch.full((20_000, 2), 0.5, dtype=torch.float64)
    kept = forced(0.7).accept(torch.zeros(20_000, dtype=torch.long), q, q, u, u)
    assert float(kept.double().mean()) == pytest.approx(0.7, abs=0.01)


def test_a_pair_is_measured_in_the_format_and_way_that_were_asked_for(monkeypatch):
    seen = []

    def faster(module, title, meter):
        seen.append((module.dtype, title))
        return SimpleNamespace(sequence=lambda laws: CachedModel(module, laws))

    monkeypatch.setattr(shapes, "make_steps", faster)
    monkeypatch.setattr(shape_bench, "ON_CPU", (TINY,))
    monkeypatch.setattr(shape_bench, "cannot_compile", lambda device: None)
    (result,) = bench_shapes(CPU, torch.bfloat16, compiled=True)
    assert result.dtype == "bfloat16, compiled"
    assert [dtype for dtype, _ in seen] == [torch.bfloat16] * 2 and "parameters" in seen[0][1]


def test_what_cannot_be_compiled_is_refused_before_anything_is_made(monkeypatch):
    monkeypatch.setattr(shape_bench, "cannot_compile", lambda device: "There is no compiler.")
    with pytest.raises(PairError, match="no compiler"):
        next(bench_shapes(CPU, compiled=True))


def test_a_pair_is_measured_whole():
    result = bench_shape(TINY, CPU, torch.float32)
    assert result.costs.tokens == SIZES and result.waits is None
    assert [run.acceptance for run in result.runs] == list(ACCEPTANCES)
    for run in result.runs:
        assert 1 <= run.tokens_per_round <= run.gamma + 1
        assert run.measured > 0 and run.predicted > 0
