"""What all tests share: one thread for torch, steady examples, and one browser for those that need it."""

import os

# Small models gain nothing from more threads, and two test processes must not fight for the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from collections.abc import Iterator  # noqa: E402
from typing import TYPE_CHECKING  # noqa: E402

import hypothesis  # noqa: E402
import pytest  # noqa: E402

from tests import chromium as chromium_binary  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The same examples every time, and no deadline: a busy machine must not fail a test.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis.settings.load_profile("steady")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where processes share the tests, one browser and one server do for all that need them."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def chromium() -> "Iterator[Browser]":
    """A headless Chromium for the whole session; open a context of your own per test.

    A missing browser fails the test and is never a reason to skip it: `python -m tests` installs one.
    """
    from playwright.sync_api import sync_playwright

    path = chromium_binary.find()
    assert path, "no Chromium or Chrome found; `python -m tests` installs one"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(chromium_binary.ARGUMENTS))
        yield browser
        browser.close()
