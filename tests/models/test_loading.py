"""Pairs load once for all who wait, or are refused in words a person can use."""

import gc
import hashlib
import json
import shutil
import threading
import time
import weakref
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from specdec_core.models import assembling, loading
from specdec_core.models.errors import PairError
from specdec_core.models.loading import begin, load_pair, load_spec
from specdec_core.models.progress import Cancelled
from specdec_core.models.registry import folder_pair
from specdec_core.models.shelf import Shelf

from . import tiny_gguf
from .tiny import model, pair_spec, save, tokenizer


@pytest.fixture(autouse=True)
def nothing_kept():
    yield
    loading._shelf.clear()


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return pair_spec(tmp_path_factory.mktemp("pair"))


@pytest.fixture
def copied(spec, tmp_path):
    """The same pair in folders of its own, to be damaged."""
    shutil.copytree(spec.target.folder, tmp_path / "target")
    shutil.copytree(spec.draft.folder, tmp_path / "draft")
    return folder_pair("copied", "Copied", "", tmp_path / "target", tmp_path / "draft", "Apache-2.0")


def test_a_pair_says_what_it_is(spec):
    pair = load_spec(spec, "cpu")
    weights = (spec.target.folder / "model.safetensors").read_bytes()
    assert pair.info.target.fingerprint == hashlib.sha256(weights).hexdigest()
    assert (pair.info.target.layers, pair.info.draft.layers) == (2, 1)
    saved = load_file(spec.target.folder / "model.safetensors")
    assert pair.info.target.parameters == sum(tensor.numel() for tensor in saved.values())
    assert (pair.info.dtype, pair.info.vocab_size) == ("float32", len(pair.tokenizer))
    assert pair.end_ids == {0}
    assert pair.machine.device == "cpu"


def test_weights_are_float32_frozen_and_shared_while_caches_are_not(spec):
    pair = load_spec(spec, "cpu")
    first, second = pair.target(), pair.target()
    first.feed([1, 2, 3], keep=1)
    assert (first.length, second.length) == (3, 0)
    assert all(p.dtype is torch.float32 and not p.requires_grad for p in pair.target_module.parameters())
    assert not pair.target_module.training


def test_the_number_format_is_the_one_asked_for_else_the_pairs_own_else_the_devices(spec):
    own = replace(spec, dtype="bfloat16")
    assert load_spec(own, "cpu").info.dtype == "bfloat16"
    assert load_spec(own, "cpu", torch.float32).info.dtype == "float32"
    assert load_pair("embedded", "cpu").spec.dtype == "float32"


def test_the_second_visitor_gets_the_same_pair(spec):
    assert load_spec(spec, "cpu") is load_spec(spec, "cpu")


def test_two_pairs_with_one_target_load_it_once(spec):
    other = replace(spec, key="other", draft=spec.target)
    assert load_spec(other, "cpu").target_module is load_spec(spec, "cpu").target_module
    assert load_spec(other, "cpu").draft_module is load_spec(spec, "cpu").target_module


@pytest.fixture
def gate(monkeypatch):
    """Reading that goes on only once the gate is open, and counts what was read."""

    class Gate:
        def __init__(self):
            self.reads, self.opened, self.reached = [], threading.Event(), threading.Event()

        def read(self, folder, dtype, device, meter):
            self.reads.append(folder.name)
            self.reached.set()
            while not self.opened.wait(0.01):
                meter.check()
            return read(folder, dtype, device, meter)

    read, gate = assembling.read_module, Gate()
    monkeypatch.setattr(assembling, "read_module", gate.read)
    return gate


def test_many_visitors_at_once_load_a_model_once(spec, gate):
    visitors = [begin(spec, "cpu") for _ in range(5)]
    assert not any(visitor.done for visitor in visitors)
    gate.opened.set()
    assert len({id(visitor.pair(60)) for visitor in visitors}) == 1
    assert sorted(gate.reads) == ["draft", "target"]


def test_progress_tells_stage_bytes_and_time(spec, monkeypatch):
    seen = []

    def watch(folder, dtype, device, meter):
        module = read(folder, dtype, device, meter)
        seen.append(meter.progress)
        return module

    read = assembling.read_module
    monkeypatch.setattr(assembling, "read_module", watch)
    begin(spec, "cpu").pair(60)
    size = (spec.target.folder / "model.safetensors").stat().st_size
    assert (seen[0].stage, seen[0].bytes_total) == ("reading the weights of target", size)
    assert seen[0].bytes_done == size and seen[0].fraction == 1 and seen[0].seconds > 0


def test_one_who_gives_up_does_not_stop_it_for_the_others(spec, gate):
    first, second = begin(spec, "cpu"), begin(spec, "cpu")
    gate.reached.wait(60)
    first.cancel()
    assert first.done and first.cancelled and not second.done
    with pytest.raises(Cancelled):
        first.pair()
    gate.opened.set()
    assert second.pair(60).info.key == "tiny"


def test_it_stops_when_the_last_one_gives_up_and_can_be_begun_again(spec, gate):
    visitors = [begin(spec, "cpu") for _ in range(2)]
    gate.reached.wait(60)
    for visitor in visitors:
        visitor.cancel()
    wait_for(lambda: visitors[0]._job.done.is_set())
    assert len(loading._shelf) == 0 and visitors[0].error == "Loading was cancelled."
    gate.opened.set()
    assert begin(spec, "cpu").pair(60).info.key == "tiny"


def test_a_visitor_who_has_gone_away_does_not_keep_it_going(spec, gate):
    gone, here = begin(spec, "cpu"), begin(spec, "cpu")
    gate.reached.wait(60)
    del gone
    gc.collect()
    here.cancel()
    wait_for(here._job.done.is_set)


def test_while_one_pair_is_read_another_waits_and_can_be_cancelled(spec, copied, gate):
    first = begin(spec, "cpu")
    gate.reached.wait(60)
    second = begin(copied, "cpu")
    wait_for(lambda: second.progress.stage.startswith("waiting"))
    second.cancel()
    wait_for(second._job.done.is_set)
    gate.opened.set()
    assert first.pair(60).info.key == "tiny"


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_failed_loading_is_tried_anew(copied):
    weights = copied.draft.folder / "model.safetensors"
    good = weights.read_bytes()
    weights.write_bytes(b"not a model")
    failed = begin(copied, "cpu")
    with pytest.raises(PairError):
        failed.pair(60)
    assert failed.done and "draft cannot be read" in failed.error
    weights.write_bytes(good)
    assert begin(copied, "cpu").pair(60).info.key == "copied"


def test_an_error_of_the_program_is_not_shown_to_visitors(spec, monkeypatch):
    def fail(*_):
        raise RuntimeError("secret path")

    monkeypatch.setattr(assembling, "read_module", fail)
    failed = begin(spec, "cpu")
    wait_for(lambda: failed.done)
    assert failed.error == "The pair could not be loaded; the server's log says why."


def test_switching_to_and_fro_keeps_few_pairs_and_frees_the_rest(tmp_path, monkeypatch):
    """S04: A, B, A, B with room for one."""
    monkeypatch.setattr(loading, "_shelf", Shelf(1))
    specs = [pair_spec(tmp_path / name) for name in "ab"]
    modules = []
    for spec in specs * 2:
        modules.append(weakref.ref(load_spec(spec, "cpu").target_module))
    assert [module() is not None for module in modules] == [False, False, False, True]


def test_a_pair_in_use_stays_and_is_found_again(tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "_shelf", Shelf(1))
    used, other = (pair_spec(tmp_path / name) for name in "ab")
    pair = load_spec(used, "cpu")
    load_spec(other, "cpu")
    assert load_spec(used, "cpu") is pair


def test_kept_pairs_give_way_when_memory_is_short(tmp_path, monkeypatch):
    first, second = (pair_spec(tmp_path / name) for name in "ab")
    old = weakref.ref(load_spec(first, "cpu").target_module)
    asked = iter([0, 0])
    monkeypatch.setattr(assembling, "free_memory", lambda device: next(asked, 1 << 40))
    load_spec(second, "cpu")
    assert old() is None and [pair.spec for pair in loading.loaded_pairs()] == [second]


def test_text_survives_encoding(spec):
    pair = load_spec(spec, "cpu")
    text = "Once upon a time <b>$x$</b> 😀\n"
    assert b"".join(map(pair.piece, pair.encode(text))) == text.encode()


def test_an_unknown_pair_is_refused_with_the_known_ones():
    with pytest.raises(PairError, match="no pair 'nothing'.*embedded, embedded-weak"):
        load_pair("nothing")


def test_a_missing_folder_is_named(spec, tmp_path):
    with pytest.raises(PairError, match="nowhere does not exist"):
        load_spec(replace(spec, target=replace(spec.target, folder=tmp_path / "nowhere")), "cpu")


def test_missing_files_are_named(copied):
    (copied.draft.folder / "model.safetensors").rename(copied.draft.folder / "pytorch_model.bin")
    (copied.draft.folder / "tokenizer.json").unlink()
    with pytest.raises(PairError, match=r"draft lacks tokenizer\.json, model\.safetensors"):
        load_spec(copied, "cpu")


def test_damaged_weights_are_refused_in_one_line(copied):
    (copied.draft.folder / "model.safetensors").write_bytes(b"not a model")
    with pytest.raises(PairError, match="draft cannot be read") as caught:
        load_spec(copied, "cpu")
    assert "\n" not in str(caught.value)


def test_code_in_the_folder_is_not_run(copied):
    path = copied.draft.folder / "config.json"
    config = json.loads(path.read_text()) | {
        "model_type": "mine",
        "auto_map": {"AutoConfig": "code.Mine", "AutoModelForCausalLM": "code.Mine"},
    }
    path.write_text(json.dumps(config))
    (copied.draft.folder / "code.py").write_text("raise SystemExit('code was run')")
    with pytest.raises(PairError, match="does not know .mine. and wants to bring its own code"):
        load_spec(copied, "cpu")


def test_a_smaller_vocabulary_is_refused_by_the_first_token_it_lacks(spec, tmp_path):
    words = tokenizer(300)
    folder = save(tmp_path / "small", model(len(words), layers=1, seed=4), words)
    with pytest.raises(PairError, match=f"Token {len(words)} is .* does not exist in small"):
        load_spec(replace(spec, draft=replace(spec.draft, title="small", folder=folder)), "cpu")


def test_equal_sizes_with_other_tokens_are_refused_by_the_first_that_differs(copied):
    path = copied.draft.folder / "tokenizer.json"
    content = json.loads(path.read_text())
    vocabulary = content["model"]["vocab"]
    names = {id_: token for token, id_ in vocabulary.items()}
    vocabulary[names[5]], vocabulary[names[9]] = 9, 5
    path.write_text(json.dumps(content))
    with pytest.raises(PairError, match="Token 5 is "):
        load_spec(copied, "cpu")


def test_what_could_not_be_known_before_is_checked_once_it_is_unpacked(spec, tmp_path, monkeypatch):
    """A GGUF file whose tokens are not the draft's: nobody knows before it was unpacked."""
    monkeypatch.setenv("SPECDEC_CACHE_DIR", str(tmp_path / "cache"))
    words = tokenizer(300)
    folder = tmp_path / "packed"
    folder.mkdir()
    tiny_gguf.write(folder / "other.gguf", model(len(words), layers=1, seed=3), words)
    odd = folder_pair("odd", "Odd", "", folder, spec.target.folder, "MIT")
    assert loading.check_pair(odd, "cpu").complete is False
    with pytest.raises(PairError, match="knows .* further tokens|Token .* is"):
        load_spec(replace(odd, target=odd.draft, draft=odd.target), "cpu")
    assert loading.check_pair(odd, "cpu").complete is True
