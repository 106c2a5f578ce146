"""Moments to wait for: what is read once from a page that may still change is read too early somewhere."""

from playwright.sync_api import Page, expect

NO_OVERFLOW = "document.documentElement.scrollWidth <= innerWidth"

BOXES = "parts => parts.map(part => part.getBoundingClientRect().toJSON())"
"""For ``evaluate_all``: where all parts are at one moment, in pixels of the window."""

PANEL_FOLDED = "(document.querySelector('[data-testid=stSidebar]')?.getBoundingClientRect().right ?? 0) <= 20"
"""The side panel is not in the window."""


def at_rest(page: Page) -> None:
    """The server has nothing in hand for this page: what the last click or key asked for is drawn."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def settled(page: Page) -> None:
    """Explore is whole: what follows the first paint, panel and chart, is drawn too."""
    expect(page.locator(".st-key-chart_bar")).to_be_visible()
    at_rest(page)


def becomes(page: Page, condition: str) -> None:
    """A condition in JavaScript comes true."""
    page.wait_for_function(condition)
