"""Windows of a token stream, chosen by step number alone.

A batch is a pure function of (seed, step): a resumed run needs no generator state and
sees exactly what an uninterrupted one would have seen.
"""

from functools import lru_cache

import numpy as np


def window_starts(size: int, window: int, batch: int, step: int, seed: int) -> np.ndarray:
    """First positions of the windows of one step over a stream of `size` tokens.

    Every pass over the stream has its own phase and its own order, and leaves out at most
    two windows' worth of tokens.
    """
    per_pass = (size - 1) // window - 1
    if per_pass < 1:
        raise ValueError(f"a stream of {size} tokens is too short for windows of {window}")
    places = range(step * batch, (step + 1) * batch)
    return np.array([_pass(per_pass, window, seed, i // per_pass)[i % per_pass] for i in places])


@lru_cache(maxsize=4)
def _pass(per_pass: int, window: int, seed: int, number: int) -> np.ndarray:
    generator = np.random.default_rng((seed, window, number))
    return generator.integers(window) + window * generator.permutation(per_pass)


def gather(stream: np.ndarray, starts: np.ndarray, length: int) -> np.ndarray:
    """Rows of `length` consecutive entries, one for each start."""
    return stream[starts[:, None] + np.arange(length)]
