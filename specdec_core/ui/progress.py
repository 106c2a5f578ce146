"""Slow work on screen: a bar where the size is known, stage, bytes and time in words, Cancel."""

from collections.abc import Callable

import streamlit as st

from specdec_core.models.progress import Progress
from specdec_core.ui import cards


def show(now: Progress, key: str = "", cancel: Callable[..., None] | None = None, *args: object) -> None:
    """Draw it.

    Args:
        now: how far the work is.
        key: of the button.
        cancel: what gives the work up; without it there is no button.
        args: what it is called with.
    """
    if now.fraction is not None:
        st.progress(now.fraction)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(f'<div class="on-its-way" role="status">{cards.progress(now)}</div>', width="stretch")
        if cancel:
            st.button("Cancel", key=key, type="tertiary", on_click=cancel, args=args)
