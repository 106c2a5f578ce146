"""The catalogue of drafts: each can be built, says what it is, and refuses what makes no sense."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.draws import Draws
from specdec_core.decoding.origin import Choice
from specdec_core.decoding.proposal import DraftRequest
from specdec_core.decoding.settings import MOST_DRAFTED, RoundSettings, RunSettings, Sampling
from specdec_core.decoding.types import DraftStop, Verdict
from specdec_core.experiments.draft_options import Option
from specdec_core.experiments.drafts import DRAFTS, DraftError, DraftSettings, default_draft, make_drafter
from specdec_core.models.loading import load_spec
from specdec_core.models.pair import LoadedModel
from specdec_core.models.progress import Meter
from tests.models import tiny

PROMPT = "Once upon a time there was a king, and once upon a time"
WITH_TOKENS = [key for key in DRAFTS if key not in ("prompt-lookup", "suffix", "uniform")]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    words = tiny.tokenizer()
    models = (tiny.model(len(words), layers=layers, seed=layers) for layers in (4, 1))
    folders = [tiny.save(folder / name, model, words) for name, model in zip("td", models, strict=True)]
    return load_spec(tiny.folder_pair("tiny", "Tiny", "A random pair.", *folders, "Apache-2.0"))


def run(pair, drafter, *, rule="speculative sampling", limit=24, gammas=(3,), sampling=Sampling(0.8)):  # noqa: B008
    """All rounds of a run whose draft length changes from round to round."""
    decoder = Decoder(pair.target(), drafter, RunSettings(pair.encode(PROMPT), rule, 5, max_new_tokens=limit))
    decoder.prefill()
    rounds = []
    while decoder.end is None:
        rounds.append(decoder.step(RoundSettings(gammas[len(rounds) % len(gammas)], sampling)))
    return rounds


@pytest.mark.parametrize("key", DRAFTS)
def test_each_kind_drafts_and_the_record_shows_how(pair, key):
    kind = DRAFTS[key]
    assert kind.key == key and kind.missing(pair) is None
    assert all((kind.title, kind.summary.endswith("."), kind.cost, kind.law, kind.source))
    drafter = kind.build(pair)
    rounds = run(pair, drafter)
    assert sum(len(round.drafted) for round in rounds) > 0
    for round in rounds:
        assert round.draft == drafter.name
        q, choice = round.places.q, round.origin.choice
        assert (q == 1.0).all() == (choice is not Choice.SAMPLED) or not len(round.drafted)
        assert len(round.times.draft) == len(round.drafted)


@pytest.mark.parametrize("key", DRAFTS)
def test_what_was_prepared_is_ready_and_the_draft_length_is_one_that_can_be_asked_for(pair, key):
    kind, meter = DRAFTS[key], Meter()
    kind.prepare(pair, meter)
    assert kind.ready(pair) and 1 <= kind.gamma <= MOST_DRAFTED


@pytest.mark.parametrize("key", WITH_TOKENS)
def test_an_argmax_draft_is_one_hot_and_its_softmax_is_kept_for_display(pair, key):
    rounds = run(pair, make_drafter(pair, DraftSettings.of(key, tokens="argmax")))
    drawn = [round for round in rounds if round.origin.choice is Choice.ARGMAX]
    assert drawn and all(round.origin.choice is not Choice.SAMPLED for round in rounds if len(round.drafted))
    for round in drawn:
        assert "argmax" in round.origin.by
        assert (round.places.q == 1.0).all() and (round.places.soft_q < 1.0).all()
        assert round.places.expected == pytest.approx(round.places.p)


@pytest.mark.parametrize("tokens", ["sampled", "argmax"])
def test_everything_an_oracle_drafts_is_kept_even_after_pauses(pair, tokens):
    """Rounds without drafts leave its cache behind; what is missing is fed with the next step."""
    drafter = make_drafter(pair, DraftSettings.of("oracle", tokens=tokens))
    rule = "speculative sampling" if tokens == "sampled" else "greedy"
    rounds = run(pair, drafter, rule=rule, limit=60, gammas=(4, 0, 0, 2, 0, 5))
    assert any(len(round.drafted) == 0 for round in rounds)
    assert all((round.verdicts == Verdict.ACCEPTED).all() for round in rounds)


def test_a_round_without_a_match_is_a_plain_step_and_says_so(pair):
    rounds = run(pair, make_drafter(pair, DraftSettings.of("prompt-lookup", min_ngram=9, max_ngram=9)))
    assert all(len(round.drafted) == 0 and len(round.emitted) == 1 for round in rounds)
    assert {round.draft_stop for round in rounds[:-1]} == {DraftStop.NO_MATCH}


def test_sessions_share_weights_and_nothing_else(pair):
    for kind in DRAFTS.values():
        one, other = kind.build(pair), kind.build(pair)
        one.prefill([1, 2, 3, 4])
        assert other.length == 0


def test_a_lone_target_is_drafted_for_by_prompt_lookup_and_has_no_draft_model(pair):
    lone = SimpleNamespace(draft_model=None)
    assert default_draft(lone).kind == "prompt-lookup" and default_draft(pair).kind == "model"
    for key in ("model", "lookup-or-model"):
        assert "no draft model" in DRAFTS[key].missing(lone)


def test_what_is_proposed_without_a_model_lies_where_the_targets_laws_do():
    """On MPS, which has no float64, that is the processor."""
    weight = SimpleNamespace(device=torch.device("mps"))
    target = LoadedModel(None, None, SimpleNamespace(parameters=lambda: iter([weight])), None, None)
    pair = SimpleNamespace(target_model=target, info=SimpleNamespace(vocab_size=8))
    assert target.device.type == "mps"
    for key, prompt in (("prompt-lookup", (1, 2, 1)), ("suffix", (1, 2, 1)), ("uniform", (1,))):
        request = DraftRequest(prompt, 1, Sampling(), Draws(0), 0, frozenset())
        probs = make_drafter(pair, DraftSettings(key)).propose(request).probs
        assert probs.dtype is torch.float64 and probs.device.type == "cpu" and len(probs) == 1


def test_a_target_with_too_few_layers_leaves_none_out():
    shallow = SimpleNamespace(info=SimpleNamespace(target=SimpleNamespace(layers=1)))
    assert "1 layers; this takes 2" in DRAFTS["early-exit"].missing(shallow)
    with pytest.raises(DraftError, match="Layer skip: The target has 1 layers"):
        DRAFTS["layer-skip"].build(shallow)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (DraftSettings("clairvoyant"), "there is no draft 'clairvoyant'; known are model, prompt-lookup"),
        (DraftSettings.of("uniform", tokens="argmax"), "has no option tokens"),
        (DraftSettings.of("model", tokens="beam"), "tokens is beam; it must be sampled or argmax"),
        (DraftSettings.of("early-exit", depth=4), "depth is 4; it must be a whole number from 1 to 3"),
        (DraftSettings.of("early-exit", depth=2.0), "must be a whole number"),
        (DraftSettings.of("layer-skip", skipped=3), "skipped is 3; it must be a whole number from 1 to 2"),
        (DraftSettings.of("prompt-lookup", min_ngram=4, max_ngram=3), "the shortest match is longer"),
        (DraftSettings.of("suffix", min_share=-0.1), "min_share is -0.1; it must be a number"),
        (DraftSettings.of("suffix", factor=True), "factor is True; it must be a number"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(pair, settings, message):
    with pytest.raises(DraftError, match=message):
        make_drafter(pair, settings)


def test_settings_are_equal_in_whatever_order_they_are_given():
    assert DraftSettings.of("suffix", factor=1.0, max_match=8) == DraftSettings.of(
        "suffix", max_match=8, factor=1.0
    )


@pytest.mark.parametrize("layers", [2, 3, 4, 12, 30, 80])
def test_defaults_lie_within_their_bounds_for_any_number_of_layers(layers):
    pair = SimpleNamespace(info=SimpleNamespace(target=SimpleNamespace(layers=layers)))
    for kind in DRAFTS.values():
        if layers < 3 and kind.key == "layer-skip":
            continue
        for option in kind.options(pair):
            assert option.objection(option.default) is None, (kind.key, option.key)
            assert option.choices or option.minimum <= option.maximum


def test_what_is_not_a_number_is_no_number():
    option = Option("share", "", "", 0.5, 0.0, 1.0)
    assert option.objection(1) is None
    for wrong in (float("nan"), "0.5", 2):
        assert option.objection(wrong)


def test_the_draws_behind_a_drafts_place_do_not_depend_on_the_kind(pair):
    """So that runs with different drafts stay comparable."""
    first = [run(pair, make_drafter(pair, DraftSettings(key)))[0] for key in ("model", "uniform", "oracle")]
    for round in first[1:]:
        assert np.array_equal(round.places.draft_u, first[0].places.draft_u)
        assert np.array_equal(round.places.accept_u, first[0].places.accept_u)
