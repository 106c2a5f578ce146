"""What the server does before it answers anyone, so that no visitor has to wait for it."""

from importlib import import_module

from streamlit.runtime.pages_manager import PagesManager

from specdec_core.ui import payload, recorded

_FIRST_PAGE = ("charts", "controls", "machine", "rounds", "session", "shell")
"""The modules that Explore imports."""


def prepare() -> None:
    """Import what the first page needs, and read and write out the recorded trace."""
    # Until the first st.navigation Streamlit takes pages/ for an app of its old kind (see shell).
    PagesManager.uses_pages_directory = False
    for name in _FIRST_PAGE:
        import_module(f"specdec_core.ui.{name}")
    trace = recorded.trace()
    payload.head(trace)
    payload.compact_rounds(trace, 0)
