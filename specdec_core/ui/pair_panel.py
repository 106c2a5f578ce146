"""The choice of pair in the side panel: what it is, whether it can run here, loading it."""

import streamlit as st

from specdec_core.models.errors import PairError
from specdec_core.models.registry import FOLDER, HUB
from specdec_core.ui import actions, cards, hardware, offer, progress, session
from specdec_core.ui.literal import literal
from specdec_core.ui.loading import Loading, Request
from specdec_core.ui.session import Session
from specdec_core.ui.shell import notice

_OWN = "own_models"
_LEFT_TO_IT = "automatic"
_HUB_HELP = "As the Hugging Face hub writes it, such as Qwen/Qwen3-1.7B."
_COMPILE_HELP = (
    "Takes half a minute to a few minutes, once for each model; passes are often a tenth faster then. "
    "The tokens stay the same, probabilities agree within 1e-4. No measured round contains the compiling."
)
_NO_DRAFT = "none: drafts without a second model"


def pair(state: Session) -> None:
    """Draw it."""
    wanted = session.request()
    st.selectbox(
        "Pair",
        session.offered(),
        format_func=lambda key: session.spec(key).title,
        key=session.key("pair"),
        help=literal(session.spec(wanted.pair).summary),
        on_change=actions.choose_pair,
    )
    if limits := offer.limits():
        st.caption(literal(limits))
    loading = state.waiting.loading(wanted)
    told = loading.held is not None or wanted.by_itself
    if not told:
        st.html(cards.card(session.spec(wanted.pair)))
    with st.container(key="pair_more", horizontal=True, gap="small"):
        if told:
            with st.popover("About", type="tertiary"):
                st.html(cards.card(session.spec(wanted.pair)))
        with st.popover("Device", type="tertiary", key="way", on_change="rerun") as way:
            if way.open:
                _way()
        with st.popover("Other models", type="tertiary", key=_OWN, on_change="rerun") as own:
            if own.open:
                _own_pair(state)
    _loading(state, wanted, loading)
    _others(state, wanted)


def _loading(state: Session, wanted: Request, loading: Loading) -> None:
    """How far the pair is: to be asked for, on its way, there, or why not."""
    if loading.trouble:
        notice(loading.trouble, "alert")
    elif loading.ending:
        notice(loading.ending)
    if loading.on_its_way:
        _progress(loading, "load_cancel")
    elif loading.to_be_asked:
        _ask(state, wanted)


def _progress(loading: Loading, key: str) -> None:
    progress.show(loading.progress, key, None if loading.request.by_itself else _cancel, loading)


def _ask(state: Session, wanted: Request) -> None:
    """The checklist and the button that begins; what is in the way keeps it from being pressed."""
    check = state.waiting.checks.get(wanted)
    if check is None:
        st.button("Check this pair", key="check_pair", width="stretch", on_click=_check, args=(wanted,))
        return
    if not check.done:
        progress.show(check.progress)
    elif check.found:
        st.html(cards.checklist(check.found))
    else:
        notice(check.trouble, "alert")
    st.button(
        _load_label(check.found.to_fetch if check.found else 0),
        key="load_pair",
        type="primary",
        width="stretch",
        disabled=not check.done or check.refused,
        on_click=_load,
        args=(wanted,),
    )
    if check.done:
        st.button("Check again", key="check_pair", type="tertiary", on_click=_check, args=(wanted,))


def _load_label(to_fetch: int) -> str:
    """What pressing the button begins.

    >>> _load_label(270 << 20), _load_label(0)
    ('Fetch and load, 270 MiB', 'Load this pair')
    """
    return f"Fetch and load, {cards.size(to_fetch)}" if to_fetch else "Load this pair"


def _others(state: Session, wanted: Request) -> None:
    """Pairs that were asked for and are still on their way, though another one is chosen now."""
    for number, loading in enumerate(state.waiting.elsewhere(wanted)):
        st.caption(literal(f"Still loading: {session.spec(loading.request.pair).title}"))
        _progress(loading, f"other_cancel_{number}")


def _way() -> None:
    """Device, number format and compiling, once torch is there to say what there is."""
    found = hardware.devices()
    if not found:
        st.caption("The devices of this machine are known once torch has been imported, in a few seconds.")
        return
    automatic = f"{_LEFT_TO_IT}: {found[0].title}"
    titles = {hardware.BY_ITSELF: automatic} | {each.name: each.title for each in found}
    bound = session.now_and_then("device", actions.choose_pair)
    st.selectbox("Device", tuple(titles), format_func=titles.get, **bound)
    device = session.request().device
    formats = next((each.dtypes for each in found if each.name == device), found[0].dtypes)
    usual = session.spec(session.request().pair).dtype or formats[0]
    if session.value_of("dtype") not in formats:
        session.put("dtype", hardware.BY_ITSELF)
    st.selectbox(
        "Number format of the weights",
        (hardware.BY_ITSELF, *formats),
        format_func=lambda name: name or f"{_LEFT_TO_IT}: {usual}",
        **session.now_and_then("dtype", actions.choose_pair),
    )
    reason = hardware.why_not_compiled(device)
    bound = session.now_and_then("compiled", actions.choose_pair)
    st.toggle("Compile the passes", disabled=bool(reason), help=_COMPILE_HELP, **bound)
    if reason:
        st.caption(literal(reason))


def _own_pair(state: Session) -> None:
    """Two models of the visitor's own choice: from the hub, or from the folders of this server."""
    folders = offer.folders()
    sources = [*([HUB] if offer.hub_is_open() else []), *([FOLDER] if folders else [])]
    if not sources:
        return
    source = st.segmented_control(
        "Models from",
        sources,
        format_func={HUB: "The hub", FOLDER: "Folders here"}.get,
        default=sources[0],
        key="own_source",
        required=True,
    )
    if source == FOLDER:
        target = st.selectbox("Target", folders, key="own_target_folder")
        draft = st.selectbox(
            "Draft", ("", *folders), format_func=lambda name: name or _NO_DRAFT, key="own_draft_folder"
        )
    else:
        target = st.text_input("Target", key="own_target_hub", placeholder="Qwen/Qwen3-1.7B", help=_HUB_HELP)
        draft = st.text_input(
            "Draft", key="own_draft_hub", placeholder="none, or Qwen/Qwen3-0.6B", help=_HUB_HELP
        )
    st.button(
        "Use these models", key="own_pair", width="stretch", on_click=_use, args=(source, target, draft)
    )
    if state.pair_trouble:
        notice(state.pair_trouble, "alert")
    if not folders and offer.hub_is_open():
        st.caption("SPECDEC_MODELS_DIR, set when the server starts, offers folders with models of your own.")


def _use(source: str, target: str, draft: str) -> None:
    state = session.current()
    try:
        session.add_pair(offer.put_together(source, target, draft))
        state.pair_trouble = ""
        st.session_state[_OWN] = False
        state.waiting.check(session.request())
    except PairError as error:
        state.pair_trouble = str(error)
    actions.redraw("round", "panel", "badge")


def _load(wanted: Request) -> None:
    session.current().waiting.ask(wanted)
    actions.redraw("round", "panel", "badge")


def _check(wanted: Request) -> None:
    session.current().waiting.check(wanted)
    actions.redraw("panel", "badge")


def _cancel(loading: Loading) -> None:
    loading.cancel()
    session.current().waiting.begin(session.request())
    actions.redraw("round", "panel", "badge")
