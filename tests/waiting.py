"""A plug-in that waits instead of calling a test, once its fixtures are there: `pytest -p tests.waiting TEST`."""

from __future__ import annotations

import time

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call() -> None:
    while True:
        time.sleep(60)
