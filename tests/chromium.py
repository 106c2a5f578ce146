"""Finding a browser for the browser tests, and fetching one where there is none."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")

PLACES = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)

DEBIAN_PACKAGES = ("chromium", "fonts-dejavu-core", "fonts-noto-color-emoji")

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""How the tests start it: also as root in a container, and without calls to anyone."""


def find() -> str | None:
    """Path of an installed Chromium or Chrome, else of Playwright's own, else None."""
    installed = [shutil.which(name) for name in NAMES] + [place for place in PLACES if Path(place).exists()]
    return next((path for path in installed if path), None) or _playwrights_own()


def ensure() -> str:
    """Path of a browser, installed first if there is none.

    Root on Debian takes the distribution's package, everyone else Playwright's own download.

    Raises:
        RuntimeError: if none can be had.
    """
    if find() is None and _root() and _distribution() == "debian":
        _call("apt-get", "update")
        _call("apt-get", "install", "--yes", "--no-install-recommends", *DEBIAN_PACKAGES)
    if find() is None:
        system_libraries = ["--with-deps"] if _root() and sys.platform == "linux" else []
        _call(sys.executable, "-m", "playwright", "install", *system_libraries, "chromium")
    if (path := find()) is None:
        raise RuntimeError("the tests need Chromium or Chrome, and none could be installed")
    return path


def _playwrights_own() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def _root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["ID"]
    except OSError:
        return ""


def _call(*command: str) -> None:
    # A failure shows in what this prints and in find(), which is asked again afterwards.
    print(" ".join(command), flush=True)
    subprocess.run(command, check=False)
