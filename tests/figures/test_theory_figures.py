"""Figures of the closed forms and of one place: they draw what the formulas say."""

import json

import numpy as np
import pytest

from specdec_core import theory
from specdec_core.figures import overlap, style
from specdec_core.figures import theory as curves
from specdec_core.figures.palette import DARK, LIGHT, Palette, palette_for

DIGITS = ("1", "2", "1E1", "2024-01-01", "10", "10")
TARGET = (0.30, 0.25, 0.20, 0.15, 0.10, 0.00)
DRAFT = (0.10, 0.30, 0.00, 0.15, 0.25, 0.20)


def flat(gamma: int) -> float:
    return 1.0


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_words_and_marks_are_legible_on_their_surface(palette: Palette) -> None:
    for words in (palette.ink, palette.grey, palette.draft_text, palette.target_text):
        assert contrast(words, palette.surface) >= 4.5
    for marks in (palette.draft_line, palette.target_line, palette.target_fill):
        assert contrast(marks, palette.surface) >= 3


def test_an_unknown_theme_is_light() -> None:
    assert palette_for("dark") is DARK
    assert palette_for("light") is palette_for(None) is palette_for("sepia") is LIGHT


def test_digit_like_tokens_keep_their_rows_order_and_names() -> None:
    fig = overlap.overlap(LIGHT, DIGITS, TARGET, DRAFT)
    for bars in fig.data:
        assert len(bars.y) == len(set(bars.y.tolist())) == len(DIGITS)
    assert tuple(fig.layout.yaxis.ticktext) == DIGITS
    assert fig.layout.yaxis.type == "linear"
    assert fig.layout.autotypenumbers == "strict"


def test_tokens_are_shown_literally() -> None:
    fig = overlap.overlap(LIGHT, ("<b>$x$</b>", "&lt;", "⏎"), (0.5, 0.3, 0.2), (0.2, 0.2, 0.6))
    assert fig.layout.yaxis.ticktext == ("&lt;b&gt;&#36;x&#36;&lt;/b&gt;", "&amp;lt;", "⏎")


def test_draft_target_and_overhang_have_their_lengths() -> None:
    draft, left_over, target = overlap.overlap(LIGHT, DIGITS, TARGET, DRAFT).data
    np.testing.assert_allclose(draft.x, DRAFT, rtol=1e-6)
    np.testing.assert_allclose(target.x, TARGET, rtol=1e-6)
    np.testing.assert_allclose(left_over.x, np.maximum(np.subtract(TARGET, DRAFT), 0), atol=1e-7)
    np.testing.assert_allclose(np.asarray(left_over.base, float), np.minimum(TARGET, DRAFT), rtol=1e-6)


def test_kept_mass_and_residual_rebuild_the_target() -> None:
    kept, left_over, target = overlap.rebuilt(LIGHT, DIGITS, TARGET, DRAFT).data
    np.testing.assert_allclose(kept.x + left_over.x, target.x, atol=1e-7)
    np.testing.assert_allclose(np.asarray(left_over.base, float), kept.x)


@pytest.mark.parametrize("gamma", [0, 1, 4, 16])
@pytest.mark.parametrize("alpha", [0.0, 0.75, 1.0])
def test_curves_follow_the_closed_forms_up_to_their_ends(alpha: float, gamma: int) -> None:
    tokens = curves.expected_tokens(LIGHT, alpha, gamma)
    lengths = curves.round_lengths(LIGHT, alpha, gamma)
    gain = curves.speedup(LIGHT, alpha, gamma, 0.2, flat)
    assert tokens.data[-1].y[0] == pytest.approx(theory.expected_tokens(alpha, gamma))
    assert lengths.data[0].y.sum() == pytest.approx(1)
    np.testing.assert_allclose(lengths.data[0].y, theory.tokens_distribution(alpha, gamma), atol=1e-7)
    np.testing.assert_allclose(gain.data[1].y, theory.speedup(alpha, np.arange(17), 0.2), rtol=1e-6)
    assert gain.data[2].y[0] == pytest.approx(float(theory.speedup(alpha, gamma, 0.2)))
    for fig in (tokens, lengths, gain):
        assert "nan" not in fig.to_json().lower().replace("dominant", "")
        assert len(style.alt(fig)) > 15


def test_every_draft_length_asked_for_has_a_curve_and_the_chosen_one_stands_out() -> None:
    fig = curves.expected_tokens(LIGHT, 0.6, 5, others=(1, 2, 5))
    widths = [curve.line.width for curve in fig.data[:-1]]
    assert len(widths) == 3
    assert widths.index(max(widths)) == 2


@pytest.mark.parametrize(("alpha", "c"), [(0.8, 0.1), (0.5, 0.3), (0.1, 0.5)])
def test_the_best_length_is_marked(alpha: float, c: float) -> None:
    fig = curves.speedup(LIGHT, alpha, 4, c, flat)
    best = theory.best_gamma(alpha, c, longest=16)
    assert f"best γ = {best}:" in fig.layout.annotations[0].text
    assert fig.layout.annotations[0].x == best


def test_no_chart_can_be_sent_anywhere() -> None:
    buttons = {button for group in style.CONFIG["modeBarButtons"] for button in group}
    assert not {button for button in buttons if "cloud" in button.lower() or "share" in button.lower()}
    assert style.CONFIG["displaylogo"] is False
    assert "http" not in json.dumps(style.CONFIG)


@pytest.mark.parametrize(
    ("points", "wanted"),
    [
        ([], None),
        ([{"x": 1}], None),
        ([{"customdata": []}], None),
        ([{"customdata": {"0": "7"}}], None),
        ([{"x": 1}, {"customdata": [4, 2]}], 4),
        ([{"customdata": {"0": 0, "1": 3}}], 0),
    ],
)
def test_a_click_without_a_round_is_no_round(points: list[dict], wanted: int | None) -> None:
    assert style.clicked_round(points) == wanted


@pytest.mark.parametrize("gamma", [0, 3, 8, 16])
def test_labels_at_the_ends_of_the_curves_do_not_overlap(gamma: int) -> None:
    fig = curves.expected_tokens(LIGHT, 0.6, gamma)
    ends = sorted(label.y for label in fig.layout.annotations if "γ = " in label.text)
    assert gamma + 1 in ends
    assert not np.diff(ends).size or np.diff(ends).min() >= max(ends) / 16
