"""The contract of the scenario loader: every file loads or is rejected with located mistakes, in limited time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from scenarios.language.yaml_reader import MAX_BYTES, MAX_NODES, read_yaml
from tests.counts import few_or
from tests.scenarios.test_fuzz import changed_scenarios, check_loading

pytestmark = pytest.mark.answers

LARGEST_FILES = {
    "short topics": "topics:\n" + "  - {name: t, partitions: 4, size: 5 GB, bytes_per_s: 4 MB/s}\n" * 6_000,
    "empty quotes": "x: [" + "''," * (MAX_NODES - 10) + "]",
    "list up to the limit": "x: [" + "1," * (MAX_NODES - 10) + "]",
    "words": "x: " + "a " * 190_000,
    "lines": "x:\n" + "  a\n" * 95_000,
    "directives": "%A b\n" * 75_000 + "---\nx: 1",
}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=name, marks=() if name in ("words", "directives") else pytest.mark.slow)
        for name, text in LARGEST_FILES.items()
    ],
)
def test_largest_files_are_read(text: str) -> None:
    """Without limits, such files take minutes; within them, the slowest takes two seconds."""
    assert MAX_BYTES * 0.25 < len(text) <= MAX_BYTES
    assert read_yaml(text).value is not None


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=few_or(300, 60))
@given(changed_scenarios())
def test_any_changed_scenario_loads_or_is_rejected(document: Any) -> None:
    check_loading(json.dumps(document))
