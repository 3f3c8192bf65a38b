"""The model of the coordinator does what the released one did in recorded histories."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from simulator.group.streams_coordinator import Rules
from tests.group_histories.random_histories import RELEASES
from tests.group_histories.streams_members import log_of_model

FILE = Path(__file__).parent / "recorded" / "streams.jsonl"
HISTORIES: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history["id"])
def test_model_does_what_kafka_did(history: dict[str, Any]) -> None:
    assert log_of_model(history, history["log"]) == history["log"]


@pytest.mark.parametrize("name", [field.name for field in fields(Rules)])
def test_each_difference_between_releases_is_recorded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of = Rules.of
    monkeypatch.setattr(Rules, "of", lambda release: replace(of(release), **{name: not getattr(of(release), name)}))
    differing = {history["release"] for history in HISTORIES if log_of_model(history, history["log"]) != history["log"]}
    assert differing & set(RELEASES)
