"""Whatever proposes the tokens, and whether it drew or chose them, the output law is the target's.

Exact enumeration for every drafter over three tokens, as in ``test_enumeration``: each way its
declared q can be drawn from, each verdict, each correction, weighted exactly. A drafter
that drew from another law than it declares, or a one-hot proposal tested as a soft one, would
show here.
"""

import itertools
from collections import defaultdict
from dataclasses import replace
from math import prod

import numpy as np
import pytest

from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.filters import law
from specdec_core.decoding.origin import Choice
from specdec_core.decoding.proposal import DraftRequest, Vocabulary
from specdec_core.decoding.settings import RoundSettings, RunSettings, Sampling
from specdec_core.drafting.fallback import FallbackDrafter
from specdec_core.drafting.lookup import LookupDrafter
from specdec_core.drafting.model import ModelDrafter
from specdec_core.drafting.suffix import SuffixDrafter
from specdec_core.drafting.uniform import UniformDrafter
from tests.decoding.toys import ToyModel, contextual
from tests.exactness.test_enumeration import GAMMA, ChosenDraws, V, atoms, probabilities

TARGET, DRAFT = contextual(31, V), contextual(32, V, sharpness=1.0)
MATCHING, FRESH = (0, 1, 2, 2, 0, 1), (0, 1, 2)


def model(choice=Choice.SAMPLED):
    return ModelDrafter(ToyModel(DRAFT, V), "toy", choice)


def lookup():
    return LookupDrafter(Vocabulary(V))


DRAFTERS = {
    "argmax of a model": (lambda: model(Choice.ARGMAX), FRESH),
    "prompt lookup": (lookup, MATCHING),
    "suffix matching": (lambda: SuffixDrafter(Vocabulary(V)), MATCHING),
    "lookup or model, copying": (lambda: FallbackDrafter(lookup(), model()), MATCHING),
    "lookup or model, drawing": (lambda: FallbackDrafter(lookup(), model()), FRESH),
    "lookup, nothing found": (lookup, FRESH),
    "uniform": (lambda: UniformDrafter(Vocabulary(V)), FRESH),
    "oracle": (lambda: ModelDrafter(ToyModel(TARGET, V), "oracle"), FRESH),
}


class Chosen(ChosenDraws):
    """The uniforms chosen for a round after a prompt of any length."""

    def __init__(self, start, draft, accept, correct):
        super().__init__(draft, accept, correct)
        self._start = start

    def draft(self, index, round):
        place = index - self._start
        return self._draft[place] if place < len(self._draft) else 0.5


def proposals(make, prompt, sampling, us=()):
    """Every proposal that the drafter can make, with its uniforms and its probability under q."""
    request = DraftRequest(list(prompt), GAMMA, sampling, Chosen(len(prompt), us, (), ()), 0, frozenset())
    proposal = make().propose(request)
    if len(us) == len(proposal.ids):
        yield proposal, us, 1.0
        return
    for token, u, width in atoms(proposal.probs[len(us)].numpy()):
        for each in proposals(make, prompt, sampling, (*us, u)):
            assert each[0].ids[len(us)] == token, "the token is the one that its declared q gives"
            yield each[0], each[1], width * each[2]


def courses(make, prompt, rule, sampling):
    """Every course of a round: the draws that lead to it and the exact weight of such draws."""
    for proposal, draft_u, drafted in proposals(make, prompt, sampling):
        ids, qs = proposal.ids, proposal.probs.numpy()
        count = len(ids)
        ps = [probabilities(TARGET, prompt + ids[:i], sampling) for i in range(count + 1)]
        if rule == "exact match":
            for own in itertools.product(*map(atoms, ps)):
                draws = Chosen(len(prompt), draft_u, [0.5] * count, [u for _, u, _ in own])
                yield draws, drafted * prod(width for *_, width in own)
            continue
        keep = [min(1.0, ps[i][x] / qs[i][x]) for i, x in enumerate(ids)]
        for kept in range(count + 1):
            verdicts = prod(keep[:kept]) * (1 - keep[kept] if kept < count else 1.0)
            own = ps[count] if kept == count else np.maximum(ps[kept] - qs[kept], 0)
            if verdicts > 0:
                accept_u = [k / 2 for k in keep[:kept]] + [(1 + k) / 2 for k in keep[kept:]]
                for _, u, width in atoms(own):
                    draws = Chosen(len(prompt), draft_u, accept_u, [u] * (count + 1))
                    yield draws, drafted * verdicts * width


def emitted(make, prompt, rule, sampling, draws):
    decoder = Decoder(ToyModel(TARGET, V), make(), RunSettings(prompt, rule, max_new_tokens=20))
    decoder.prefill()
    decoder._draws = draws
    return tuple(decoder.step(RoundSettings(GAMMA, sampling)).emitted.tolist())


def sequence_probability(prompt, sampling, tokens, start=0):
    laws = (probabilities(TARGET, prompt + tokens[:i], sampling) for i in range(start, len(tokens)))
    return prod(probs[token] for probs, token in zip(laws, tokens[start:], strict=True))


@pytest.mark.parametrize(
    ("rule", "sampling"),
    [
        ("speculative sampling", Sampling()),
        ("speculative sampling", Sampling(0.6, top_k=2)),
        ("exact match", Sampling(0.6, top_k=2)),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", DRAFTERS)
def test_the_output_law_of_a_round_is_the_targets_exactly(name, rule, sampling):
    make, prompt = DRAFTERS[name]
    weights = defaultdict(float)
    for draws, weight in courses(make, prompt, rule, sampling):
        weights[emitted(make, prompt, rule, sampling, draws)] += weight
    assert sum(weights.values()) == pytest.approx(1.0, abs=1e-12)
    written = defaultdict(float)
    for tokens, weight in weights.items():
        for rest in itertools.product(range(V), repeat=GAMMA + 1 - len(tokens)):
            whole = tokens + rest
            written[whole] += weight * sequence_probability(prompt, sampling, whole, len(tokens))
    for tokens in itertools.product(range(V), repeat=GAMMA + 1):
        expected = sequence_probability(prompt, sampling, tokens)
        assert written[tokens] == pytest.approx(expected, abs=1e-12), tokens


def test_the_enumeration_notices_a_soft_q_declared_for_an_argmax_draft():
    """B01, B04, B08: the mistake that several implementations have made."""

    def lying():
        honest = model(Choice.ARGMAX)
        propose = honest.propose
        honest.propose = lambda request: replace(
            proposal := propose(request), probs=law(proposal.logits, request.sampling)
        )
        return honest

    with pytest.raises(AssertionError, match="declared q"):
        list(proposals(lying, FRESH, Sampling()))
