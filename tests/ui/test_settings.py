"""Values from a browser are never trusted: whatever a link says, the settings are valid."""

from dataclasses import asdict
from urllib.parse import parse_qsl, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from specdec_core.decoding.types import RuleName
from specdec_core.ui.settings import DEFAULT, MAX_GAMMA, PROMPT_LIMIT, Settings, cleaned, link

PAIRS = ("embedded", "embedded-weak")

anything = st.one_of(st.text(), st.floats(), st.integers(), st.none(), st.lists(st.integers(), max_size=2))
names = st.sampled_from([*asdict(DEFAULT), "no such setting"])

valid = st.builds(
    Settings,
    pair=st.sampled_from(PAIRS),
    prompt=st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
    seed=st.integers(0, 2**32 - 1),
    rule=st.sampled_from(RuleName),
    max_tokens=st.integers(1, 512),
    gamma=st.integers(0, MAX_GAMMA),
    temperature=st.floats(0, 2),
    top_k=st.integers(0, 200),
    top_p=st.floats(0.05, 1),
)


@given(st.dictionaries(names, anything))
def test_any_values_become_settings_that_a_round_accepts(raw):
    settings = cleaned(raw, PAIRS)
    assert settings.pair in PAIRS and settings.rule in RuleName
    assert len(settings.prompt) <= PROMPT_LIMIT
    assert 0 <= settings.round.gamma <= MAX_GAMMA
    assert 1 <= settings.max_tokens <= 512 and isinstance(settings.max_tokens, int)


@given(valid)
def test_a_link_brings_back_the_settings_it_was_made_from(settings):
    url = link(settings, "http://127.0.0.1:8501/?old=1")
    raw = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    assert cleaned(raw, PAIRS) == settings


def test_a_link_to_the_defaults_is_the_bare_page():
    assert link(DEFAULT, "http://127.0.0.1:8501/") == "http://127.0.0.1:8501/"


def test_a_prompt_that_cannot_be_encoded_still_gives_a_link():
    assert "prompt=" in link(Settings(prompt="half a pair \ud83d"), "http://h/")
