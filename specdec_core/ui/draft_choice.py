"""The draft that a run gets: what was chosen, as far as it is to be had for the loaded pair.

Imports torch with the catalogue of drafts, so it is imported only once a pair is there.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from specdec_core.experiments.drafts import DRAFTS, DraftError, DraftKind, DraftSettings, default_draft
from specdec_core.models.pair import Pair
from specdec_core.ui import drafts
from specdec_core.ui.drafts import Value


@dataclass(frozen=True)
class Chosen:
    """A draft for a pair.

    Attributes:
        kind: what drafts.
        options: those of its options that differ from their defaults.
        remark: what could not be had as it was chosen, as a sentence, or "".
    """

    kind: DraftKind
    options: Mapping[str, Value]
    remark: str = ""

    @property
    def settings(self) -> DraftSettings:
        """As a run takes it."""
        return DraftSettings.of(self.kind.key, **self.options)


def chosen(pair: Pair, text: str) -> Chosen:
    """The draft of a text in the form of ``drafts.written``, or the pair's own where there is no such draft.

    Args:
        pair: the loaded pair.
        text: what was chosen, on the page or by a link; "" for the pair's own.
    """
    own = DRAFTS[default_draft(pair).kind]
    if not text:
        return Chosen(own, {})
    key, options = drafts.read(text)
    if key not in DRAFTS:
        return Chosen(own, {}, f"There is no draft “{key}”; {_instead(own)}")
    kind = DRAFTS[key]
    if reason := kind.missing(pair):
        return Chosen(own, {}, f"{kind.title}: {reason} Instead, {_instead(own)}")
    try:
        return Chosen(kind, _unusual(kind, pair, kind.complete(pair, options)))
    except DraftError as error:
        return Chosen(kind, {}, f"{str(error)[0].upper()}{str(error)[1:]}. Its usual options are used.")


def changed(kind: DraftKind, pair: Pair, options: Mapping[str, Value]) -> str:
    """The text of a draft with these options; "" for the pair's own draft as it usually is.

    Args:
        kind: what drafts.
        pair: the loaded pair.
        options: the value of each option.
    """
    unusual = _unusual(kind, pair, options)
    own = default_draft(pair).kind == kind.key
    return "" if own and not unusual else drafts.written(kind.key, unusual)


def _unusual(kind: DraftKind, pair: Pair, options: Mapping[str, Value]) -> dict[str, Value]:
    return {each.key: options[each.key] for each in kind.options(pair) if options[each.key] != each.default}


def _instead(own: DraftKind) -> str:
    return f"{own.title[0].lower()}{own.title[1:]} drafts."
