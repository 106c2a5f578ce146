"""Caches of runs that nobody uses are given back, oldest first, and no more of them than needed."""

import gc

from specdec_core.experiments.idle import IdleCaches


class Run:
    def __init__(self, size: int) -> None:
        self.cache_bytes = size

    def rest(self) -> None:
        self.cache_bytes = 0


def test_the_runs_used_longest_ago_rest_first_and_only_as_many_as_needed():
    shelf, runs = IdleCaches(most_bytes=250), [Run(100) for _ in range(4)]
    for run in runs[:2]:
        shelf.used(run)
    assert [run.cache_bytes for run in runs] == [100, 100, 100, 100]
    shelf.used(runs[0])
    shelf.used(runs[2])
    assert [run.cache_bytes for run in runs] == [100, 0, 100, 100]


def test_the_run_in_use_never_rests_however_large_it_is():
    shelf, run = IdleCaches(most_bytes=10), Run(100)
    shelf.used(run)
    assert run.cache_bytes == 100


def test_a_run_that_is_gone_is_not_kept_alive_and_not_counted():
    shelf, kept = IdleCaches(most_bytes=150), Run(100)
    shelf.used(kept)
    gone = Run(100)
    shelf.used(Run(0))
    del gone
    gc.collect()
    shelf.used(Run(20))
    assert kept.cache_bytes == 100
