"""A batch depends on the seed and the step alone, and a pass covers the stream once."""

import numpy as np
import pytest

from specdec_core.training.batches import gather, window_starts


def test_a_step_always_has_the_same_windows():
    assert np.array_equal(window_starts(5000, 64, 4, 9, seed=1), window_starts(5000, 64, 4, 9, seed=1))
    assert not np.array_equal(window_starts(5000, 64, 4, 9, seed=1), window_starts(5000, 64, 4, 9, seed=2))


def test_the_windows_of_one_pass_do_not_overlap_and_leave_little_out():
    size, window = 5000, 64
    starts = np.sort(np.concatenate([window_starts(size, window, 1, step, seed=1) for step in range(77)]))
    assert (np.diff(starts) == window).all()
    assert starts[0] < window
    assert size - 2 * window <= starts[-1] + window < size


def test_a_stream_shorter_than_two_windows_is_refused():
    with pytest.raises(ValueError, match="too short"):
        window_starts(100, 64, 1, 0, seed=1)


def test_gather_takes_consecutive_entries():
    rows = gather(np.arange(100), np.array([3, 50]), 4)
    assert rows.tolist() == [[3, 4, 5, 6], [50, 51, 52, 53]]
