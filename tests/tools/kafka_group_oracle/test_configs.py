"""The table of configs of streams groups, against the recorded definitions of released brokers."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tools.kafka_group_oracle.__main__ import config_differences

RECORDED = Path(__file__).parent / "data" / "configs.jsonl"
"""The output of `read_configs` for each release."""

RELEASES: dict[str, dict[str, Any]] = {
    line["kafka"]: line["configs"] for line in map(json.loads, RECORDED.read_text(encoding="utf-8").splitlines())
}


@pytest.mark.parametrize("release", RELEASES)
def test_table_is_that_of_the_release(release: str) -> None:
    assert list(config_differences(release, RELEASES[release])) == []


@pytest.mark.parametrize("release", RELEASES)
def test_every_change_of_a_release_is_found(release: str) -> None:
    configs = RELEASES[release]
    for key, definition in configs.items():
        missing = {other: value for other, value in configs.items() if other != key}
        assert list(config_differences(release, missing)) == [f"{key}: not in Kafka {release}"]
        for name, value in definition.items():
            changed = copy.deepcopy(configs)
            changed[key][name] = not value if isinstance(value, bool) else "changed"
            if name == "valid" and definition["type"] not in ("INT", "LONG"):
                continue  # Only the limits of numbers are compared.
            [difference] = config_differences(release, changed)
            assert difference.startswith(f"{key}: ") or name == "valid"
    new = {**configs, "group.streams.new": configs["group.streams.max.size"]}
    assert list(config_differences(release, new)) == [f"group.streams.new: in Kafka {release} only"]
