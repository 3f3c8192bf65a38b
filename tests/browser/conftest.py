"""Fixtures for tests in Debian's Chromium, controlled by Playwright, without network access."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

TIMEOUT_MS = 60_000
"""Timeout of an action on a busy machine; no test waits for a fixed time."""

expect.set_options(timeout=TIMEOUT_MS)

Open = Callable[..., Page]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("chromium is missing; apt-get install chromium")
        pytest.skip("chromium is missing")
    with sync_playwright() as playwright:
        chromium_browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield chromium_browser
        chromium_browser.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Open a page from a file; fail at the end of the test after console messages, errors, dialogs or requests."""
    problems: list[str] = []
    opened: list[Page] = []

    def start(text: str, width: int = 1440, scheme: Any = "light", *, scripts: bool = True) -> Page:
        file = tmp_path / "report.html"
        file.write_text(text, encoding="utf-8")
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=scripts
        )
        page.set_default_timeout(TIMEOUT_MS)
        opened.append(page)
        page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: request.url == file.as_uri() or problems.append(f"requests {request.url}"))
        page.goto(file.as_uri())
        return page

    yield start
    for page in opened:
        page.close()
    assert [problem for problem in problems if not problem.startswith(("requests data:,", "requests blob:"))] == []
