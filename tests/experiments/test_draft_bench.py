"""Every draft of a pair is measured on the same prompts, and the rows hang together."""

import pytest

from specdec_core.cli.drafts import HEAD, catalogue, table
from specdec_core.decoding.types import Sampling
from specdec_core.experiments.draft_bench import bench_drafts
from specdec_core.experiments.drafts import DRAFTS
from specdec_core.models.loading import load_spec
from tests.models.tiny import pair_spec


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return load_spec(pair_spec(tmp_path_factory.mktemp("pair")), "cpu")


@pytest.fixture(scope="module")
def rows(pair):
    groups = {"free": ("Once", "There"), "copying": ("a b a b a",)}
    return list(bench_drafts(pair, tokens=6, sampling=Sampling(0.0), groups=groups))


def test_each_draft_to_be_had_has_a_row_for_each_group_of_prompts(pair, rows):
    kinds = [kind.key for kind in DRAFTS.values() if kind.missing(pair) is None]
    assert [(row.answers, row.kind) for row in rows] == [
        (answers, kind) for answers in ("free", "copying") for kind in kinds
    ]


def test_the_oracle_keeps_all_and_every_row_is_within_its_bounds(rows):
    for row in rows:
        assert 1 <= row.tokens_per_round <= row.gamma + 1
        assert row.speedup > 0 and row.predicted > 0 and row.c >= 0
    assert all(row.kept == 1.0 for row in rows if row.kind == "oracle")


def test_the_table_has_a_line_for_each_row_and_the_catalogue_a_sign_for_each_kind(pair, rows):
    lines = table(rows)
    assert len(lines) >= len(rows) + 1 and lines[0].split()[0] == HEAD[0]
    signs = [line for line in catalogue(pair) if not line.startswith(" ")]
    assert [line.split()[1].rstrip(":") for line in signs] == list(DRAFTS)
