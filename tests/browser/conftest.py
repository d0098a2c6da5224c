"""A browser for the pages: Chromium through Playwright. Where either is missing the tests are skipped, visibly."""

from __future__ import annotations

import os
import shutil

import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
PROGRAM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def browser():
    """One browser for all pages."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if PROGRAM is None:
        pytest.skip("there is no chromium (apt install chromium, or set CHROMIUM)")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=PROGRAM, args=list(FLAGS))
        yield opened
        opened.close()
