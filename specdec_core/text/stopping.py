"""Text that ends a run, told from token ids."""

from collections.abc import Callable, Sequence

from specdec_core.decoding.types import EndReason, Stop


def stop_at(strings: Sequence[str], piece: Callable[[int], bytes]) -> Stop | None:
    """A condition that ends a run with the token that completes the first of some texts.

    The text is looked for in the bytes of all that was emitted, so it may begin and end within
    tokens and lie across several of them, and across rounds. The token that completes it is the
    run's last, whatever else that token holds: text, ids and probabilities end at one place.

    Args:
        strings: texts; none of them empty.
        piece: the bytes of a token id.

    Returns:
        None where there are no texts.

    Raises:
        ValueError: one of the texts is empty.

    Example:
        >>> pieces = [b"The", b" en", b"d. M", b"ore"]
        >>> stop = stop_at(["end."], pieces.__getitem__)
        >>> stop([0, 1]), stop([0, 1, 2, 3])
        (None, (3, <EndReason.STOP_STRING: 'stop string'>))
    """
    if "" in strings:
        raise ValueError("a stop string is empty; every text contains it")
    wanted = [text.encode(errors="surrogatepass") for text in strings]

    def stop(ids: Sequence[int]) -> tuple[int, EndReason] | None:
        pieces = [piece(id_) for id_ in ids]
        end = _first_end(b"".join(pieces), wanted)
        return None if end is None else (_tokens_up_to(pieces, end), EndReason.STOP_STRING)

    return stop if wanted else None


def _first_end(text: bytes, wanted: Sequence[bytes]) -> int | None:
    """Where the first of the texts to be completed is complete."""
    ends = [place + len(each) for each in wanted if (place := text.find(each)) >= 0]
    return min(ends, default=None)


def _tokens_up_to(pieces: Sequence[bytes], end: int) -> int:
    """How many tokens it takes to have so many bytes."""
    length = 0
    for count, each in enumerate(pieces, 1):
        length += len(each)
        if length >= end:
            return count
    return len(pieces)
