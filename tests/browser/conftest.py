"""A real browser: Debian's Chromium, driven by Playwright, without any network."""

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

PATIENCE_MS = 60_000
"""How long a busy machine may take over a click; tests never wait for a time to pass."""

expect.set_options(timeout=PATIENCE_MS)

Open = Callable[..., Page]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("there is no chromium; apt-get install chromium")
        pytest.skip("there is no chromium here")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens the text of a page as a file; afterwards nothing may have gone wrong or been fetched."""
    wrong: list[str] = []
    opened: list[Page] = []

    def start(text: str, width: int = 1440, scheme: Any = "light", *, scripts: bool = True) -> Page:
        file = tmp_path / "report.html"
        file.write_text(text, encoding="utf-8")
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=scripts
        )
        page.set_default_timeout(PATIENCE_MS)
        opened.append(page)
        page.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: request.url == file.as_uri() or wrong.append(f"asks for {request.url}"))
        page.goto(file.as_uri())
        return page

    yield start
    for page in opened:
        page.close()
    assert [each for each in wrong if not each.startswith(("asks for data:,", "asks for blob:"))] == []
