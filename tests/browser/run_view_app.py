"""A page with nothing but the round view, over traces made by hand; started by test_run_view.py."""

import streamlit as st

from specdec_core.decoding.types import Sampling
from specdec_core.ui.run_view import Cursor, Link, run_view
from tests.traces import factory, laws

HOSTILE = {
    " king": b" <img src=x onerror=\"document.title='owned'\">",
    " who": b" $x^2$ *bold* `code`",
    " three": " \N{ROCKET}</button><b>loud</b>".encode(),
    "Once": b"<script>document.title='owned'</script>",
}


def hostile_trace():
    trace = factory.make_trace()
    swaps = {word.encode(): piece for word, piece in HOSTILE.items()}
    return trace.with_(pieces={id_: swaps.get(piece, piece) for id_, piece in trace.pieces.items()})


def parts_trace():
    """Its first round says " there" + "fore", one word of two tokens."""
    trace = factory.make_trace()
    swap = {b" was": b"fore"}
    return trace.with_(pieces={id_: swap.get(piece, piece) for id_, piece in trace.pieces.items()})


MAKERS = {
    "usual": factory.make_trace,
    "hostile": hostile_trace,
    "empty": lambda: factory.make_trace(()),
    "greedy": lambda: factory.make_trace(
        ("AAAA", "AR.."), rule="greedy", sampling=Sampling(temperature=0), replay=1
    ),
    "long": lambda: factory.make_trace(("AAAA", "AR..", "R...", "AAAR", "AAAAA") * 40),
    "parts": parts_trace,
    "few": lambda: factory.make_trace(("", "A", "AR")),
    "deep": lambda: factory.make_trace(("A" * 16, "AAAR" + "." * 12)),
}


def one_more(trace):
    item = factory.make_round(
        "AAR.", index=len(trace.rounds), start=len(trace.run.prompt_ids) + len(trace.emitted)
    )
    return trace.append(item, {id_: laws.PIECES[id_] for id_ in item.ids.tolist()})


def rested():
    st.session_state.rests += 1


def show(trace):
    st.session_state.trace, st.session_state.cursor = trace, Cursor(len(trace.rounds) - 1)


def lose():
    """As when a message is overtaken by the next one and never reaches the browser."""
    show(one_more(one_more(st.session_state.trace)))
    st.session_state["_view_link"].sent = len(st.session_state.trace.rounds) - 1


st.set_page_config(layout="wide")
state = st.session_state
if "trace" not in state:
    state.trace = MAKERS[st.query_params.get("trace", "usual")]()
    state.cursor = Cursor(len(state.trace.rounds) - 1)
    state.scripts = state.rests = 0
    if "unsent" in st.query_params:
        # As when the first message, which holds the script, never reached the browser.
        state["_view_link"] = Link(coded=True)
state.scripts += 1
with st.container(horizontal=True):
    # Callbacks: a click that is only looked at in the script is lost if another event interrupts the script.
    st.button("Next", on_click=lambda: show(one_more(state.trace)))
    st.button("Lose", on_click=lose)
    st.button("Restart", on_click=lambda: show(factory.make_trace(("R...", "AAAA"), seed=9)))
state.cursor = run_view(state.trace, state.cursor, key="view", on_rest=rested)
st.text(f"at {state.cursor.round} {state.cursor.place}, run {state.scripts} times")
st.text(f"rested {state.rests} times")
