"""The samples that damaged results are made of are written once per process, and removed at its end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hostile.result_directories import remove_samples


@pytest.fixture(scope="session", autouse=True)
def samples() -> Iterator[None]:
    yield
    remove_samples()
