"""A model shows that it can be rewound before it is run: what no config tells for certain.

transformers passes unknown arguments over in silence, and some of its models keep a state of
their own, read the text in both directions, or do not use the cache that they are given. Each
would write nonsense without a word. A few tokens are enough to see it.
"""

import torch
from torch import Tensor

from specdec_core.decoding.cache import SequenceModel
from specdec_core.models.errors import PairError

TOKENS = (3, 1, 2, 4)
"""Read in the trial; every vocabulary has them."""

TOLERANCE = {torch.float32: 0.02}
"""How far logits may differ from pass to pass, as a share of their spread, by number format."""

COARSE = 0.3
"""The same for formats of 16 bits, in which a mixture of experts may choose others."""


def try_out(name: str, sequence: SequenceModel, dtype: torch.dtype) -> None:
    """Read a few tokens in pieces, rewind, read some again, and compare with one pass over all.

    Args:
        name: the model's, for the message.
        sequence: the model with an empty cache; it is empty afterwards.
        dtype: number format of the weights.

    Raises:
        PairError: the model fails, or its logits depend on how the tokens were fed.
    """
    if sequence.context_length < len(TOKENS) or sequence.vocab_size <= max(TOKENS):
        return
    try:
        whole, pieces = _whole(name, sequence), _in_pieces(sequence)
    except PairError:
        raise
    except Exception as error:
        # A model of any kind may be fed here for the first time: what it raises is as open as what it is.
        raise PairError(f"{name} cannot be run: a trial pass failed ({type(error).__name__}).") from error
    if differ(whole, pieces, tolerance(dtype)):
        raise PairError(
            f"{name} cannot be run: it gives other logits when a text is read in pieces and partly again, "
            "so rejected drafts would leave something behind."
        )


def _whole(name: str, sequence: SequenceModel) -> Tensor:
    """Logits of all tokens but the second from one pass; [3, V]."""
    logits = sequence.feed(TOKENS, keep=len(TOKENS))
    if sequence.length != len(TOKENS):
        raise PairError(f"{name} cannot be run: it does not keep its past in the cache that it is given.")
    sequence.rewind(0)
    return logits[[0, 2, 3]]


def _in_pieces(sequence: SequenceModel) -> Tensor:
    """The same from two passes, the second one after a rejected draft and asked for its last rows alone."""
    first = sequence.feed(TOKENS[:1], keep=1)
    sequence.feed((TOKENS[1], TOKENS[0]), keep=1)
    sequence.rewind(1)
    rest = sequence.feed(TOKENS[1:], keep=len(TOKENS) - 2)
    sequence.rewind(0)
    return torch.cat([first, rest])


def tolerance(dtype: torch.dtype) -> float:
    """How far logits may differ from pass to pass with weights in this format, as a share of their spread."""
    return TOLERANCE.get(dtype, COARSE)


def differ(one: Tensor, other: Tensor, most: float) -> bool:
    """Whether two passes gave other logits.

    Args:
        one, other: [P, V]. most: of their mean difference, as a share of the spread of ``one``.

    Example:
        >>> logits = torch.tensor([[0.0, 1.0, 2.0]])
        >>> differ(logits, logits + 0.001, 0.02), differ(logits, logits.flip(1), 0.02)
        (False, True)
        >>> differ(logits, logits / 0, 0.02)
        True
    """
    if one.shape != other.shape or not torch.equal(one.isfinite(), other.isfinite()):
        return True
    known = one.isfinite()  # whether logits are usable at all is another check's matter
    one, other = one[known], other[known]
    return bool(known.any()) and bool((one - other).abs().mean() > most * one.std().clamp_min(1e-6))
