"""Making in the background what a draft needs beside its pair, such as a copy of the target in fewer bits."""

from functools import partial
from typing import TYPE_CHECKING

from specdec_core.ui.background import MeteredWork

if TYPE_CHECKING:
    from specdec_core.experiments.drafts import DraftKind
    from specdec_core.models.pair import Pair


class Preparing(MeteredWork[None]):
    """A draft being made ready; begun at once.

    Args:
        kind: the kind of draft.
        pair: the loaded pair it shall draft for.
    """

    def __init__(self, kind: "DraftKind", pair: "Pair") -> None:
        super().__init__("preparing a draft", partial(kind.prepare, pair), ValueError)
