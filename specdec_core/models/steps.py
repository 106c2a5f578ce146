"""The faster passes of a model, made once after loading: compiled on a processor, captured on a GPU."""

from typing import Protocol

import torch
from torch import nn

from specdec_core.decoding.cache import SequenceModel
from specdec_core.models.captured import CapturedSteps
from specdec_core.models.compiled import CompiledSteps, opaque
from specdec_core.models.errors import PairError
from specdec_core.models.lean import LeanLlama
from specdec_core.models.progress import Meter
from specdec_core.models.trial import try_out


class Steps(Protocol):
    """A model's passes, shared by all of its runs."""

    def sequence(self, logits_on: torch.device | None = None) -> SequenceModel:
        """The model with an empty cache; ``logits_on`` as in ``CachedModel``."""
        ...

    def compile(self, meter: Meter) -> None:
        """Make the passes; raises PairError where that cannot be done."""
        ...


def make_steps(passes: nn.Module | LeanLlama, title: str, meter: Meter) -> Steps:
    """The passes of a model made faster, and tried out.

    Args:
        passes: the model; its packed layers are made ``opaque`` in place.
        title: its name, for messages.
        meter: told of every stage; a cancelled meter ends the work.

    Raises:
        PairError: this kind of model cannot be compiled or captured, or gives other logits then.
        Cancelled: the work was cancelled.
    """
    weights = list(passes.parameters())
    if len({weight.device for weight in weights}) > 1:
        raise PairError(
            f"{title} lies on several GPUs, which no graph spans. Choose one of them, or run it as it is."
        )
    if weights[0].device.type == "cuda":
        steps: Steps = CapturedSteps(passes, title)
    else:
        # A lean model has layers of its own, made for the compiler already.
        steps = CompiledSteps(passes if isinstance(passes, LeanLlama) else opaque(passes), title)
    steps.compile(meter)
    try_out(title, steps.sequence(), weights[0].dtype)
    return steps
