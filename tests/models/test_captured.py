"""Captured passes: the logic around CUDA graphs, with graphs that repeat operations on the processor."""

import gc

import pytest
import torch

from specdec_core.decoding.cache import CachedModel
from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.types import RoundSettings, RunSettings, Sampling
from specdec_core.drafting.model import ModelDrafter
from specdec_core.models import captured
from specdec_core.models.captured import CapturedSteps
from specdec_core.models.errors import PairError
from specdec_core.models.fixed import LONGEST
from specdec_core.models.progress import Cancelled, Meter
from specdec_core.models.steps import make_steps
from tests.models.architectures import CONFIGS, CONTEXT, random_model
from tests.models.tape import capture

VOCABULARY = 48
IDS = torch.randint(VOCABULARY, (CONTEXT,), generator=torch.Generator().manual_seed(2)).tolist()


@pytest.fixture(scope="module", params=CONFIGS)
def module(request):
    return random_model(request.param, VOCABULARY, layers=2, seed=1)


@pytest.fixture(scope="module")
def steps(module):
    """Graphs over a small and a large room, and a desk that is smaller than the context."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(captured, "SHORT", 100)
        patch.setattr(captured, "CACHED_TOKENS", 220)
        made = CapturedSteps(module, "Tiny", capture)
        made.compile(Meter())
        yield made


def test_every_number_of_tokens_has_a_graph_in_each_room_that_gives_the_ordinary_logits(module, steps):
    whole = CachedModel(module).feed(IDS, keep=CONTEXT)
    assert set(steps._graphs) == {(room, n) for room in (100, 220) for n in range(1, LONGEST + 1)}
    model = steps.sequence()
    for start, end in [(0, 1), (1, 90), (90, 95), (95, 113), (113, 114), (114, 210), (210, 219), (219, 256)]:
        rows = model.feed(IDS[start:end], keep=end - start)
        assert torch.allclose(rows, whole[start:end], atol=1e-4), (start, end)
        if end < CONTEXT:
            model.feed([7], keep=1)
        model.rewind(end)


def test_sequences_take_turns_at_the_desk_and_lose_nothing(module, steps):
    whole = CachedModel(module).feed(IDS[:60], keep=60)
    other = CachedModel(module).feed(IDS[60:120], keep=60)
    one, two = steps.sequence(), steps.sequence()
    kept = []
    for start in range(0, 60, 4):
        kept.append(one.feed(IDS[start : start + 4], keep=4))
        assert torch.allclose(two.feed(IDS[60 + start : 64 + start], 4), other[start : start + 4], atol=1e-4)
        assert one.nbytes > 0 == two.nbytes
    assert torch.allclose(torch.cat(kept), whole, atol=1e-4)  # none was overwritten by a later pass
    one.rewind(0)
    assert one.nbytes == 0
    with pytest.raises(ValueError, match="cannot rewind"):
        one.rewind(1)


def test_a_run_that_is_gone_is_not_put_away(steps):
    one, two = steps.sequence(), steps.sequence()
    one.feed(IDS[:9], keep=1)
    del one
    gc.collect()
    assert steps._desk._holder() is None
    assert two.feed(IDS[:3], keep=3).shape == (3, VOCABULARY)


def test_a_target_that_drafts_for_itself_keeps_everything(module, steps):
    """Both of its sequences lie on one desk by turns, and the text is that of ordinary passes."""
    run = RunSettings(tuple(IDS[:5]), max_new_tokens=40, seed=4)
    settings = RoundSettings(3, Sampling(0.8))
    plain = Decoder(CachedModel(module), ModelDrafter(CachedModel(module), "itself"), run)
    fast = Decoder(steps.sequence(), ModelDrafter(steps.sequence(), "itself"), run)
    for decoder in (plain, fast):
        decoder.prefill()
        rounds = list(decoder.rounds(settings))
        assert all(each.accepted == each.tested for each in rounds)
    assert plain.ids == fast.ids


def frozen(work):
    """A graph that holds the place in the text as a number."""
    result = work()
    return lambda: result


def broken(work):
    raise RuntimeError("operation not permitted when stream is capturing")


def reading(work):
    """A pass for which the host has to read a value."""
    return capture(lambda: work() * work().sum().item())


def undefined(work):
    return lambda: work() / 0


@pytest.mark.parametrize(
    ("recorder", "words"),
    [
        (reading, "Odd cannot be captured as CUDA graphs .HostRead.. Run it as it is"),
        (broken, "Odd cannot be captured as CUDA graphs .RuntimeError.. Run it as it is"),
        (frozen, "Odd cannot be captured as CUDA graphs: they give other logits"),
        (undefined, "Odd cannot be captured as CUDA graphs: they give other logits"),
    ],
)
def test_a_driver_that_captures_wrongly_is_refused_in_words(recorder, words):
    with pytest.raises(PairError, match=words):
        CapturedSteps(random_model("llama", VOCABULARY, layers=1, seed=1), "Odd", recorder).compile(Meter())


def test_capturing_can_be_cancelled():
    meter = Meter()
    meter.cancel()
    with pytest.raises(Cancelled):
        CapturedSteps(random_model("llama", VOCABULARY, layers=1, seed=1), "Odd", frozen).compile(meter)


def test_a_model_on_several_devices_is_refused_in_words():
    spread = random_model("llama", VOCABULARY, layers=2, seed=1)
    spread.lm_head.to("meta")
    with pytest.raises(PairError, match="Odd lies on several GPUs, which no graph spans"):
        make_steps(spread, "Odd", Meter())
