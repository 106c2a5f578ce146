"""Explore in a real browser, from the first paint to the end of a live run on the embedded pair."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from specdec_core.traces import json_codec
from tests.browser.moments import BOXES, NO_OVERFLOW, PANEL_FOLDED, at_rest, becomes, settled

pytestmark = pytest.mark.browser

HOSTILE = "<b>A fox</b> *ran* $x^2$ `code` :smile: \N{ROCKET} <img src=x onerror=\"document.title='owned'\">"

ROUNDS_DRAWN = "Number(document.querySelector('.position .badge').textContent.match(/\\d+/g).pop())"
"""The last number of the position: how many rounds there are, or the one that is being made."""


def position(page: Page):
    return page.locator(".position .badge").first


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=False).first.click()


def go_live(page: Page, rounds: int = 0) -> Page:
    page.locator(".st-key-run_live button").click()
    expect(position(page)).to_have_text("before the first round")
    for count in range(1, rounds + 1):
        press(page, "Next round")
        expect(position(page)).to_have_text(f"round {count} of {count}")
    return page


def rounds_of(page: Page) -> tuple[int, int]:
    """(round shown, rounds there are)"""
    shown, total = re.findall(r"\d+", position(page).inner_text())
    return int(shown), int(total)


def copied_link(page: Page) -> str:
    """What "Copy link" puts on the clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    return page.evaluate("navigator.clipboard.readText()")


def write_prompt(page: Page, text: str) -> None:
    """Type a prompt and leave its field; the page has taken it in.

    Not before the page is whole: until then a second drawing of the panel would put the old text back.
    """
    settled(page)
    prompt = page.locator(".st-key-set_prompt textarea")
    prompt.fill(text)
    prompt.blur()
    at_rest(page)


def test_the_recorded_trace_is_there_at_once_and_stays_until_run_live(explore):
    page = explore()
    expect(page.locator(".st-key-masthead_badge")).to_contain_text("recorded")
    shown = rounds_of(page)
    assert shown[1] > 3
    settled(page)
    expect(page.locator(".st-key-masthead_badge")).not_to_contain_text("loading", timeout=120_000)
    assert rounds_of(page) == shown
    expect(page.locator(".st-key-masthead_badge")).to_contain_text("recorded")


def test_a_live_run_is_stepped_and_back_only_moves(explore):
    page = go_live(explore(), rounds=2)
    expect(page.locator(".st-key-masthead_badge")).to_contain_text("live")
    expect(page.locator(".lanes h3")).to_contain_text("Round 2")
    press(page, "Back")
    expect(position(page)).to_have_text("round 1 of 2")
    expect(page.locator(".lanes h3")).to_contain_text("Round 1")
    press(page, "Next round")
    expect(position(page)).to_have_text("round 2 of 2")


def test_play_goes_on_until_paused(explore):
    page = go_live(explore())
    press(page, "Play")
    expect(position(page)).to_have_text(re.compile(r"round ([2-9]|\d\d) of"))
    press(page, "Pause")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    at_rest(page)
    stopped = rounds_of(page)
    page.wait_for_timeout(1500)
    assert rounds_of(page) == stopped


def test_the_key_p_stops_after_the_round_in_progress(explore):
    page = go_live(explore("?max_tokens=200"))
    page.keyboard.press("p")
    expect(position(page)).to_have_text(re.compile(r"round ([2-9]|\d\d) of"))
    # Counted at the very moment of the key: before and after it rounds go on coming in.
    page.evaluate(f"addEventListener('keydown', () => {{ window.before = {ROUNDS_DRAWN} }}, true)")
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    at_rest(page)
    stopped = rounds_of(page)
    assert stopped[1] <= page.evaluate("window.before") + 1
    page.wait_for_timeout(1500)
    assert rounds_of(page) == stopped


def test_run_to_end_ends_and_the_times_come_in(explore):
    page = go_live(explore("?max_tokens=24"))
    press(page, "Run to end")
    expect(page.locator(".position")).to_contain_text("ended here")
    expect(page.get_by_role("button", name="Next round")).to_be_disabled()
    strip = page.locator(".strip[role=list]")
    expect(strip).to_contain_text(re.compile(r"\d ms here \d+\.\d ms target alone"), timeout=90_000)
    expect(strip).to_contain_text(re.compile(r"\d× measured \d+\.\d\d× model"))
    expect(page.locator(".js-plotly-plot").first).to_be_visible()


def test_clicking_a_token_moves_the_whole_page_there(explore):
    page = explore()
    page.locator(".flow .round").nth(1).locator(".token").first.click()
    expect(page.locator(".lanes h3")).to_contain_text("Round 2")
    expect(position(page)).to_have_text(re.compile("round 2 of"))


def test_draft_length_changes_in_the_middle_of_a_run(explore):
    page = go_live(explore("?gamma=4"), rounds=1)
    expect(page.locator(".lanes .step .chip")).to_have_count(4)
    slider = page.locator(".st-key-set_gamma input[type=range]")
    # The panel is drawn anew once the round has been read; not under the reader's fingers here.
    expect(page.get_by_test_id("stSidebar")).to_contain_text("From round 2 on")
    at_rest(page)
    slider.focus()
    for value in ("3", "2"):
        slider.press("ArrowLeft")
        expect(slider).to_have_value(value)
        # The browser tells the server a moment after the last key, and not while the panel is drawn anew.
        page.wait_for_timeout(1000)
        at_rest(page)
    assert rounds_of(page) == (1, 1)
    press(page, "Next round")
    expect(position(page)).to_have_text("round 2 of 2")
    expect(page.locator(".lanes .step .chip")).to_have_count(2)
    press(page, "Back")
    expect(page.locator(".lanes .step .chip")).to_have_count(4)


@pytest.mark.parametrize("path", ["/theory", "/", "/explore"])
def test_a_deep_link_on_a_fresh_server_shows_the_whole_app(fresh_url, visit, path):
    page = visit(f"{fresh_url}{path}")
    expect(page.locator(".wordmark")).to_have_text("Speculative decoding explorer")
    links = page.locator(".st-key-pages a")
    expect(links).to_have_text(["Explore", "Theory"])
    expect(page.get_by_test_id("stSidebarNav")).to_have_count(0)
    if path == "/theory":
        expect(page.locator(".katex").first).to_be_visible()
        links.first.click()
    expect(page.locator(".lanes").first).to_be_visible()
    expect(position(page)).to_be_visible()


def test_whatever_the_prompt_holds_is_shown_literally(explore):
    page = explore()
    write_prompt(page, HOSTILE)
    go_live(page, rounds=1)
    expect(page.locator(".flow")).to_contain_text(HOSTILE)
    assert "%3Cb%3EA+fox" in copied_link(page)
    assert page.locator("img[src=x]").count() == 0
    assert "owned" not in page.title()


def test_single_keys_move_but_never_while_typing_and_can_be_switched_off(explore):
    page = explore()
    press(page, "Next round")
    expect(position(page)).to_have_text(re.compile("round 2 of"))
    shown, total = rounds_of(page)
    prompt = page.locator(".st-key-set_prompt textarea")
    prompt.click()
    prompt.press_sequentially("bnp nb")
    page.wait_for_timeout(800)
    assert rounds_of(page) == (shown, total)
    prompt.blur()
    at_rest(page)
    page.keyboard.press("b")
    expect(position(page)).to_have_text(f"round {shown - 1} of {total}")
    page.keyboard.press("n")
    expect(position(page)).to_have_text(f"round {shown} of {total}")
    hint = page.locator(".st-key-next kbd, .st-key-next [aria-label^=Shortcut]")
    expect(hint).not_to_have_count(0)
    page.get_by_text("Single-key shortcuts").click()
    expect(hint).to_have_count(0)
    at_rest(page)
    page.keyboard.press("b")
    page.wait_for_timeout(800)
    assert rounds_of(page) == (shown, total)


def test_on_a_desktop_the_round_is_seen_without_scrolling(explore):
    page = explore()
    settled(page)
    for part in (".strip[role=list]", ".lanes", ".inspector"):
        expect(page.locator(part).first).to_be_in_viewport(ratio=1)
    becomes(page, NO_OVERFLOW)


def test_on_a_phone_the_panel_goes_when_a_run_has_started_in_it(explore):
    page = explore(width=390, height=844)
    becomes(page, PANEL_FOLDED)
    page.get_by_test_id("stExpandSidebarButton").click()
    becomes(page, f"!({PANEL_FOLDED})")
    page.locator(".st-key-run_live button").click()
    expect(position(page)).to_have_text("before the first round")
    becomes(page, PANEL_FOLDED)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_on_switch_is_seen_on_its_ground(explore, scheme):
    page = explore(color_scheme=scheme)
    track = page.locator(".st-key-set_single_keys [data-testid=stCheckbox] label > div").first
    knob = track.locator("div").first
    settled(page)
    colours = [part.evaluate("e => getComputedStyle(e).backgroundColor") for part in (knob, track)]
    assert colours[0] != colours[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_cut_off_and_a_run_can_be_stepped(explore, scheme):
    page = explore(width=390, height=844, color_scheme=scheme)
    settled(page)
    becomes(page, NO_OVERFLOW)
    page.locator(".st-key-run_live_here button").click()
    expect(position(page)).to_have_text("before the first round")
    press(page, "Next round")
    expect(position(page)).to_have_text("round 1 of 1")
    at_rest(page)
    becomes(page, NO_OVERFLOW)
    for part in (".position", ".figure[role=listitem]", ".wordmark", ".st-key-masthead_badge .badge"):
        expect(page.locator(part).first).to_be_visible()
        # All at one moment: parts may be drawn anew between two questions.
        for box in page.locator(part).evaluate_all(BOXES):
            assert box["left"] >= 0 and box["right"] <= 390, part


def test_a_long_prompt_is_kept_and_its_length_said_beside_it(explore):
    page = explore()
    settled(page)
    prompt = page.locator(".st-key-set_prompt textarea")
    prompt.fill("long " * 1000)
    prompt.blur()
    said = page.get_by_test_id("stSidebar").get_by_role("alert")
    expect(said).to_contain_text("5,000 characters; at most 4,000")
    expect(prompt).to_have_value("long " * 1000)
    prompt.fill("short")
    prompt.blur()
    expect(said).to_have_count(0)


@pytest.mark.parametrize(
    ("typed", "used"), [("-1", "0"), ("1e30", "18446744073709551615"), ("1.5", "2"), ("x", "17")]
)
def test_a_seed_that_is_none_is_answered_at_the_field(explore, typed, used):
    page = explore()
    settled(page)
    seed = page.locator(".st-key-set_seed input")
    seed.fill(typed)
    seed.press("Enter")
    expect(page.get_by_test_id("stSidebar").get_by_role("alert")).to_contain_text(f"{used} is used")
    expect(seed).to_have_value(used)


def test_what_a_link_asks_for_in_vain_is_said_once(explore):
    page = explore("?gamma=99&temperature=7&rule=magic&colour=red&seed=3")
    said = page.locator(".st-key-remarks")
    expect(said).to_contain_text("16 is used")
    for words in ("Temperature 7", "“magic”", "“colour”"):
        expect(said).to_contain_text(words)
    expect(page.locator(".st-key-set_seed input")).to_have_value("3")
    said.get_by_role("button").click()
    expect(said).to_have_count(0)


def test_an_empty_prompt_is_answered_at_the_field(explore):
    page = explore()
    write_prompt(page, "")
    page.locator(".st-key-run_live button").click()
    expect(page.get_by_test_id("stSidebar").get_by_role("alert")).to_contain_text("The prompt is empty")
    assert rounds_of(page)[1] > 0


def test_after_back_the_panel_says_where_the_sliders_act(explore):
    page = go_live(explore(), rounds=2)
    press(page, "Back")
    expect(page.get_by_test_id("stSidebar")).to_contain_text("Acts after round 2, the newest")
    press(page, "Next round")
    expect(page.get_by_test_id("stSidebar")).not_to_contain_text("Acts after round")


def test_sliders_of_a_fresh_server_show_their_values_from_the_first_paint(fresh_url, visit):
    page = visit(f"{fresh_url}/?gamma=7&temperature=1.2")
    for name, value in (("gamma", "7"), ("temperature", "1.2"), ("top_p", "1")):
        expect(page.locator(f".st-key-set_{name} input[type=range]")).to_have_value(value)
    page.wait_for_timeout(1500)
    expect(page.locator(".st-key-set_gamma input[type=range]")).to_have_value("7")


def test_a_prompt_that_is_too_long_is_explained_beside_the_run(explore):
    page = explore()
    write_prompt(page, "hm " * 660)
    page.locator(".st-key-run_live button").click()
    expect(page.get_by_role("alert").first).to_contain_text("tokens")
    assert rounds_of(page)[1] > 0


def test_the_exported_file_is_the_trace_on_screen(explore):
    page = go_live(explore(), rounds=2)
    expect(page.get_by_test_id("stSidebar")).to_contain_text("From round 3 on")
    at_rest(page)
    with page.expect_download() as download:
        press(page, "Export JSON")
    assert download.value.suggested_filename == "embedded-seed-17-rounds-2.json"
    with open(download.value.path(), encoding="utf-8") as file:
        text = file.read()
    assert len(json_codec.loads(text).rounds) == 2
    assert json.loads(text)["version"] >= 1


def test_the_other_page_and_back_keeps_the_run(explore):
    page = go_live(explore(), rounds=1)
    page.locator(".st-key-pages a", has_text="Theory").click()
    expect(page.locator(".katex").first).to_be_visible()
    page.locator(".st-key-pages a", has_text="Explore").click()
    expect(position(page)).to_have_text("round 1 of 1")
    expect(page.locator(".lanes h3")).to_contain_text("Round 1")


def test_a_run_asked_for_while_the_pair_is_still_loading_starts(fresh_url, visit):
    page = visit(f"{fresh_url}/", width=390, height=844)
    page.locator(".st-key-run_live_here button").click()
    expect(position(page)).to_have_text("before the first round")
    press(page, "Next round")
    expect(position(page)).to_have_text("round 1 of 1")
