"""Plain decoding is what speculation must equal."""

import pytest

from specdec_core.decoding.baseline import decode_plain, prefill_plain
from specdec_core.decoding.types import EndReason, RuleName, RunSettings, Sampling
from tests.decoding.toys import ToyModel, contextual, run_toy, scripted, tokens


def plain(logits, vocab_size, sampling=Sampling(), stop=None, **options):  # noqa: B008
    run = RunSettings((0,), **options)
    model = ToyModel(logits, vocab_size)
    prefill_plain(model, run)
    return list(decode_plain(model, run, sampling, stop))


@pytest.mark.parametrize("gamma", range(9))
@pytest.mark.parametrize("draft", [contextual(1, 7), contextual(2, 7), scripted([3] * 50, 7)])
def test_exact_match_gives_plain_samplings_tokens_at_any_draft_length_with_any_draft(gamma, draft):
    for sampling in (Sampling(), Sampling(0.7, top_k=5), Sampling(top_p=0.8, repetition_penalty=1.4)):
        options = {"rule": "exact match", "seed": 11, "max_new_tokens": 40}
        expected = [token.id for token in plain(contextual(1, 7), 7, sampling, **options)]
        assert tokens(run_toy(contextual(1, 7), draft, 7, gamma, sampling=sampling, **options)) == expected


@pytest.mark.parametrize("gamma", range(9))
@pytest.mark.parametrize("penalty", [1.0, 1.5])
def test_greedy_speculation_gives_greedy_plain_decoding(gamma, penalty):
    """B26, B53, B54: each place is penalised by its own prefix, rejected drafts by none."""
    options, sampling = {"rule": "greedy", "max_new_tokens": 40}, Sampling(repetition_penalty=penalty)
    expected = [token.id for token in plain(contextual(1, 7), 7, sampling, **options)]
    for draft in (contextual(1, 7), contextual(2, 7)):
        assert tokens(run_toy(contextual(1, 7), draft, 7, gamma, sampling=sampling, **options)) == expected


def test_greedy_needs_no_seed():
    runs = [[t.id for t in plain(contextual(1, 7), 7, rule="greedy", seed=seed)] for seed in (1, 2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("options", "emitted", "end"),
    [
        ({"end_ids": frozenset({3})}, [1, 2, 3], EndReason.END_TOKEN),
        ({"max_new_tokens": 2}, [1, 2], EndReason.LIMIT),
        ({"stop": lambda ids: (1, EndReason.STOP_STRING)}, [1], EndReason.STOP_STRING),
    ],
)
def test_it_ends_where_and_why_it_should(options, emitted, end):
    found = plain(scripted([0, 1, 2, 3, 4], 5), 5, rule="greedy", **options)
    assert [token.id for token in found] == emitted
    assert [token.end for token in found] == [None] * (len(emitted) - 1) + [end]


@pytest.mark.parametrize("rule", RuleName)
def test_the_greedy_rule_and_temperature_0_are_one_law(rule):
    """However it is asked for, plain decoding and speculation take the target's argmax."""
    limits = {"seed": 5, "max_new_tokens": 30}
    warm, cold = Sampling(1.3, top_k=4), Sampling(0.0, top_k=4)
    expected = [token.id for token in plain(contextual(1, 7), 7, warm, rule=RuleName.GREEDY, **limits)]
    assert [token.id for token in plain(contextual(1, 7), 7, cold, rule=rule, **limits)] == expected
    for how in ({"rule": RuleName.GREEDY, "sampling": warm}, {"rule": rule, "sampling": cold}):
        assert tokens(run_toy(contextual(1, 7), contextual(2, 7), 7, 4, **how, **limits)) == expected
