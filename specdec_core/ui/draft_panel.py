"""The choice of draft in the side panel, with its options, once the pair is loaded that it drafts for."""

from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from specdec_core.ui import actions, progress, session
from specdec_core.ui.literal import literal
from specdec_core.ui.session import Session
from specdec_core.ui.shell import notice

if TYPE_CHECKING:
    from specdec_core.experiments.draft_options import Option
    from specdec_core.experiments.drafts import DraftKind
    from specdec_core.models.pair import Pair
    from specdec_core.ui.draft_choice import Chosen

_KIND = "draft_kind"
_HELP = (
    "What guesses ahead. Whatever drafts, the text is the target's own; only the speed differs. It "
    "belongs to a new run: a run that has been started keeps its draft."
)

_BEING_PREPARED = "The copy of the target that this draft needs is being made."
_NOT_PREPARED = "This draft needs a copy of the target first: press “Prepare this draft”."


def draft(state: Session) -> None:
    """Draw it."""
    pair = state.waiting.loading(session.request()).held
    if pair is None:
        return
    from specdec_core.experiments.drafts import DRAFTS  # imports torch, which is there with the pair
    from specdec_core.ui.draft_choice import chosen

    found = chosen(pair, session.chosen().draft)
    reasons = {key: kind.missing(pair) for key, kind in DRAFTS.items()}
    st.session_state[_KIND] = found.kind.key
    st.selectbox(
        "Draft",
        [key for key, reason in reasons.items() if not reason],
        format_func=lambda key: DRAFTS[key].title,
        key=_KIND,
        help=_HELP,
        on_change=_take_kind,
    )
    if found.remark:
        notice(found.remark, "alert")
    if state.live and session.chosen().draft != state.started.draft:
        st.caption("The run on screen keeps the draft that it was started with; this one acts in a new run.")
    with st.container(key="draft_more", horizontal=True, gap="small"):
        with st.popover("About this draft", type="tertiary"):
            st.html(
                card(found.kind, {DRAFTS[key].title: reason for key, reason in reasons.items() if reason})
            )
        _options(pair, found)
    _preparation(state, pair, found.kind)


def not_ready(state: Session) -> str:
    """Why no run can be started with the draft that is chosen, or ""."""
    pair = state.waiting.loading(session.request()).held
    if pair is None:
        return ""
    from specdec_core.ui.draft_choice import chosen

    kind = chosen(pair, session.chosen().draft).kind
    work = state.waiting.drafts.get((session.request(), kind.key))
    if work and not work.done:
        return _BEING_PREPARED
    return "" if kind.ready(pair) else _NOT_PREPARED


def wise_length(state: Session) -> None:
    """Offer a draft length that suits the draft, for those who want it."""
    pair = state.waiting.loading(session.request()).held
    if pair is None:
        return
    from specdec_core.ui.draft_choice import chosen

    kind = chosen(pair, session.chosen().draft).kind
    if not kind.end and abs(session.chosen().gamma - kind.gamma) > 1:
        label = f"γ = {kind.gamma} suits this draft: use it"
        st.button(label, key="wise_gamma", type="tertiary", on_click=_use_length, args=(kind.gamma,))


def card(kind: "DraftKind", reasons: dict[str, str]) -> str:
    """What a draft does, what it costs, where it comes from, and which others there are not."""
    rows = (("Cost", kind.cost), ("q", kind.law), ("Source", kind.source))
    facts = "".join(f"<dt>{name}</dt><dd>{escape(words)}</dd>" for name, words in rows)
    missing = "".join(
        f"<li><b>{escape(title)}</b> {escape(reason)}</li>" for title, reason in reasons.items()
    )
    rest = f"<p>Not for this pair:</p><ul>{missing}</ul>" if missing else ""
    return f'<div class="pair-card"><p>{escape(kind.summary)}</p><dl>{facts}</dl>{rest}</div>'


def _options(pair: "Pair", found: "Chosen") -> None:
    options = found.kind.options(pair)
    if not options:
        return
    values = found.kind.complete(pair, found.options)
    with st.popover("Options", type="tertiary"):
        for option in options:
            st.session_state[_key(found.kind, option)] = values[option.key]
            _option(found.kind, option)


def _option(kind: "DraftKind", option: "Option") -> None:
    common = {"key": _key(kind, option), "help": literal(option.help), "on_change": _take_options}
    if option.choices:
        st.segmented_control(
            option.title, option.choices, format_func=str.capitalize, required=True, **common
        )
        return
    number = type(option.default)
    low, high, step = (number(each) for each in (option.minimum, option.maximum, option.step))
    if low == high:
        st.caption(literal(f"{option.title}: {low}, for this target nothing else."))
    else:
        st.slider(option.title, low, high, step=step, **common)


def _preparation(state: Session, pair: "Pair", kind: "DraftKind") -> None:
    """The copy of the target that some drafts need: made when asked for, with its progress."""
    work = state.waiting.drafts.get((session.request(), kind.key))
    if work and work.trouble:
        notice(work.trouble, "alert")
    if work and not work.done:
        progress.show(work.progress, "draft_cancel", _cancel, kind.key)
    elif not kind.ready(pair):
        st.caption(
            "It needs a copy of the target, which takes about as long to make as loading the target did."
        )
        st.button("Prepare this draft", key="prepare_draft", width="stretch", on_click=_prepare)


def _key(kind: "DraftKind", option: "Option") -> str:
    return f"draft_{kind.key}_{option.key}"


def _take_kind() -> None:
    _take(lambda kind, pair: kind.complete(pair, {}))


def _take_options() -> None:
    _take(lambda kind, pair: {each.key: st.session_state[_key(kind, each)] for each in kind.options(pair)})


def _take(options) -> None:
    """Hold on to what the controls say, in the form that links carry."""
    pair = session.current().waiting.loading(session.request()).held
    if pair is not None:
        from specdec_core.experiments.drafts import DRAFTS
        from specdec_core.ui.draft_choice import changed

        kind = DRAFTS[st.session_state[_KIND]]
        session.put("draft", changed(kind, pair, options(kind, pair)))


def _prepare() -> None:
    state, wanted = session.current(), session.request()
    pair = state.waiting.loading(wanted).held
    if pair is not None:
        from specdec_core.ui.draft_choice import chosen

        state.waiting.prepare(wanted, chosen(pair, session.chosen().draft).kind, pair)
    actions.redraw("panel", "badge")


def _cancel(kind: str) -> None:
    session.current().waiting.drafts[session.request(), kind].cancel()
    actions.redraw("panel", "badge")


def _use_length(gamma: int) -> None:
    session.put("gamma", gamma)
