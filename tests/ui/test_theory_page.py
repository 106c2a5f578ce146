"""The Theory page stands on its own, and its sliders move what it says."""

import json
import tomllib
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]
FIGURES = 5


@pytest.fixture
def page() -> AppTest:
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).switch_page("pages/theory.py").run()


def formulas(page: AppTest) -> str:
    return "".join(block.value for block in page.latex)


def text(page: AppTest) -> str:
    return "\n".join(block.value for block in page.markdown)


def test_the_page_opens_by_itself_with_its_figures_and_words(page: AppTest) -> None:
    assert not page.exception
    assert len(page.get("plotly_chart")) == FIGURES
    words = tomllib.loads((ROOT / "assets" / "theory.toml").read_text(encoding="utf-8"))["word"]
    assert all(f"**{word['term']}.**" in text(page) for word in words)


def test_every_figure_is_told_in_words(page: AppTest) -> None:
    assert all(len(chart.proto.alt) > 15 for chart in page.get("plotly_chart"))


def test_the_sums_equal_the_target_whatever_the_draft(page: AppTest) -> None:
    for weight in (0, 3, 10):
        page.slider(key="q_king").set_value(weight).run()
        assert not page.exception
        for target in ("= 0.50 = p", "= 0.30 = p", "= 0.20 = p"):
            assert target in formulas(page)


@pytest.mark.parametrize("letter", ["p", "q"])
def test_all_weights_at_zero_are_equal_ones(page: AppTest, letter: str) -> None:
    for name in ("king", "wolf", "sun"):
        page.slider(key=f"{letter}_{name}").set_value(0)
    page.run()
    assert not page.exception
    first = json.loads(page.get("plotly_chart")[0].proto.spec)
    assert len(first["data"]) == 3


def test_equal_distributions_leave_no_residual(page: AppTest) -> None:
    for name, weight in (("king", 5), ("wolf", 3), ("sun", 2)):
        page.slider(key=f"q_{name}").set_value(weight)
    page.run()
    assert not page.exception
    assert "β = 1.00" in text(page)
    assert "nan" not in formulas(page)


def test_weights_that_are_all_0_are_answered(page: AppTest) -> None:
    for name in ("king", "wolf", "sun"):
        page.slider(key=f"q_{name}").set_value(0)
    page.run()
    assert ["All weights are 0" in item.value for item in page.caption].count(True) == 1


def test_a_perfect_draft_gives_every_token(page: AppTest) -> None:
    page.slider(key="alpha").set_value(1.0)
    page.slider(key="gamma").set_value(8)
    page.slider(key="c").set_value(0.0)
    page.slider(key="extra").set_value(0.0)
    page.run()
    assert "**9.00 tokens**" in text(page)
    assert "**9.00×**" in text(page)


def test_drafting_nothing_is_plain_decoding(page: AppTest) -> None:
    page.slider(key="gamma").set_value(0).run()
    assert not page.exception
    assert "**1.00×**" in text(page)


def test_a_hostile_link_falls_back_to_the_defaults() -> None:
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).switch_page("pages/theory.py")
    page.query_params["gamma"] = "<script>"
    page.query_params["alpha"] = "NaN"
    page.query_params["c"] = "1e99"
    page.run()
    assert not page.exception
    assert "3.05 tokens" in text(page)
