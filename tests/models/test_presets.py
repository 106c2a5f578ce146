"""The file of pairs is read whole, and whatever is wrong in it is named by entry and field."""

from pathlib import Path

import pytest

from specdec_core.models.errors import PairError
from specdec_core.models.presets import PresetError, read_presets
from specdec_core.models.registry import PAIRS, find_model, find_pair, known_models

ROOT = Path(__file__).resolve().parents[2]
GOOD = """
[models.big]
title = "Big"
parameters = 1000
licence = "MIT"
hub = "someone/big"

[models.small]
title = "Small"
parameters = 100
licence = "Apache-2.0"
folder = "small"

[models.small.package]
requirement = "small==1.0"
sha256 = "{digest}"
bytes = 5
member = "small/model.gguf"

[pairs.both]
title = "Both"
summary = "Two models."
teaches = "A lesson."
target = "big"
draft = "small"
memory_gib = 1
acceptance = [0.4, 0.6]
acceptance_source = "unmeasured"
""".format(digest="a" * 64)


def read(tmp_path, text):
    path = tmp_path / "pairs.toml"
    path.write_text(text)
    return read_presets(path, tmp_path)


def test_a_pair_is_read_with_all_that_is_said_of_it(tmp_path):
    spec = read(tmp_path, GOOD)["both"]
    assert (spec.target.hub_id, spec.draft.folder) == ("someone/big", tmp_path / "small")
    assert (spec.parameters, spec.memory, spec.gated) == (1100, 1 << 30, False)
    assert spec.licence == "MIT (target), Apache-2.0 (draft)"
    assert (spec.expected.low, spec.expected.high, spec.expected.measured) == (0.4, 0.6, False)
    assert spec.dtype == "" and read(tmp_path, GOOD + 'dtype = "float16"\n')["both"].dtype == "float16"
    assert spec.draft.package.requirement == "small==1.0" and spec.draft.shipped and not spec.target.shipped


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("memory_gib = 1", 'memory_gib = 1\ndtype = "int4"', "dtype: must be one of float32, bfloat16"),
        ('target = "big"', 'target = "bgi"', r"\[pairs.both\] target: there is no \[models.bgi\]"),
        ('draft = "small"', 'darft = "small"', r"\[pairs.both\] darft: unknown field; known are title"),
        ("parameters = 1000", "parameters = 0", r"\[models.big\] parameters: must be above 0, not 0"),
        ("parameters = 1000", 'parameters = "many"', r"\[models.big\] parameters: must be a whole number"),
        (
            "parameters = 1000",
            "parameters = true",
            r"\[models.big\] parameters: must be a whole number, not True",
        ),
        ('title = "Big"', "", r"\[models.big\] title: is missing"),
        ('title = "Big"', 'title = ""', r"\[models.big\] title: is empty"),
        ('hub = "someone/big"', "", r"\[models.big\] folder, hub: needs exactly one"),
        ('hub = "someone/big"', 'hub = "someone/big"\nfolder = "big"', "needs exactly one of the two"),
        ("[0.4, 0.6]", "[0.6, 0.4]", r"\[pairs.both\] acceptance: must be two rising numbers"),
        ("[0.4, 0.6]", "[0.4, 1.6]", r"\[pairs.both\] acceptance"),
        ("[0.4, 0.6]", '["low", "high"]', r"\[pairs.both\] acceptance"),
        ('acceptance_source = "unmeasured"', "", r"\[pairs.both\] acceptance_source: is missing"),
        ("small==1.0", "small", r"\[models.small.package\] requirement: must pin one version"),
        ("a" * 64, "z" * 64, r"\[models.small.package\] sha256: must be 64"),
        ("bytes = 5", "", r"\[models.small.package\] bytes: is missing"),
        ("[models.big]", "[models.big", "pairs.toml: "),
        (GOOD, "", r"\[models\]: there is none"),
        (GOOD, "models = 3", r"\[models\]: there is none"),
        (GOOD, "[models]\nbig = 3", r"\[models.big\]: must be a table"),
    ],
)
def test_a_mistake_is_named_by_entry_and_field(tmp_path, old, new, message):
    assert old in GOOD
    with pytest.raises(PresetError, match=message):
        read(tmp_path, GOOD.replace(old, new))


def test_the_shipped_file_offers_what_it_should():
    assert list(PAIRS)[0] == "embedded"
    assert {"embedded-weak", "smollm2-135m", "smollm2-1.7b", "qwen3-8b", "llama-3.1-8b", "gpt2-xl"} < set(
        PAIRS
    )
    assert [key for key, spec in PAIRS.items() if spec.gated] == ["llama-3.1-8b"]
    assert [key for key, spec in PAIRS.items() if spec.draft is None] == ["smollm2-135m"]


@pytest.mark.parametrize("key", PAIRS)
def test_every_preset_has_words_for_people_and_sensible_sizes(key):
    spec = PAIRS[key]
    assert spec.key == key and spec.summary.endswith(".") and spec.teaches.endswith(".") and spec.licence
    assert spec.draft is None or spec.draft.parameters < spec.target.parameters
    # Two bytes a weight on a GPU at least, four on a processor and room to work at most.
    assert 2 * spec.parameters < spec.memory < 8 * spec.parameters + (1 << 30)


def test_a_pair_of_ones_own_is_written_as_target_and_draft():
    spec = find_pair("hub:Qwen/Qwen3-4B <- qwen3-0.6b")
    assert (spec.target.hub_id, spec.draft) == ("Qwen/Qwen3-4B", known_models()["qwen3-0.6b"])
    assert find_pair(spec.key) == spec
    assert find_pair("hub:Qwen/Qwen3-4B").draft is None


@pytest.mark.parametrize(
    "key", ["", "nothing", "a<-b<-c", "embedded<-", "hub:<-hub:", "hub:../x", "<script>"]
)
def test_what_is_no_pair_is_refused(key):
    with pytest.raises(PairError):
        find_pair(key)


def test_an_unknown_model_is_refused_with_the_known_ones():
    with pytest.raises(PairError, match="no model 'nothing'.*smollm2-135m"):
        find_model("nothing")
