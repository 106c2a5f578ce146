"""What stands around the prompt, and what ends the run: chat template, system prompt, stop texts."""

import streamlit as st

from specdec_core.text.chat import has_template
from specdec_core.ui import session
from specdec_core.ui.session import Session
from specdec_core.ui.settings import MAX_STOPS, STOP_LIMIT, SYSTEM_LIMIT

_CHAT_HELP = (
    "The prompt goes to the model as a user's message, in the model's own chat template, whose special "
    "tokens are shown as chips. Without it the model goes on with the bare text."
)
_SYSTEM_HELP = "Stands before the message and sets the tone; left empty, it is up to the template."
_STOP_HELP = (
    f"Up to {MAX_STOPS} texts, one a line, of {STOP_LIMIT} characters at most. The run ends with the token "
    "that completes the first of them. \\\\n stands for a line break, \\\\t for a tab."
)


def is_chat(state: Session) -> bool:
    """Whether a run with the pair that is chosen would be a chat."""
    return session.chosen().chat and _has_template(state)


def chat(state: Session) -> None:
    """Draw it, as far as the pair is loaded."""
    if state.waiting.loading(session.request()).held is None:
        return
    with st.container(key="chat_more", horizontal=True, vertical_alignment="center", gap="small"):
        if _has_template(state):
            st.toggle("Chat", help=_CHAT_HELP, **session.now_and_then("chat"))
        chatting = is_chat(state)
        with st.popover("System, stop texts" if chatting else "Stop texts", type="tertiary"):
            if chatting:
                _text("system", "System prompt", _SYSTEM_HELP, SYSTEM_LIMIT)
            _text("stop", "Stop texts, one a line", _STOP_HELP, MAX_STOPS * (STOP_LIMIT + 1))


def _text(name: str, label: str, words: str, most: int) -> None:
    bound = session.now_and_then(name)
    st.text_area(label, height=90, max_chars=most, placeholder="none", help=words, **bound)


def _has_template(state: Session) -> bool:
    pair = state.waiting.loading(session.request()).held
    return pair is not None and has_template(pair.tokenizer)
