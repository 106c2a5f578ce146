"""A message is framed by the model's own template, and a template's refusal is said in words."""

import pytest
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from specdec_core.text.chat import ChatError, as_chat, has_template

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def tokenizer(template):
    made = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()))
    made.chat_template = template
    return made


def test_the_message_becomes_the_users_turn_and_the_assistants_is_opened():
    assert as_chat(tokenizer(TEMPLATE), "Hi {{ 7*7 }} $x$") == "<|user|>Hi {{ 7*7 }} $x$<|end|><|assistant|>"


def test_a_system_message_comes_first():
    framed = as_chat(tokenizer(TEMPLATE), "Hi", system="Be brief.")
    assert framed == "<|system|>Be brief.<|end|><|user|>Hi<|end|><|assistant|>"


@pytest.mark.parametrize("template", [None, ""])
def test_without_a_template_there_is_no_chat(template):
    assert not has_template(tokenizer(template))
    with pytest.raises(ChatError, match="no chat template"):
        as_chat(tokenizer(template), "Hi")


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('only system turns') }}",
        "{% for m in messages %}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages + 1 }}",
        "{{ 1 // 0 }}",
    ],
)
def test_a_template_that_fails_or_reaches_out_of_its_sandbox_is_refused_in_words(template):
    with pytest.raises(ChatError, match="refuses the message"):
        as_chat(tokenizer(template), "Hi")
