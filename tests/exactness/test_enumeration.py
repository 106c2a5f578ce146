"""The output law by exact enumeration: every draft, every verdict, every correction.

For a context-dependent toy model with V = 3 and γ = 3 each possible course of one round is
played through the real decoder, its uniforms chosen to steer it there, and weighted with the
exact probability of those uniforms. Followed by the target's own continuation, the emitted
tokens must have the target's law exactly; by induction over rounds so has the whole output.
"""

import itertools
from collections import defaultdict
from dataclasses import replace
from math import prod

import numpy as np
import pytest

from specdec_core.decoding import decoder, rules
from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.filters import law
from specdec_core.decoding.types import RoundSettings, Sampling
from tests.decoding.toys import ToyModel, contextual, toy_decoder

V, GAMMA = 3, 3
PROMPT = (0, 1)
SAMPLINGS = [
    Sampling(),
    Sampling(0.6),
    Sampling(top_k=2),
    Sampling(top_p=0.7),
    Sampling(repetition_penalty=1.6),
]


class ChosenDraws:
    """Stands in for a run's ``Draws`` with uniforms chosen by the test."""

    def __init__(self, draft, accept, correct):
        self._draft, self._accept, self._correct = draft, accept, correct

    def draft(self, index, round):
        return self._draft[index - len(PROMPT)]

    def accept(self, index, count):
        return np.array(self._accept[:count])

    def correct(self, index, count):
        return np.array(self._correct[:count])


def probabilities(logits, prefix, sampling):
    """The law after a prefix, straight from the settings; float64 [V]."""
    model = ToyModel(logits, V)
    return law(model.feed(prefix, keep=1), sampling, prefix)[0].numpy()


def atoms(probs):
    """Each token with the middle of its stretch of the cumulative distribution and its width."""
    edges = np.concatenate([[0.0], np.cumsum(probs) / np.sum(probs)])
    return [(t, (edges[t] + edges[t + 1]) / 2, edges[t + 1] - edges[t]) for t in range(V) if probs[t] > 0]


def emitted(target, draft, rule, sampling, draws):
    run: Decoder = toy_decoder(target, draft, V, prompt_ids=PROMPT, rule=rule, max_new_tokens=20)
    run._draws = draws
    return tuple(run.step(RoundSettings(GAMMA, sampling)).emitted.tolist())


def draft_paths(draft, sampling):
    """Every sequence of γ drafted tokens with its uniforms and its probability."""
    for path in itertools.product(range(V), repeat=GAMMA):
        laws = [atoms(probabilities(draft, PROMPT + path[:i], sampling)) for i in range(GAMMA)]
        steps = [next((a for a in law if a[0] == token), None) for law, token in zip(laws, path, strict=True)]
        if all(steps):
            yield path, [u for _, u, _ in steps], prod(width for *_, width in steps)


def ratio_courses(target, draft, sampling):
    """Courses of a round under the ratio test: draws, and the exact weight of such draws."""
    for path, draft_u, drafted in draft_paths(draft, sampling):
        ps = [probabilities(target, PROMPT + path[:i], sampling) for i in range(GAMMA + 1)]
        qs = [probabilities(draft, PROMPT + path[:i], sampling) for i in range(GAMMA)]
        keep = [min(1.0, ps[i][x] / qs[i][x]) for i, x in enumerate(path)]
        for kept in range(GAMMA + 1):
            verdicts = prod(keep[:kept]) * (1 - keep[kept] if kept < GAMMA else 1.0)
            own = ps[GAMMA] if kept == GAMMA else np.maximum(ps[kept] - qs[kept], 0)
            if verdicts > 0:
                accept_u = [k / 2 for k in keep[:kept]] + [(1 + k) / 2 for k in keep[kept:]]
                for _, u, width in atoms(own):
                    yield ChosenDraws(draft_u, accept_u, [u] * (GAMMA + 1)), drafted * verdicts * width


def exact_match_courses(target, draft, sampling):
    """Courses under exact match: what matters is the target's own draw at each place."""
    for path, draft_u, drafted in draft_paths(draft, sampling):
        places = [atoms(probabilities(target, PROMPT + path[:i], sampling)) for i in range(GAMMA + 1)]
        for own in itertools.product(*places):
            weight = drafted * prod(width for *_, width in own)
            yield ChosenDraws(draft_u, [0.5] * GAMMA, [u for _, u, _ in own]), weight


def continued(target, sampling, weights):
    """The law over γ + 1 tokens when the target itself writes on after the round."""
    law = defaultdict(float)
    for tokens, weight in weights.items():
        for rest in itertools.product(range(V), repeat=GAMMA + 1 - len(tokens)):
            law[tokens + rest] += weight * sequence_probability(target, sampling, tokens + rest, len(tokens))
    return law


def sequence_probability(target, sampling, tokens, start=0):
    laws = (probabilities(target, PROMPT + tokens[:i], sampling) for i in range(start, len(tokens)))
    return prod(law[token] for law, token in zip(laws, tokens[start:], strict=True))


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.parametrize(
    ("rule", "courses"),
    [("speculative sampling", ratio_courses), ("exact match", exact_match_courses)],
    ids=["speculative sampling", "exact match"],
)
def test_the_output_law_of_a_round_is_the_targets_exactly(rule, courses, sampling):
    target, draft = contextual(31, V), contextual(32, V, sharpness=1.0)
    weights = defaultdict(float)
    for draws, weight in courses(target, draft, sampling):
        weights[emitted(target, draft, rule, sampling, draws)] += weight
    assert sum(weights.values()) == pytest.approx(1.0, abs=1e-12)
    law = continued(target, sampling, weights)
    for tokens in itertools.product(range(V), repeat=GAMMA + 1):
        expected = sequence_probability(target, sampling, tokens)
        assert law[tokens] == pytest.approx(expected, abs=1e-12), tokens


def test_the_enumeration_notices_a_wrong_correction(monkeypatch):
    """Drawing the correction from p instead of the residual must not pass as exact."""
    wrong = replace(rules.RULES["speculative sampling"], replacement=rules.target_law)
    monkeypatch.setitem(decoder.RULES, "speculative sampling", wrong)
    target, draft, sampling = contextual(31, V), contextual(32, V, sharpness=1.0), Sampling()
    weights = defaultdict(float)
    for draws, weight in ratio_courses(target, draft, sampling):
        weights[emitted(target, draft, "speculative sampling", sampling, draws)] += weight
    law = continued(target, sampling, weights)
    sequences = itertools.product(range(V), repeat=GAMMA + 1)
    assert max(abs(law[s] - sequence_probability(target, sampling, s)) for s in sequences) > 1e-3
