"""Ids that mean the same are shared, padding never comes up, differences are named (B46, B48-B50, B52)."""

import pytest
import torch

from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.types import RoundSettings, RunSettings, Sampling
from specdec_core.drafting.model import ModelDrafter
from specdec_core.models.errors import PairError
from specdec_core.models.fitted import fitted
from specdec_core.models.vocabulary import Vocabulary, alone, shared, vocabulary_of

from .tiny import tokenizer

LETTERS = dict(enumerate("abcdefgh"))


def vocabulary(name="target", rows=8, tokens=LETTERS, special=(), used=()):
    return Vocabulary(name, rows, tokens, frozenset(special), frozenset(used))


@pytest.mark.parametrize(("target_rows", "draft_rows"), [(12, 8), (8, 12), (16, 12), (8, 8)])
def test_padding_is_left_out_whichever_side_has_more(target_rows, draft_rows):
    together = shared(vocabulary(rows=target_rows), vocabulary("draft", draft_rows))
    assert (together.size, together.padding, together.not_drafted, together.warnings) == (8, (), (), ())


def test_holes_are_padding_too():
    tokens = {id_: token for id_, token in LETTERS.items() if id_ != 3}
    assert alone(vocabulary(tokens=tokens)).padding == (3,)
    assert shared(vocabulary(tokens=tokens), vocabulary("draft")).padding == (3,)


def test_the_first_differing_id_is_named_with_both_strings():
    with pytest.raises(PairError, match="Token 2 is 'c' in target but 'x' in draft"):
        shared(vocabulary(), vocabulary("draft", tokens=LETTERS | {2: "x", 5: "y"}))


def test_a_token_that_the_draft_lacks_is_named():
    with pytest.raises(PairError, match="Token 7 is 'h' in target but does not exist in draft"):
        shared(vocabulary(), vocabulary("draft", tokens={id_: LETTERS[id_] for id_ in range(7)}))


def test_unused_special_tokens_may_differ_with_a_warning():
    other = vocabulary("draft", tokens=LETTERS | {6: "<fim>"}, special=[6])
    together = shared(vocabulary(special=[6]), other)
    assert together.not_drafted == (6,)
    assert "6 ('g', '<fim>')" in together.warnings[0]


@pytest.mark.parametrize("used", [{"used": [6]}, {}])
def test_special_tokens_that_are_used_or_only_special_on_one_side_may_not_differ(used):
    special = [6] if used else []
    with pytest.raises(PairError, match="Token 6"):
        shared(
            vocabulary(special=special, **used), vocabulary("draft", tokens=LETTERS | {6: "x"}, special=[6])
        )


def test_a_draft_that_knows_more_tokens_works_with_a_warning():
    more = vocabulary("draft", 10, LETTERS | {8: "i", 9: "j"})
    assert "draft knows 2 further tokens from id 8 on" in shared(vocabulary(), more).warnings[0]


def test_a_tokenizer_with_more_ids_than_the_model_is_refused():
    words = tokenizer()
    with pytest.raises(PairError, match="knows ids up to"):
        vocabulary_of("target", words, len(words) - 1)


def test_end_tokens_and_those_of_the_chat_template_count_as_used():
    words = tokenizer()
    words.add_special_tokens({"additional_special_tokens": ["<|user|>", "<|spare|>"]})
    words.chat_template = "<|user|>{{ messages }}"
    found = vocabulary_of("target", words, len(words))
    names = {found.tokens[id_] for id_ in found.used}
    assert names == {"<|endoftext|>", "<|user|>"}
    assert {found.tokens[id_] for id_ in found.special} == names | {"<|spare|>"}


class Rows:
    """A toy ``SequenceModel`` whose logits are those of a table by the last token, with rows to spare."""

    context_length = 64

    def __init__(self, table):
        self._table, self.vocab_size, self.ids = table, table.shape[1], []

    @property
    def length(self):
        return len(self.ids)

    def feed(self, ids, keep):
        self.ids.extend(ids)
        return self._table[self.ids[-keep:]]

    def rewind(self, length):
        del self.ids[length:]


def table(rows, seed, favoured=None):
    logits = torch.randn(rows, rows, generator=torch.Generator().manual_seed(seed))
    if favoured is not None:
        logits[:, favoured] = 20.0
    return logits


def test_a_sequence_that_fits_is_left_alone():
    model = Rows(table(8, 0))
    assert fitted(model, 8) is model


def test_rows_are_cut_filled_and_masked():
    cut = fitted(Rows(table(8, 0)), 6, masked=[2])
    row = cut.feed([1], keep=1)[0]
    assert row.shape == (6,) and row[2] == -torch.inf and row.isfinite().sum() == 5
    filled = fitted(Rows(table(4, 0)), 6)
    row = filled.feed([5], keep=1)[0]  # an id that the model lacks
    assert row[4:].tolist() == [-torch.inf] * 2 and row[:4].isfinite().all()
    filled.rewind(0)
    assert filled.length == 0


@pytest.mark.parametrize(("target_rows", "draft_rows"), [(10, 8), (8, 10), (12, 10), (10, 6)])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_padding_that_the_models_favour_is_never_emitted(target_rows, draft_rows, temperature):
    """B48, B49, B50; the last case is a draft that lacks ids which the target writes."""
    target = table(target_rows, 1, favoured=9 if target_rows > 9 else None)
    draft = table(draft_rows, 2, favoured=9 if draft_rows > 9 else None)
    run = RunSettings((0,), "speculative sampling", 3, 0, 40, frozenset())
    decoder = Decoder(fitted(Rows(target), 8), ModelDrafter(fitted(Rows(draft), 8), "draft"), run)
    decoder.prefill()
    written = []
    while len(written) < 40:
        written += decoder.step(RoundSettings(4, Sampling(temperature))).emitted.tolist()
    assert max(written) < 8
    if temperature == 0.0:
        plain = [0]
        for _ in range(40):
            plain.append(int(target[plain[-1], :8].argmax()))
        assert written == plain[1:]
