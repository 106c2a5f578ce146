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
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

# The same examples every time, and no deadline: a busy machine must not fail a test.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis.settings.load_profile("steady")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadScopeScheduling":
    """Where processes share the tests, one browser and one server do for all that need them.

    Told by their folder: of pytest-xdist's own marks for groups pytest 9 keeps nothing in the tests' names.
    """
    from xdist.scheduler import LoadScopeScheduling

    class OneBrowser(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "browser" if nodeid.startswith("tests/browser/") else nodeid

    return OneBrowser(config, log)


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
