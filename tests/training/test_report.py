"""The report counts tested places only, and the cards quote the report."""

import json
from types import SimpleNamespace

import pytest

from specdec_core.traces.trace import CostTable
from specdec_core.training import report
from specdec_core.training.cards import BOOKS, card, header, training_words
from specdec_core.training.distil import Material
from specdec_core.training.report import summarise, write_report
from specdec_core.training.shapes import DRAFT
from tests.traces.factory import make_round, make_trace


def test_means_are_taken_over_tested_places():
    rounds = [make_round("AAR.", index=0), make_round("AAAA", index=1), make_round("R...", index=2)]
    measured = summarise(rounds)
    assert measured.tested == 3 + 4 + 1
    assert measured.kept_of_tested == pytest.approx(6 / 8)
    assert measured.accepted_per_round == pytest.approx(6 / 3)
    betas = [*rounds[0].places.overlap[:3], *rounds[1].places.overlap, *rounds[2].places.overlap[:1]]
    assert measured.overlap == pytest.approx(sum(betas) / 8)


REPORT = {
    "gamma": 4,
    "new_tokens": 64,
    "prompts": ["Once upon a time"] * 20,
    "held_out_nats_per_character": {"target": 1.0125, "draft": 1.3456},
    "sample": "A king.\nA hen.",
    "drafts": {
        "draft": {
            "acceptance": {
                "temperature 1": {
                    "overlap": 0.7654,
                    "kept_of_tested": 0.75,
                    "accepted_per_round": 2.345,
                    "rounds": 321,
                    "tested": 999,
                }
            },
            "cost": {
                "target_ms": 6.0,
                "draft_ms": 0.9,
                "c": 0.15,
                "threads": 2,
                "processor": "a processor",
                "busy": False,
            },
        }
    },
}


def _card(name: str) -> str:
    training = training_words(name, 2_500_000, 600.0, Material(short=1600, long=96, text=256))
    return card(name, header(name, DRAFT, 772_864), training, REPORT)


def test_a_draft_card_quotes_what_was_measured():
    text = _card("draft")
    for figure in (
        "772,864 parameters",
        "0.765",
        "2.35 of 4",
        "c = 0.15",
        "2.50 million tokens (10 minutes",
        "1,600",
    ):
        assert figure in text
    assert all(book in text for book in BOOKS)


def test_the_target_card_shows_its_text_as_it_came():
    text = _card("target")
    assert "> A king." in text and "> A hen." in text
    assert "1.012 nats a character" in text


def test_a_report_is_written_whole(tmp_path):
    write_report(tmp_path / "report.json", REPORT)
    assert json.loads((tmp_path / "report.json").read_text()) == REPORT
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_draft_costs_in_the_cards_what_it_costs_in_the_app(monkeypatch):
    """c has one home: the report only converts what the app's cost table says."""
    table = CostTable((1,), (0.005,), (0.001,), plain=0.006, draft=0.0009, context=96, repeats=101)
    monkeypatch.setattr(report, "measure_costs", lambda pair, tokens, repeats: table)
    pair = SimpleNamespace(machine=make_trace().machine)
    cost = report.measure_cost(pair)
    assert (cost.target_ms, cost.draft_ms, cost.c) == pytest.approx((6.0, 0.9, table.c))
    assert (cost.threads, cost.processor) == (pair.machine.threads, pair.machine.processor)
