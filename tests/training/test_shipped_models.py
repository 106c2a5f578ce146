"""The models that ship keep the promises of their cards."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from specdec_core.training.cards import card

MODELS = Path(__file__).resolve().parents[2] / "assets" / "models"
NAMES = ("folk-tales-target", "folk-tales-draft", "folk-tales-draft-weak")
BUDGET = 30e6


def _config(name: str) -> dict:
    return json.loads((MODELS / name / "config.json").read_text())


def _weights(name: str) -> dict[str, torch.Tensor]:
    return load_file(MODELS / name / "model.safetensors")


def _parameters(name: str) -> int:
    return sum(tensor.numel() for tensor in _weights(name).values())


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_float16(name):
    assert {tensor.dtype for tensor in _weights(name).values()} == {torch.float16}
    assert _config(name)["dtype"] == "float16"


@pytest.mark.parametrize("name", NAMES)
def test_other_engines_can_load_the_shape(name):
    config = _config(name)
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert config["head_dim"] == 64
    assert config["max_position_embeddings"] == 1024


def test_all_weights_together_stay_within_30_megabytes():
    assert sum(path.stat().st_size for path in MODELS.glob("*/model.safetensors")) <= BUDGET


def test_the_drafts_have_at_most_a_tenth_of_the_target_and_one_layer():
    target = _parameters("folk-tales-target")
    for name in NAMES[1:]:
        assert _parameters(name) <= target / 10
        assert _config(name)["num_hidden_layers"] == 1


@pytest.mark.parametrize("file", ["tokenizer.json", "tokenizer_config.json"])
def test_the_tokenizer_is_the_same_in_all_three(file):
    assert len({(MODELS / name / file).read_bytes() for name in NAMES}) == 1


def test_the_tokenizer_ends_texts_with_token_zero_and_adds_nothing():
    from specdec_core.training.tokenizer import load_tokenizer

    tokenizer = load_tokenizer(MODELS / NAMES[0])
    assert tokenizer.eos_token_id == 0 == _config(NAMES[0])["eos_token_id"]
    assert len(tokenizer) == _config(NAMES[0])["vocab_size"] <= 4096
    text = 'Once upon a time, "Héé" 🦊\n\tsaid $x^2$.'
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_the_report_is_about_20_prompts_and_reaches_its_goals_of_acceptance():
    report = json.loads((MODELS / "report.json").read_text())
    assert len(report["prompts"]) == 20
    good, weak = (report["drafts"][name]["acceptance"] for name in ("draft", "draft-weak"))
    assert good["temperature 1"]["overlap"] >= 0.75
    assert weak["temperature 1"]["overlap"] < 0.3


@pytest.mark.parametrize("name", NAMES)
def test_a_card_says_what_the_report_says(name):
    report = json.loads((MODELS / "report.json").read_text())
    made = card(name.removeprefix("folk-tales-"), top="", training="", report=report)
    shipped = (MODELS / name / "README.md").read_text(encoding="utf-8")
    assert shipped.partition("## Measured")[2] == made.partition("## Measured")[2]


@pytest.mark.parametrize("name", NAMES)
def test_a_card_names_the_books_the_licence_and_the_limits(name):
    card = (MODELS / name / "README.md").read_text(encoding="utf-8")
    for words in ("license: apache-2.0", "Household Tales", "Philippine Folk Tales", "held-out", "limits"):
        assert words in card
