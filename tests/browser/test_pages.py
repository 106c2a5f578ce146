"""Going from one page to another while the page that is left still has something to tell."""

import pytest
from playwright.sync_api import expect

from tests.browser.moments import becomes, settled

pytestmark = pytest.mark.browser

LATE_PAGE = """() => {
    const send = WebSocket.prototype.send;
    const stop = event => { event.stopPropagation(); event.preventDefault() };
    document.body.addEventListener("click", stop, { capture: true, once: true });
    document.querySelector("[data-testid=stPageLink] a").click();
    const clicked = performance.now();
    window.told = [];
    WebSocket.prototype.send = function (message) {
        window.told.push(performance.now() - clicked);
        return send.call(this, message);
    };
}"""
"""A link to a page is clicked, and the page does not come."""


def test_nothing_is_told_while_another_page_is_on_its_way_and_all_of_it_afterwards(explore):
    page = explore()
    settled(page)
    expect(page.locator(".st-key-masthead_badge")).not_to_contain_text("loading", timeout=120_000)
    page.evaluate(LATE_PAGE)
    page.locator(".field").focus()
    page.keyboard.press("ArrowRight")
    becomes(page, "window.told.length > 0")
    assert min(page.evaluate("window.told")) > 1900
    expect(page.locator(".position .badge").first).to_contain_text(page.locator(".lanes h3").inner_text()[6:])
