"""Pairs load from local folders, once, or are refused in words a person can use."""

import gc
import hashlib
import json
import shutil
import threading
import weakref
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from specdec_core.models import loading
from specdec_core.models.errors import PairError
from specdec_core.models.loading import load_pair, load_spec
from specdec_core.models.registry import PAIRS

from .tiny import model, pair_spec, save, tokenizer


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return pair_spec(tmp_path_factory.mktemp("pair"))


@pytest.fixture
def copied(spec, tmp_path):
    """The same pair in folders of its own, to be damaged."""
    shutil.copytree(spec.target_dir, tmp_path / "target")
    shutil.copytree(spec.draft_dir, tmp_path / "draft")
    return replace(spec, target_dir=tmp_path / "target", draft_dir=tmp_path / "draft")


def test_a_pair_says_what_it_is(spec):
    pair = load_spec(spec, "cpu")
    weights = (spec.target_dir / "model.safetensors").read_bytes()
    assert pair.info.target.fingerprint == hashlib.sha256(weights).hexdigest()
    assert (pair.info.target.layers, pair.info.draft.layers) == (2, 1)
    saved = load_file(spec.target_dir / "model.safetensors")
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


def test_the_second_visitor_gets_the_same_pair(spec):
    assert load_spec(spec, "cpu") is load_spec(spec, "cpu")


def test_two_pairs_with_one_target_load_it_once(spec):
    other = replace(spec, key="other", draft_dir=spec.target_dir)
    assert load_spec(other, "cpu").target_module is load_spec(spec, "cpu").target_module
    assert load_spec(other, "cpu").draft_module is load_spec(spec, "cpu").target_module


def test_many_visitors_at_once_load_a_model_once(copied, monkeypatch):
    reads, read = [], loading._read
    monkeypatch.setattr(loading, "_read", lambda folder: reads.append(folder) or read(folder))
    pairs = []
    threads = [threading.Thread(target=lambda: pairs.append(load_spec(copied, "cpu"))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(reads) == 2
    assert len({id(pair) for pair in pairs}) == 1


def test_only_a_few_results_are_kept_and_the_rest_is_freed():
    class Thing:
        pass

    recent = loading._Recent(2)
    references = [weakref.ref(recent.get(n, Thing)) for n in range(3)]
    gc.collect()
    assert [reference() is None for reference in references] == [True, False, False]


def test_text_survives_encoding(spec):
    pair = load_spec(spec, "cpu")
    text = "Once upon a time <b>$x$</b> 😀\n"
    assert b"".join(map(pair.piece, pair.encode(text))) == text.encode()


def test_an_unknown_pair_is_refused_with_the_known_ones():
    with pytest.raises(PairError, match="no pair 'nothing'.*embedded, embedded-weak"):
        load_pair("nothing")


def test_a_missing_folder_is_named(spec, tmp_path):
    with pytest.raises(PairError, match="nowhere does not exist"):
        load_spec(replace(spec, target_dir=tmp_path / "nowhere"), "cpu")


def test_missing_files_are_named(copied):
    (copied.draft_dir / "model.safetensors").rename(copied.draft_dir / "pytorch_model.bin")
    (copied.draft_dir / "tokenizer.json").unlink()
    with pytest.raises(PairError, match=r"draft lacks tokenizer\.json, model\.safetensors"):
        load_spec(copied, "cpu")


def test_damaged_weights_are_refused_in_one_line(copied):
    (copied.draft_dir / "model.safetensors").write_bytes(b"not a model")
    with pytest.raises(PairError, match="draft cannot be read") as caught:
        load_spec(copied, "cpu")
    assert "\n" not in str(caught.value)


def test_code_in_the_folder_is_not_run(copied):
    path = copied.draft_dir / "config.json"
    config = json.loads(path.read_text()) | {
        "model_type": "mine",
        "auto_map": {"AutoConfig": "code.Mine", "AutoModelForCausalLM": "code.Mine"},
    }
    path.write_text(json.dumps(config))
    (copied.draft_dir / "code.py").write_text("raise SystemExit('code was run')")
    with pytest.raises(PairError, match="cannot be read"):
        load_spec(copied, "cpu")


def test_vocabularies_of_different_size_are_refused(spec, tmp_path):
    words = tokenizer(300)
    folder = save(tmp_path / "small", model(len(words), layers=1, seed=4), words)
    with pytest.raises(PairError, match="vocabulary of"):
        load_spec(replace(spec, draft_dir=folder), "cpu")


def test_equal_sizes_with_other_tokens_are_refused_by_the_first_that_differs(copied):
    path = copied.draft_dir / "tokenizer.json"
    content = json.loads(path.read_text())
    vocabulary = content["model"]["vocab"]
    names = {id_: token for token, id_ in vocabulary.items()}
    vocabulary[names[5]], vocabulary[names[9]] = 9, 5
    path.write_text(json.dumps(content))
    with pytest.raises(PairError, match="Token 5 is "):
        load_spec(copied, "cpu")


def test_every_known_pair_has_words_for_people():
    for key, spec in PAIRS.items():
        assert spec.key == key
        assert spec.title and spec.summary.endswith(".") and spec.licence
