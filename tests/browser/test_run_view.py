"""The round view in a real browser: what it shows, how one moves in it, what it tells the page."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from specdec_core.ui import payload
from tests.browser.moments import BOXES, NO_OVERFLOW, at_rest, becomes
from tests.browser.serving import serving
from tests.traces import factory

pytestmark = pytest.mark.browser

SHADOW = "document.querySelector('[data-testid=stBidiComponentIsolated]').shadowRoot"
PRESS = """(part, keys) => keys.forEach(
    key => part.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }))
)"""
APP = Path(__file__).with_name("run_view_app.py")
ALONE = payload.one_token_alone(factory.make_trace())


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Address of a server that shows the view alone."""
    with serving(tmp_path_factory.mktemp("view") / "log", APP) as url:
        yield url


@pytest.fixture
def open_view(visit, address):
    """Opens one of the traces of ``run_view_app`` by name."""

    def open_(trace="usual", width=1310, height=1100, **options):
        page = visit(f"{address}/?trace={trace}", width=width, height=height, **options)
        expect(page.locator(".run-view .panel").first).to_be_visible()
        first_rest(page)
        return page

    return open_


def first_rest(page):
    """The first rest has been told and answered: until then a run of the page is still to come."""
    expect(page.get_by_text("rested 1 times")).to_be_visible()
    at_rest(page)


def at(page, round_, place):
    """The page itself knows that the reader is there."""
    expect(page.get_by_text(f"at {round_} {place},")).to_be_visible()


def test_a_round_shows_its_drafts_its_one_pass_and_what_came_out(open_view):
    page = open_view()
    lanes = page.locator(".lanes")
    expect(lanes.get_by_role("heading")).to_have_text("Round 8 of 8")
    expect(lanes.locator(".step .chip")).to_have_count(4)
    expect(lanes.locator(".test")).to_have_count(5)
    expect(lanes.locator(".emitted .chip")).to_have_count(5)
    expect(lanes.locator(".checking")).to_contain_text("Target checks all 5 places in one pass")
    expect(lanes.locator(".checking")).to_contain_text(f"one token alone: {ALONE}")
    expect(lanes.locator(".alone")).to_have_attribute("title", re.compile("no drafts, no tests"))
    expect(lanes.locator(".settings")).to_have_text("γ 4 · temperature 1")
    expect(page.locator(".legend")).to_contain_text("rejected does not mean wrong, only over-proposed")


def test_tokens_are_shown_literally(open_view):
    page = open_view("hostile")
    text = page.locator(".flow")
    expect(text).to_contain_text("<script>document.title='owned'</script>")
    expect(text).to_contain_text("<img src=x onerror=\"document.title='owned'\">")
    expect(text).to_contain_text("$x^2$ *bold* `code`")
    expect(text).to_contain_text("\N{ROCKET}</button><b>loud</b>")
    assert page.locator(".run-view :is(img, script, b b)").count() == 0
    assert "owned" not in page.title()


def test_hovering_a_token_lights_it_in_text_lanes_inspector_and_carpet(open_view):
    page = open_view()
    page.locator(".flow .round.here .token").first.hover()
    for part in (".flow .token.lit", ".lanes .step .lit", ".lanes .test.lit", ".lanes .emitted .lit"):
        expect(page.locator(part)).to_have_count(1)
    expect(page.locator(".spot")).to_be_visible()
    expect(page.locator(".told")).to_contain_text("round 8, place 1")
    page.locator(".inspector h3").hover()
    expect(page.locator(".run-view .lit")).to_have_count(0)


def test_a_click_opens_the_place_and_tells_the_page(open_view):
    page = open_view()
    page.locator(".lanes .step .chip").nth(1).click()
    expect(page.locator(".inspector h3")).to_contain_text("Place 2")
    at(page, 7, 1)
    page.locator(".flow .round").nth(1).locator(".token").last.click()
    expect(page.locator(".lanes h3")).to_contain_text("Round 2")
    expect(page.locator(".inspector h3")).to_contain_text("fell")
    at(page, 1, 1)


def test_the_full_record_of_a_place_is_fetched_when_asked_for(open_view):
    page = open_view()
    labels = page.locator(".inspector .bars > .label")
    expect(labels).to_have_count(8)
    page.locator(".inspector .more").click()
    expect(page.locator(".inspector .more")).to_have_text("show fewer")
    becomes(page, f"{SHADOW}.querySelectorAll('.inspector .bars > .label').length > 8")


def test_arrows_move_between_rounds_and_places_and_keep_the_focus(open_view):
    page = open_view()
    page.locator(".lanes .chip[tabindex='0']").first.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".lanes h3")).to_contain_text("Round 7")
    page.keyboard.press("Home")
    expect(page.locator(".lanes h3")).to_contain_text("Round 1")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".inspector h3")).to_contain_text("Place 4")
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".lanes h3")).to_contain_text("Round 8")
    assert "chip" in page.evaluate(f"{SHADOW}.activeElement?.className")
    at(page, 7, None)


def test_every_place_says_itself_to_a_screen_reader(open_view):
    page = open_view()
    label = page.locator(".lanes .step .chip").first.get_attribute("aria-label")
    assert re.fullmatch(r'place 1, ".+", accepted, draft [\d.<>]+\s%, target [\d.<>]+\s%', label)


def test_dragging_over_the_carpet_scrubs_without_the_server(open_view):
    page = open_view("long")
    field = page.locator(".field").bounding_box()
    ran = page.get_by_text("run ").inner_text()
    middle = field["y"] + 30
    page.mouse.move(field["x"] + field["width"] - 20, middle)
    page.mouse.down()
    page.mouse.move(field["x"] + 0.5 * field["width"], middle, steps=4)
    expect(page.locator(".lanes h3")).to_have_text(re.compile(r"Round (9\d|10\d|110) of"))
    page.wait_for_timeout(500)
    assert page.get_by_text("run ").inner_text() == ran, "the page must not run while dragging"
    page.mouse.up()
    expect(page.get_by_text(re.compile(r"at (9\d|10\d) None"))).to_be_visible()


def test_a_new_round_appears_and_wins_over_where_the_reader_was(open_view):
    page = open_view()
    page.locator(".flow .round").first.locator(".token").first.click()
    at(page, 0, 0)
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".lanes h3")).to_have_text("Round 9 of 9")
    at(page, 8, None)


def test_rounds_that_got_lost_are_asked_for_again(open_view):
    page = open_view()
    page.get_by_role("button", name="Lose").click()
    expect(page.locator(".lanes h3")).to_have_text("Round 10 of 10")
    expect(page.locator(".flow .round")).to_have_count(10)


def test_a_reload_shows_the_run_again_and_another_run_replaces_it(open_view):
    page = open_view()
    page.reload()
    expect(page.locator(".lanes h3")).to_have_text("Round 8 of 8")
    first_rest(page)
    page.get_by_role("button", name="Restart").click()
    expect(page.locator(".lanes h3")).to_have_text("Round 2 of 2")
    expect(page.locator(".flow .round")).to_have_count(2)


def test_the_page_hears_once_that_the_reader_has_come_to_rest(open_view):
    page = open_view()
    expect(page.get_by_text("rested 1 times")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("rested 2 times")).to_be_visible()
    # Pressed without a pause, which would count as a rest of its own on a slow machine.
    page.locator(".field").evaluate(PRESS, ["ArrowLeft", "ArrowLeft", "Home", "ArrowRight"])
    at(page, 1, None)
    expect(page.get_by_text("rested 3 times")).to_be_visible()
    page.wait_for_timeout(800)
    expect(page.get_by_text("rested 3 times")).to_be_visible()


def test_a_run_without_rounds_comes_to_rest_too(open_view):
    expect(open_view("empty").get_by_text("rested 1 times")).to_be_visible()


def test_a_lost_script_is_asked_for_again(open_view):
    expect(open_view("usual&unsent=1").locator(".lanes h3")).to_have_text("Round 8 of 8")


def test_the_parts_of_a_word_touch_and_words_do_not(open_view):
    tokens = open_view("parts").locator(".flow .round").first.locator(".token")
    expect(tokens.nth(1)).to_have_text("fore")
    there, fore, a = tokens.evaluate_all(BOXES)[:3]
    assert abs(fore["x"] - there["x"] - there["width"]) < 1
    assert a["x"] - fore["x"] - fore["width"] > 4


def test_a_token_of_the_text_is_pressed_with_enter(open_view):
    page = open_view()
    token = page.locator(".flow .round").nth(2).get_by_role("button").first
    token.focus()
    page.keyboard.press("Enter")
    at(page, 2, 0)


def test_the_axis_stays_in_sight_under_a_long_list_in_either_scale(open_view):
    page = open_view()
    page.locator(".inspector .more").click()
    becomes(page, f"{SHADOW}.querySelectorAll('.inspector .bars > .label').length > 8")
    for scale, ends in (("linear", ("0 %", "60 %")), ("log", ("0.01 %", "100 %"))):
        page.locator(".toggle").get_by_role("button", name=scale).click()
        expect(page.locator(".tick-name").first).to_have_text(ends[0])
        expect(page.locator(".tick-name").last).to_have_text(ends[1])
        bars, axis = page.locator(".bars, .axis").evaluate_all(BOXES)
        assert bars["y"] < axis["y"] and axis["bottom"] <= bars["bottom"] + 1


@pytest.mark.parametrize("back", [0, 1, 2])
def test_a_round_of_few_places_fills_its_card_and_wraps_no_heading(open_view, back):
    page = open_view("few")
    page.locator(".field").focus()
    for _ in range(back):
        page.keyboard.press("ArrowLeft")
    expect(page.locator(".lanes h3")).to_contain_text(f"Round {3 - back}")
    assert all(box["height"] < 24 for box in page.locator(".lane-title").evaluate_all(BOXES))
    card, pass_ = page.locator(".lanes, .pass").evaluate_all(BOXES)
    assert pass_["width"] > 0.9 * card["width"]


def test_a_round_without_drafts_speaks_of_no_rejection(open_view):
    page = open_view("few")
    page.locator(".field").focus()
    page.keyboard.press("Home")
    expect(page.locator(".lanes .settings")).to_have_text("γ 0 · temperature 1")
    expect(page.locator(".lanes .sum")).to_contain_text("1 from the target, nothing drafted ★")
    own = page.locator(".flow .token").first
    expect(own).to_have_attribute("aria-label", re.compile("when nothing was drafted"))


def test_many_places_take_a_line_each_and_the_detail_stays_beside(open_view):
    page = open_view("deep")
    tests = page.locator(".lanes .test").evaluate_all(BOXES)
    assert len(tests) == 17 and max(box["height"] for box in tests) < 36
    page.locator(".field").scroll_into_view_if_needed()
    page.mouse.wheel(0, 200)
    expect(page.locator(".inspector")).to_be_in_viewport(ratio=0.9)


def test_a_phone_shows_part_of_a_long_text_or_all_of_it(open_view):
    page = open_view("long", width=390, height=844)
    flow = f"{SHADOW}.querySelector('.flow')"
    expect(page.locator(".flow")).to_have_css("overflow-y", "hidden")
    becomes(page, f"{flow}.getBoundingClientRect().height < 130")
    page.get_by_role("button", name="show all text").click()
    becomes(page, f"{flow}.clientHeight >= {flow}.scrollHeight")
    page.get_by_role("button", name="show less text").click()
    becomes(page, f"{flow}.getBoundingClientRect().height < 130")


def test_rules_that_compare_tokens_show_no_dice(open_view):
    page = open_view("greedy")
    expect(page.locator(".lanes")).to_contain_text("target's choice:")
    expect(page.locator(".lanes")).not_to_contain_text("dice")
    expect(page.locator(".run-view .dart")).to_have_count(0)


def test_before_the_first_round_it_says_what_comes(open_view):
    page = open_view("empty")
    expect(page.locator(".lanes")).to_contain_text("Next round")
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".lanes h3")).to_have_text("Round 1 of 1")


@pytest.mark.parametrize("trace", ["usual", "deep"])
def test_a_phone_shows_a_row_a_place_and_never_scrolls_sideways(open_view, trace):
    page = open_view(trace, width=390, height=844)
    expect(page.locator(".lanes.list")).to_be_visible()
    boxes = page.locator(".lanes .test").evaluate_all(BOXES)
    assert all(below["y"] > above["y"] for above, below in zip(boxes, boxes[1:], strict=False))
    becomes(page, NO_OVERFLOW)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_follow_the_theme(open_view, scheme):
    page = open_view(color_scheme=scheme)
    expect(page.locator(".run-view")).to_have_attribute("data-theme", scheme)
