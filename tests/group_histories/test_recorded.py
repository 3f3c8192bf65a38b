"""The model of the coordinator, and the simulation, do what the released one did in recorded histories."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from simulator.group.streams_coordinator import Rules
from tests.group_histories.__main__ import SUBJECTS_OF_CLASSIC, differing
from tests.group_histories.random_histories import RELEASES
from tests.group_histories.simulated_group import ASSIGNORS, release_of
from tests.group_histories.streams_members import log_of_model


def recorded(file: str) -> list[dict[str, Any]]:
    """Return recorded histories."""
    path = Path(__file__).parent / "recorded" / file
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


HISTORIES = recorded("streams.jsonl")


@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history["id"])
def test_model_does_what_kafka_did(history: dict[str, Any]) -> None:
    assert log_of_model(history, history["log"]) == history["log"]


def is_simulated(history: dict[str, Any]) -> bool:
    """Return whether a simulation expresses a history; its group has the configs that the scenario states."""
    kinds = [event["kind"] for event in history["events"]]
    stateful = {part["id"] for part in history["subtopologies"] if part.get("stateful", True)}
    if "num_standby_replicas" in kinds and Rules.of(release_of(history)).hides_broker_configs:
        return bool(history["config"]["session_timeout_ms"] == 45_000)
    grows = any(event["kind"] == "partitions" and event["subtopology"] in stateful for event in history["events"])
    configures = any("value" in event and event["kind"] != "num_standby_replicas" for event in history["events"])
    has_attributes = any({"rack", "tags", "topology_epoch"} & event.keys() for event in history["events"])
    return not ({"pause"} & {*kinds} or grows or configures or has_attributes or "duplicate" in history["id"])


@pytest.mark.parametrize("history", list(filter(is_simulated, HISTORIES)), ids=lambda history: history["id"])
def test_simulation_does_what_kafka_did(history: dict[str, Any]) -> None:
    assert differing("simulation", history, history["log"]) is None


@pytest.mark.parametrize(
    "history",
    [history for history in filter(is_simulated, HISTORIES) if history["release"] in ASSIGNORS],
    ids=lambda history: history["id"],
)
def test_simulated_coordinator_assigns_what_kafka_assigned(history: dict[str, Any]) -> None:
    assert differing("assignments", history, history["log"]) is None


@pytest.mark.parametrize("name", [field.name for field in fields(Rules) if field.name != "passes_assigned"])
def test_each_difference_between_releases_is_recorded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of = Rules.of
    monkeypatch.setattr(Rules, "of", lambda release: replace(of(release), **{name: not getattr(of(release), name)}))
    differing = {history["release"] for history in HISTORIES if log_of_model(history, history["log"]) != history["log"]}
    assert differing & set(RELEASES)


@pytest.mark.parametrize("subject", SUBJECTS_OF_CLASSIC)
@pytest.mark.parametrize("history", recorded("classic.jsonl"), ids=lambda history: history["id"])
def test_classic_group_does_what_kafka_did(history: dict[str, Any], subject: str) -> None:
    assert differing(subject, history, history["log"]) is None
