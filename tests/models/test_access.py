"""Names from outside open nothing but models, inside the folder meant, that the server offers."""

import pytest

from specdec_core.models import inventory
from specdec_core.models.access import check_allowed, folder_model, folder_names, hub_model
from specdec_core.models.errors import PairError
from specdec_core.models.registry import PAIRS
from specdec_core.models.sources import on_this_machine

from .tiny import model, save, tokenizer


@pytest.fixture(scope="module")
def words():
    return tokenizer()


@pytest.fixture
def mine(tmp_path, monkeypatch, words):
    """A models folder with one model in it, beside a secret."""
    root = tmp_path / "mine"
    save(root / "tiny", model(len(words), layers=1, seed=1), words)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "config.json").write_text("{}")
    monkeypatch.setenv("SPECDEC_MODELS_DIR", str(root))
    return root


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "tiny/../../secret",
        "/etc",
        "tiny/",
        ".",
        "..",
        "",
        "~",
        "a\0b",
        "tiny\n",
        "C:\\x",
        "-x",
        "a//b",
        "a" * 200,
    ],
)
def test_names_that_could_lead_elsewhere_are_refused(mine, name):
    with pytest.raises(PairError):
        folder_model(name)


def test_a_link_out_of_the_models_folder_is_refused(mine, tmp_path):
    (mine / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(PairError, match="link in link leads out of the models folder|leads out"):
        folder_model("link")


def test_a_link_deep_in_a_folder_is_refused_too(mine, tmp_path):
    deep = mine / "tiny" / "additional_chat_templates"
    deep.mkdir()
    (deep / "rag.jinja").symlink_to(tmp_path / "secret" / "config.json")
    with pytest.raises(PairError, match="rag.jinja in tiny leads out"):
        folder_model("tiny")


def test_links_that_lead_to_each_other_are_refused_and_hide_no_other_folder(mine):
    (mine / "loop").mkdir()
    (mine / "loop" / "config.json").write_text("{}")
    (mine / "loop" / "x").symlink_to(mine / "loop" / "x")
    with pytest.raises(PairError, match="x in loop leads out"):
        folder_model("loop")
    assert folder_model("tiny").name == "tiny" and "tiny" in folder_names()


def test_a_file_that_leads_out_of_the_models_folder_is_refused(mine, tmp_path):
    (mine / "tiny" / "tokenizer_config.json").unlink()
    (mine / "tiny" / "tokenizer_config.json").symlink_to(tmp_path / "secret" / "config.json")
    with pytest.raises(PairError, match="tokenizer_config.json in tiny leads out") as caught:
        folder_model("tiny")
    assert "secret" not in str(caught.value)


def test_links_that_stay_inside_are_fine(mine):
    (mine / "again").symlink_to(mine / "tiny")
    assert folder_model("again").folder == mine / "again"


def test_folders_with_models_are_listed(mine, words):
    save(mine / "someone" / "other", model(len(words), layers=1, seed=1), words)
    (mine / "gguf").mkdir()
    (mine / "gguf" / "x.gguf").write_bytes(b"")
    (mine / "empty").mkdir()
    assert folder_names() == ["gguf", "someone/other", "tiny"]


def test_without_a_models_folder_there_is_none_to_choose_from(monkeypatch):
    monkeypatch.delenv("SPECDEC_MODELS_DIR", raising=False)
    assert folder_names() == []
    with pytest.raises(PairError, match="SPECDEC_MODELS_DIR is not set"):
        folder_model("tiny")


@pytest.mark.parametrize(
    "hub_id", ["a/b/c", "a b/c", "a/..", "a--b/c", "a/b.git", "https://x/y", "a/b?x=1", "", "é/x"]
)
def test_what_is_no_hub_id_is_refused(hub_id):
    with pytest.raises(PairError, match="is no hub id"):
        hub_model(hub_id)


def test_a_public_server_offers_only_what_its_list_names(monkeypatch):
    monkeypatch.setenv("SPECDEC_ALLOWED_MODELS", "Qwen/*, HuggingFaceTB/SmolLM2-135M-Instruct")
    check_allowed(hub_model("Qwen/Qwen3-0.6B"))
    check_allowed(PAIRS["smollm2-135m"].target)
    for refused in (hub_model("openai-community/gpt2"), hub_model("evil/Qwen"), PAIRS["gpt2-xl"].draft):
        with pytest.raises(PairError, match="does not offer"):
            on_this_machine(refused)


def test_an_empty_list_leaves_what_comes_with_the_project(monkeypatch):
    monkeypatch.setenv("SPECDEC_ALLOWED_MODELS", "")
    assert on_this_machine(PAIRS["embedded"].target)
    with pytest.raises(PairError, match="does not offer"):
        on_this_machine(PAIRS["smollm2-135m"].target)


def test_folders_are_subject_to_the_list_too(mine, monkeypatch):
    monkeypatch.setenv("SPECDEC_ALLOWED_MODELS", "other")
    with pytest.raises(PairError, match="does not offer"):
        on_this_machine(folder_model("tiny"))


def test_the_inventory_never_shows_a_token(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secretsecret")
    assert "hf_secretsecret" not in repr(inventory.take_inventory())
