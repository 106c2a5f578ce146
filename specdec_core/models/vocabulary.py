"""Whether two models mean the same by their token ids, and which ids a pair works with.

The ratio test compares p and q id by id, so equal sizes are not enough: the token strings must
agree. The text is the target's, hence so is the vocabulary. Rows of logits that no token stands
for (padding, as in Qwen's 152,064 rows against 151,936) are masked on both sides and never
emitted. Where a special token differs that nothing uses, the draft may not propose it, which
leaves the target's distribution as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specdec_core.models.errors import PairError

LISTED = 3
"""Differing tokens that a message names before it only counts the rest."""


@dataclass(frozen=True)
class Vocabulary:
    """What a model's ids stand for.

    Attributes:
        name: the model's name.
        rows: number of its logits; ids lie below it.
        tokens: token string of each id that its tokenizer knows.
        special: ids of special tokens.
        used: special ids with a part in every text: end, start, and those of the chat template.
    """

    name: str
    rows: int
    tokens: Mapping[int, str]
    special: frozenset[int] = frozenset()
    used: frozenset[int] = frozenset()


@dataclass(frozen=True)
class SharedVocabulary:
    """The ids that a pair works with.

    Attributes:
        size: V; every emitted id is below it.
        padding: ids below V that no token stands for; masked on both sides.
        not_drafted: further ids that the draft may not propose.
        warnings: what a person should know, in sentences.
    """

    size: int
    padding: tuple[int, ...] = ()
    not_drafted: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()


def vocabulary_of(name: str, tokenizer: Any, rows: int, end_ids: frozenset[int] = frozenset()) -> Vocabulary:
    """The vocabulary of a transformers tokenizer whose model has ``rows`` logits.

    Raises:
        PairError: the tokenizer has ids that the model has no logits for.
    """
    tokens = {id_: token for token, id_ in tokenizer.get_vocab().items()}
    added = {id_: str(token) for id_, token in tokenizer.added_tokens_decoder.items()}
    tokens |= added
    if tokens and max(tokens) >= rows:
        raise PairError(
            f"The tokenizer of {name} knows ids up to {max(tokens):,} but the model only {rows:,} of them."
        )
    template = str(tokenizer.chat_template or "")
    roles = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id} - {None}
    named = {id_ for id_, token in added.items() if token in template}
    return Vocabulary(name, rows, tokens, frozenset(added), frozenset(roles | named | end_ids))


def alone(target: Vocabulary) -> SharedVocabulary:
    """The ids of a target whose drafts have no vocabulary of their own.

    Example:
        >>> alone(Vocabulary("padded", 6, {0: "a", 1: "b", 3: "c"}))
        SharedVocabulary(size=4, padding=(2,), not_drafted=(), warnings=())
    """
    size = max(target.tokens) + 1 if target.tokens else target.rows
    padding = tuple(id_ for id_ in range(size) if id_ not in target.tokens) if target.tokens else ()
    return SharedVocabulary(size, padding)


def shared(target: Vocabulary, draft: Vocabulary) -> SharedVocabulary:
    """The ids that a pair works with.

    Raises:
        PairError: naming the first id that means something else, and both strings.

    Example:
        >>> target = Vocabulary("target", 3, {0: "a", 1: "b", 2: "<pad>"}, frozenset({2}))
        >>> shared(target, Vocabulary("draft", 4, {0: "a", 1: "b", 2: "<fim>"}, frozenset({2}))).not_drafted
        (2,)
        >>> shared(target, Vocabulary("other", 3, {0: "a", 1: "c"}))
        Traceback (most recent call last):
        ...
        specdec_core.models.errors.PairError: Token 1 is 'b' in target but 'c' in other; a pair must share its
        tokens.
    """
    own = alone(target)
    differing = [id_ for id_, token in sorted(target.tokens.items()) if draft.tokens.get(id_) != token]
    for id_ in differing:
        if not _unused(id_, target, draft):
            raise PairError(_difference(id_, target, draft))
    warnings = [*_special_warning(differing, target, draft), *_further_warning(own.size, draft)]
    return SharedVocabulary(own.size, own.padding, tuple(differing), tuple(warnings))


def _unused(id_: int, target: Vocabulary, draft: Vocabulary) -> bool:
    """Whether an id that differs is a special token on both sides that no text needs."""
    theirs = id_ not in draft.tokens or id_ in draft.special
    return id_ in target.special and theirs and id_ not in target.used | draft.used


def _difference(id_: int, target: Vocabulary, draft: Vocabulary) -> str:
    other = draft.tokens.get(id_)
    theirs = "does not exist" if other is None else f"{other!r}"
    return (
        f"Token {id_} is {target.tokens[id_]!r} in {target.name} but {theirs} in {draft.name}; "
        "a pair must share its tokens."
    )


def _special_warning(ids: list[int], target: Vocabulary, draft: Vocabulary) -> list[str]:
    if not ids:
        return []
    named = [f"{id_} ({target.tokens[id_]!r}, {draft.tokens.get(id_)!r})" for id_ in ids[:LISTED]]
    rest = f" and {len(ids) - LISTED} more" if len(ids) > LISTED else ""
    return [f"Special tokens that nothing uses differ: {', '.join(named)}{rest}. They are never drafted."]


def _further_warning(size: int, draft: Vocabulary) -> list[str]:
    """The draft's tokens above the target's, unless they are padding or special."""
    further = [id_ for id_ in draft.tokens if id_ >= size and id_ not in draft.special]
    if not further:
        return []
    return [f"{draft.name} knows {len(further):,} further tokens from id {min(further):,} on; never drafted."]
