"""A person's message in the form that an instruction-tuned model was trained on."""

from typing import Any


class ChatError(ValueError):
    """The model's chat template cannot hold the message; the text says why."""


def has_template(tokenizer: Any) -> bool:
    """Whether the model comes with a chat template."""
    return bool(getattr(tokenizer, "chat_template", None))


def as_chat(tokenizer: Any, message: str, system: str = "") -> str:
    """The message framed as the user's turn, with the assistant's turn opened.

    The template comes with the model; transformers runs it in a sandbox that can neither read
    files nor change anything. Special tokens stand in the result as text.

    Args:
        tokenizer: a transformers tokenizer.
        message: what the person wrote.
        system: a message before it that sets the tone; "" leaves it to the template.

    Raises:
        ChatError: there is no template, or it refuses the message.
    """
    if not has_template(tokenizer):
        raise ChatError("This model has no chat template; it continues a plain text.")
    before = [{"role": "system", "content": system}] if system else []
    turns = [*before, {"role": "user", "content": message}]
    try:
        return tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
    except Exception as error:
        # A template is a program of somebody else's: what it raises is as open as what it does.
        raise ChatError(f"This model's chat template refuses the message: {error}") from error
