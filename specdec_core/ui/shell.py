"""The frame around every page: product name, navigation, style sheet.

A folder called ``pages/`` makes Streamlit fall back to its old way of finding pages until the
first ``st.navigation`` of the process: a page that is asked for first runs alone, without
``app.py``, and the controls of that first run have other identities than those of the next, so
that a visitor's first click would forget all their values. Whichever file runs first therefore
calls ``st.navigation`` and starts over before anything is drawn.
"""

from html import escape
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.pages_manager import PagesManager

PRODUCT = "Speculative decoding explorer"
_STYLE = Path(__file__).with_name("shell.css")
_ICON = Path(__file__).parents[2] / "assets" / "icon.png"
_HERE, _OPENED = "_shell_here", "_shell_opened"


def run() -> None:
    """Configure the app and run the page that was asked for. Called by ``app.py`` alone."""
    _navigation().run()


def frame() -> DeltaGenerator:
    """Draw what all pages share; the first call of every page.

    Returns:
        A container at the right end of the top line, for a badge.
    """
    if PagesManager.uses_pages_directory:
        _navigation()
    st.html(_STYLE)
    with st.container(key="masthead", horizontal=True, vertical_alignment="center", gap="small"):
        st.html(f'<h1 class="wordmark">{PRODUCT}</h1>', width="content")
        with st.container(key="pages", horizontal=True, gap="small", width="content"):
            for page in _pages():
                here = page.title == st.session_state[_HERE]
                with st.container(key="page_here" if here else f"page_{page.title}", width="content"):
                    st.page_link(page)
        return st.container(key="masthead_badge", width="stretch")


def just_opened() -> bool:
    """Whether this page was not the one shown before; true once, even if a run was cut short meanwhile."""
    return st.session_state.pop(_OPENED, False)


def theory_page() -> st.Page:
    """The page on why it works, to be linked to."""
    return st.Page("pages/theory.py", title="Theory")


def notice(text: str, kind: str = "status") -> None:
    """Show a sentence literally, whatever it contains; ``kind`` is "status" or "alert"."""
    st.html(f'<div class="notice {kind}" role="{kind}">{escape(text)}</div>')


def badge(*texts: str) -> str:
    """HTML of small rounded labels, each text shown literally."""
    return "".join(f'<span class="badge">{escape(text)}</span>' for text in texts)


def _pages() -> list[st.Page]:
    return [
        st.Page("pages/explore.py", title="Explore", default=True, url_path="start"),
        theory_page(),
    ]


def _to_explore() -> None:
    """The default page has no address but the bare one, yet people guess its name."""
    st.switch_page(_pages()[0], query_params=st.query_params.to_dict())


def _navigation() -> st.Page:
    first_in_process = PagesManager.uses_pages_directory
    st.set_page_config(page_title=PRODUCT, page_icon=str(_ICON), layout="wide")
    guessed = st.Page(_to_explore, title="Explore", url_path="explore", visibility="hidden")
    page = st.navigation([*_pages(), guessed], position="hidden")
    if first_in_process:
        st.rerun()
    if st.session_state.get(_HERE) != page.title:
        st.session_state[_HERE], st.session_state[_OPENED] = page.title, True
    return page
