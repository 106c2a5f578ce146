"""A sequence whose logits are over the ids that its pair works with, and over no others.

This is the one place where rows of padding are dropped, rows that a draft lacks are filled in,
and ids that must not come up are masked. Decoder, drafts, records and charts see one vocabulary.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from specdec_core.decoding.cache import SequenceModel


def fitted(sequence: SequenceModel, size: int, masked: Sequence[int] = ()) -> SequenceModel:
    """The sequence with logits over ``size`` ids; itself if they are that already.

    Args:
        sequence: a model with its cache.
        size: V, number of ids of the pair.
        masked: ids below V whose logit becomes −inf.

    Example:
        >>> class Padded:
        ...     vocab_size, context_length, length = 4, 8, 0
        ...     def feed(self, ids, keep): return torch.zeros(keep, 4)
        >>> fitted(Padded(), 3, masked=[1]).feed([0], keep=1)
        tensor([[0., -inf, 0.]])
    """
    if sequence.vocab_size == size and not masked:
        return sequence
    return FittedSequence(sequence, size, masked)


class FittedSequence:
    """A ``SequenceModel`` around another one; see ``fitted``."""

    def __init__(self, sequence: SequenceModel, size: int, masked: Sequence[int]) -> None:
        self.inner = sequence
        self.vocab_size = size
        self.context_length = sequence.context_length
        self._masked = torch.tensor([id_ for id_ in masked if id_ < size], dtype=torch.long)

    @property
    def length(self) -> int:
        return self.inner.length

    @property
    def nbytes(self) -> int:
        return self.inner.nbytes

    def feed(self, ids: Sequence[int], keep: int) -> Tensor:
        rows = self.inner.vocab_size
        # A draft never proposes a token it lacks, but may be told that the target wrote one. Any id
        # stands in for it: that costs a little acceptance and leaves the text as it is.
        known = ids if rows >= self.vocab_size else [id_ if id_ < rows else 0 for id_ in ids]
        logits = self.inner.feed(known, keep)[:, : self.vocab_size]
        if rows < self.vocab_size:
            lacking = logits.new_full((len(logits), self.vocab_size - rows), -torch.inf)
            logits = torch.cat([logits, lacking], dim=1)
        if len(self._masked):
            if self._masked.device != logits.device:  # moved once: each time would cost a wait for a GPU
                self._masked = self._masked.to(logits.device)
            logits = logits.index_fill(1, self._masked, -torch.inf)
        return logits

    def rewind(self, length: int) -> None:
        self.inner.rewind(length)
