"""The app as a visitor sees it: a real server, a real browser, and an eye on everything that goes wrong."""

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.serving import serving

SECONDS = 1000
PATIENCE = 45 * SECONDS
"""Most milliseconds to wait for anything: a busy machine must not fail a test."""

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def app_url(tmp_path_factory) -> Iterator[str]:
    """Address of the one server that most tests share."""
    with serving(tmp_path_factory.mktemp("server") / "log") as url:
        yield url


@pytest.fixture
def fresh_url(tmp_path) -> Iterator[str]:
    """Address of a server that nobody has asked for anything yet. Name it before ``visit``."""
    with serving(tmp_path / "log") as url:
        yield url


@pytest.fixture(scope="session")
def context_for(chromium) -> Callable[..., BrowserContext]:
    """One browser context for each set of options, which so fetches and compiles Streamlit's scripts once."""
    kept: dict[str, BrowserContext] = {}

    def context(**options) -> BrowserContext:
        key = repr(sorted(options.items()))
        if key not in kept:
            kept[key] = chromium.new_context(**options)
            kept[key].set_default_timeout(PATIENCE)
        return kept[key]

    return context


@pytest.fixture
def visit(context_for) -> Iterator[Callable[..., Page]]:
    """Opens an address in a session of its own.

    At the end of the test nothing may have been complained about in the console, nothing
    asked of another machine, and no error box shown.
    """
    pages, complaints = [], []

    def open_(url: str, width: int = 1440, height: int = 900, **options) -> Page:
        page = context_for(viewport={"width": width, "height": height}, **options).new_page()
        pages.append(page)
        page.on("console", lambda message: complaints.extend(_complaint(message)))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.extend(_stranger(request.url)))
        page.goto(url)
        return page

    yield open_
    for page in pages:
        complaints += page.get_by_test_id("stException").all_text_contents()
        _forget(page)
    assert not complaints


@pytest.fixture
def explore(visit, app_url) -> Callable[..., Page]:
    """Opens Explore and waits for the recorded trace; ``query`` is the end of the address."""

    def open_(query: str = "", **options) -> Page:
        page = visit(f"{app_url}/{query}", **options)
        expect(page.locator(".lanes").first).to_be_visible()
        return page

    return open_


def _forget(page: Page) -> None:
    """Close a page and leave nothing of it to the next one in its context."""
    page.evaluate("localStorage.clear(), sessionStorage.clear()")
    page.context.clear_cookies()
    page.context.clear_permissions()
    page.close()


def _complaint(message) -> list[str]:
    # Opened at a page's own address, Streamlit looks for its server below that address first.
    probing = "/_stcore/" in (message.location or {}).get("url", "")
    return [message.text] if message.type == "error" and not probing else []


def _stranger(url: str) -> list[str]:
    parts = urlsplit(url)
    local = parts.scheme in ("data", "blob") or parts.hostname == "127.0.0.1"
    return [] if local else [f"asked another machine: {url}"]
