"""A person's text on its way to being a prompt."""

from typing import Any

CHARACTERS_PER_TOKEN = 100
"""Text longer than this many characters for each token of room is refused unread."""


class PromptError(ValueError):
    """The text cannot be a prompt; the message says why, for the person who wrote it."""


def clean(text: str) -> str:
    """The text without lone surrogates, which no encoding of text can hold.

    >>> clean("a\\ud800b"), clean("\\ud83d\\ude00")
    ('a�b', '😀')
    """
    return text.encode("utf-16-le", errors="surrogatepass").decode("utf-16-le", errors="replace")


def encode_prompt(tokenizer: Any, text: str, limit: int, *, framed: bool = False) -> tuple[int, ...]:
    """The ids of a prompt, with whatever the tokenizer puts at its front.

    An empty text is a prompt only for tokenizers that start every text with a token of their
    own; without one there is nothing to go on from.

    Args:
        tokenizer: a transformers tokenizer.
        text: what the person wrote.
        limit: most tokens the prompt may have.
        framed: a chat template has put every special token that is needed into the text.

    Raises:
        PromptError: the text is empty, or too long: how many tokens it has and may have.
    """
    if len(text) > limit * CHARACTERS_PER_TOKEN:
        raise PromptError(
            f"The prompt has {len(text):,} characters; this pair reads at most {limit:,} tokens. Shorten it."
        )
    ids = tuple(tokenizer(clean(text), add_special_tokens=not framed, verbose=False)["input_ids"])
    if not ids:
        raise PromptError("The prompt is empty. Type at least one character.")
    if len(ids) > limit:
        raise PromptError(
            f"The prompt has {len(ids):,} tokens; this pair reads at most {limit:,}. Shorten it."
        )
    return ids
