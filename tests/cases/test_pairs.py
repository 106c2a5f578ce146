"""Public bug reports about pairs, loaded from folders: vocabularies, contexts, visitors at once."""

import threading

import pytest

from specdec_core.decoding.types import DraftStop, RoundSettings, Sampling
from specdec_core.experiments.live import LiveRun
from specdec_core.models import assembling
from specdec_core.models.checklist import Verdict
from specdec_core.models.errors import PairError
from specdec_core.models.loading import check_pair, load_spec
from specdec_core.models.registry import folder_pair
from specdec_core.traces import json_codec
from specdec_core.ui import payload
from tests.models import tiny
from tests.models.architectures import random_model

COLD = Sampling(temperature=0.0)
PROMPT = "Once upon a time there was a king, and once upon a time there was a queen"


def words_with(special):
    words = tiny.tokenizer()
    words.add_special_tokens({"additional_special_tokens": [special]})
    return words


def made(folder, target_words, draft_words, draft=None):
    """A pair of a target with these tokens and a draft with those."""
    module = tiny.model(len(target_words), layers=2, seed=1, context=256)
    target = tiny.save(folder / "target", module, target_words)
    draft = draft or tiny.model(len(draft_words), layers=1, seed=2, context=256)
    return folder_pair("made", "Made", "", target, tiny.save(folder / "draft", draft, draft_words), "MIT")


def finished(pair, gamma=4, **options):
    run = LiveRun.start(pair, PROMPT, **{"max_new_tokens": 40} | options)
    while not run.ended:
        run.next_round(RoundSettings(gamma, COLD))
    return run


def test_a_pair_with_other_tokens_is_refused_before_any_weights_are_read(tmp_path, monkeypatch):
    """B46: the first id that differs is named, and no forward pass was made."""
    monkeypatch.setattr(assembling, "read_module", lambda *_: pytest.fail("weights were read"))
    spec = made(tmp_path, tiny.tokenizer(320), tiny.tokenizer(300))
    with pytest.raises(PairError, match="Token 300 is .* does not exist in draft"):
        load_spec(spec, "cpu")


def test_a_pair_that_differs_in_one_unused_special_token_runs_and_says_which(tmp_path):
    """B52: allowed with a warning; the draft never proposes it, and the text is the target's."""
    spec = made(tmp_path, words_with("<|spare|>"), words_with("<|other|>"))
    found = check_pair(spec, "cpu")
    item = next(item for item in found.items if item.verdict is Verdict.WARN)
    assert found.verdict is Verdict.WARN and "'<|spare|>', '<|other|>'" in item.reason
    pair = load_spec(spec, "cpu")
    spare = pair.tokenizer.convert_tokens_to_ids("<|spare|>")
    assert pair.draft().feed([5, spare], keep=1)[0, spare] == -float("inf")
    assert pair.target().feed([5, spare], keep=1)[0, spare] > -float("inf")
    run = finished(pair)
    assert run.measure_baseline(COLD).ids.tolist() == run.trace.emitted


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_a_prompt_longer_than_the_drafts_context_runs_plain_and_every_round_says_why(tmp_path, kind):
    """B80, B81: no crash, no dummy drafts, no waiting for a draft that cannot help."""
    words = tiny.tokenizer()
    draft = random_model(kind, len(words), layers=1, seed=2)
    setattr(draft.config, "n_positions" if kind == "gpt2" else "max_position_embeddings", 16)
    pair = load_spec(made(tmp_path, words, words, type(draft)(draft.config).eval()), "cpu")
    assert len(pair.encode(PROMPT)) > pair.info.draft.context_length == 16
    run = finished(pair)
    rounds = run.trace.rounds
    assert all(len(item.drafted) == 0 and item.times.draft == () for item in rounds)
    assert {item.draft_stop for item in rounds[:-1]} == {DraftStop.DRAFT_CONTEXT}
    assert payload.compact_rounds(run.trace, 0)[0]["stop"] == DraftStop.DRAFT_CONTEXT.value
    assert run.measure_baseline(COLD).ids.tolist() == run.trace.emitted


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    words = tiny.tokenizer()
    found = load_spec(made(tmp_path_factory.mktemp("pair"), words, words), "cpu")
    found.end_ids = frozenset()
    return found


def test_runs_beside_each_other_are_what_they_are_alone(pair):
    """B16, B17, B19: neither neighbours nor a rest between two rounds change a draw."""
    settings, seeds = RoundSettings(3, Sampling(2.0)), (42, 42, 43, 7)

    def written(seed, rest=False):
        run = LiveRun.start(pair, PROMPT, seed=seed, max_new_tokens=30)
        while not run.ended:
            run.next_round(settings)
            if rest:
                run.rest()
        texts.append((seed, tuple(run.trace.emitted)))

    texts = []
    for seed in set(seeds):
        written(seed, rest=True)
    alone = dict(texts)
    threads = [threading.Thread(target=written, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(texts) == len(alone) + len(seeds)
    assert all(alone[seed] == text for seed, text in texts)
    assert len(set(alone.values())) == len(alone)


def test_text_ids_probabilities_and_export_end_at_the_same_token(pair, monkeypatch):
    """B28, B29, B32: the second of five drafts is an end token."""
    plain = finished(pair).trace.emitted
    place = next(n for n in range(1, len(plain)) if plain[n] not in plain[:n])
    monkeypatch.setattr(pair, "end_ids", frozenset({plain[place]}))
    live = LiveRun.start(pair, PROMPT, max_new_tokens=40, draft=None)
    while not live.ended:
        live.next_round(RoundSettings(5, COLD))
    trace = json_codec.loads(json_codec.dumps(live.trace))
    assert trace.emitted == plain[: place + 1] and trace.end.value == "end token"
    last = trace.rounds[-1]
    assert len(last.places.p) == len(last.drafted) >= last.tested
    shown = payload.compact_rounds(trace, 0)
    assert sum(len(item["out"]) for item in shown) == place + 1
