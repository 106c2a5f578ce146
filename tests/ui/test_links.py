"""A link brings back what it was made from; whatever else one holds is answered, never obeyed."""

from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_core.decoding.settings import RuleName
from specdec_core.ui.links import about, link, read, theory_remarks
from specdec_core.ui.settings import DEFAULT, MAX_GAMMA, PROMPT_LIMIT, Settings
from tests.traces.factory import make_trace

PAIRS = ("embedded", "embedded-weak")

valid = st.builds(
    Settings,
    pair=st.sampled_from(PAIRS),
    prompt=st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
    seed=st.integers(0, 2**64 - 1),
    rule=st.sampled_from(RuleName),
    max_tokens=st.integers(1, 512),
    draft=st.sampled_from(["", "uniform", "suffix,factor=1.5,max_match=12"]),
    chat=st.booleans(),
    system=st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
    stop=st.sampled_from(["", "The end", "\\n\\n\n\N{WOLF FACE}"]),
    gamma=st.integers(0, MAX_GAMMA),
    temperature=st.floats(0, 2),
    top_k=st.integers(0, 200),
    top_p=st.floats(0.05, 1),
)


@given(valid)
def test_a_link_brings_back_the_settings_it_was_made_from(settings):
    url = link(settings, "http://127.0.0.1:8501/?old=1")
    query = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    assert read(query, PAIRS) == (settings, ())


def test_a_link_to_the_defaults_is_the_bare_page():
    assert link(DEFAULT, "http://127.0.0.1:8501/") == "http://127.0.0.1:8501/"


def test_a_prompt_that_cannot_be_encoded_still_gives_a_link():
    assert "prompt=" in link(Settings(prompt="half a pair \ud83d"), "http://h/")


def test_a_prompt_that_cannot_be_run_is_not_shared():
    assert link(Settings(prompt="x" * (PROMPT_LIMIT + 1)), "http://h/") == "http://h/"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"gamma": "99"}, ["γ 99", "16 is used"]),
        ({"temperature": "-1"}, ["Temperature -1", "0 is used"]),
        ({"temperature": "warm"}, ["“warm” is not a number", "0.8 is used"]),
        ({"rule": "<script>"}, ["no rule “<script>”", "speculative sampling"]),
        ({"pair": "../../etc/passwd"}, ["no pair “../../etc/passwd”", "embedded"]),
        ({"seed": "-1"}, ["Seed -1", "0 is used"]),
        ({"draft": "os.system('x')"}, ["no draft “os.system('x')”", "pair's own is used"]),
        ({"chat": "perhaps"}, ["“perhaps” is neither true nor false"]),
        ({"system": "x" * 5000}, ["5,000 characters", "first 1,000"]),
        ({"stop": "a\nb\nc\nd\ne"}, ["At most 4 stop texts"]),
        ({"gama": "3"}, ["no setting “gama”"]),
        ({"prompt": "x" * 100_000}, ["100,000 characters", "first 4,000"]),
    ],
)
def test_whatever_a_link_asks_for_in_vain_is_said(query, words):
    settings, remarks = read(query, PAIRS)
    assert len(remarks) == 1 and all(word in remarks[0] for word in words)
    assert len(settings.prompt) <= PROMPT_LIMIT


def test_many_strangers_are_counted_and_long_ones_cut():
    assert read({f"p{n}": "1" for n in range(900)}, PAIRS)[1] == (
        "900 parameters are no settings; they are left out.",
    )
    assert len(read({"n" * 5000: "1"}, PAIRS)[1][0]) < 100


def test_parameters_of_the_other_page_are_no_strangers():
    assert read({"alpha": "0.5", "c": "0.1", "extra": "0", "gamma": "3"}, PAIRS)[1] == ()


@pytest.mark.parametrize("value", ["2", "-0.1", "nan", "half", "1e999"])
def test_the_other_page_says_what_its_sliders_cannot_show(value):
    assert len(theory_remarks({"alpha": value, "c": "0.5", "colour": "red"})) == 1
    assert theory_remarks({"alpha": "1", "gamma": "16"}) == []


def test_a_link_to_another_run_than_the_one_on_screen_says_so():
    trace = make_trace(("AAAA", "R..."))
    chosen = replace(DEFAULT, gamma=trace.rounds[0].settings.gamma, temperature=1.0)
    assert {item.settings for item in trace.rounds} == {chosen.round}
    assert about(trace, chosen, chosen) == ""
    assert "made with others" in about(trace, chosen, replace(chosen, seed=99))
    assert "made with others" in about(trace, chosen, replace(chosen, gamma=1))
    other = replace(trace.rounds[1], settings=replace(chosen, gamma=2).round)
    changed = trace.with_(rounds=(trace.rounds[0], other))
    assert "in the middle of this run" in about(changed, chosen, chosen)
