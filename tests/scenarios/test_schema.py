"""The JSON Schema agrees with the pydantic models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.language.client_configs import AssignorConfigs, StreamsConfigs
from scenarios.language.cluster_entries import BrokerConfigs
from scenarios.language.units import (
    parse_bytes,
    parse_bytes_per_s,
    parse_duration_ms,
    parse_per_hour,
    parse_time_of_day_ms,
)
from scenarios.language.yaml_reader import read_yaml
from scenarios.schema import SCHEMA_FILE, build_json_schema, format_json_schema
from simulator.results.run_metrics import RUN_METRICS
from tests.scenarios.scenario_texts import CONSUMERS, FULL, RUNNING, SMALL, mistakes_in, replace_in_small
from tests.scenarios.test_mistakes import CASES
from tests.simulator.processes.test_added_partitions import GROUP

LIBRARY = sorted(SCHEMA_FILE.with_name("library").glob("*.yaml"))
VALIDATOR = jsonschema.Draft202012Validator(build_json_schema())


def test_stored_schema_is_current() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == format_json_schema(), (
        "run `assignor-sim schema -o scenarios/schema.json`"
    )


def test_schema_is_a_valid_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(build_json_schema())


@pytest.mark.parametrize("path", LIBRARY, ids=[path.stem for path in LIBRARY])
def test_shipped_scenarios_conform_to_the_schema(path: Path) -> None:
    VALIDATOR.validate(read_yaml(path.read_text(encoding="utf-8")).value)


@pytest.mark.parametrize("text", [SMALL, FULL, RUNNING], ids=["small", "full", "running"])
def test_valid_scenarios_conform_to_the_schema(text: str) -> None:
    assert mistakes_in(text) == []
    VALIDATOR.validate(read_yaml(text).value)


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(part)


def _keys_of(text: str) -> set[str]:
    return set(_keys(read_yaml(text).value))


def test_full_scenarios_have_every_key_except_file_keys() -> None:
    files = {"from", "topology", "log_dirs", "plan", "quantile", "starts_at", "alongside", "workload", "pods"}
    files.add("includes_application")
    declared = {key for key, _ in _properties(build_json_schema())}
    growing = GROUP.replace("CONFIGS", "metadata.max.age.ms: 1m")
    texts = (FULL, RUNNING, CONSUMERS, growing)
    assert declared - files - {key for text in texts for key in _keys_of(text)} == set()


@pytest.mark.parametrize(
    "name",
    [
        "unknown key",
        "unknown section",
        "missing key",
        "number for text",
        "text for number",
        "text for boolean",
        "bad duration",
        "bad size",
        "bad rate",
        "unknown config",
        "invalid config value",
        "strategy",
        "no kind of event",
        "two kinds of event",
        "wrong number of hourly factors",
        "bad frequency",
        "protocol",
        "order of a bounce",
        "plan and strategy",
        "neither plan nor strategy",
    ],
)
def test_schema_detects_mistakes_within_one_value(name: str) -> None:
    [case] = [case for case in CASES if case.name == name]
    assert list(VALIDATOR.iter_errors(read_yaml(replace_in_small(case.before, case.after)).value))


def _properties(schema: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {}).items()
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _properties(part)


def test_every_key_is_described() -> None:
    properties = list(_properties(build_json_schema()))
    assert len(properties) > 60
    assert [key for key, value in properties if not value.get("description")] == []


def test_every_section_rejects_unknown_keys() -> None:
    schema = build_json_schema()
    for section in [schema, *schema["$defs"].values()]:
        assert section["additionalProperties"] is False or section["propertyNames"]["enum"][1:] == list(RUN_METRICS)


@pytest.mark.parametrize("model", [AssignorConfigs, StreamsConfigs, BrokerConfigs])
def test_config_keys_are_kafkas_with_kafkas_defaults(model: type[AssignorConfigs]) -> None:
    stored = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))["$defs"][model.__name__]["properties"]
    known = {
        "acceptable.recovery.lag": 10_000,
        "max.warmup.replicas": 2,
        "num.standby.replicas": 0,
        "probing.rebalance.interval.ms": 600_000,
        "rack.aware.assignment.strategy": "none",
        "num.stream.threads": 1,
        "replication.factor": -1,
        "group.protocol": "classic",
        "session.timeout.ms": 45_000,
        "heartbeat.interval.ms": 3_000,
        "max.poll.interval.ms": 300_000,
        "metadata.max.age.ms": 300_000,
        "internal.leave.group.on.close": False,
        "state.cleanup.delay.ms": 600_000,
        "group.initial.rebalance.delay.ms": 3_000,
        "group.streams.initial.rebalance.delay.ms": 3_000,
        "group.consumer.heartbeat.interval.ms": 5_000,
        "group.consumer.min.heartbeat.interval.ms": 5_000,
        "group.consumer.max.heartbeat.interval.ms": 15_000,
        "group.consumer.assignment.interval.ms": 1_000,
        "group.consumer.min.assignment.interval.ms": 0,
        "group.consumer.max.assignment.interval.ms": 15_000,
        "group.consumer.session.timeout.ms": 45_000,
        "group.consumer.min.session.timeout.ms": 45_000,
        "group.consumer.max.session.timeout.ms": 60_000,
        "group.streams.heartbeat.interval.ms": 5_000,
        "group.streams.min.heartbeat.interval.ms": 5_000,
        "group.streams.max.heartbeat.interval.ms": 15_000,
        "group.streams.assignment.interval.ms": 1_000,
        "group.streams.task.offset.interval.ms": 60_000,
        "group.streams.min.task.offset.interval.ms": 15_000,
        "group.streams.min.assignment.interval.ms": 0,
        "group.streams.max.assignment.interval.ms": 15_000,
        "group.streams.session.timeout.ms": 45_000,
        "group.streams.min.session.timeout.ms": 45_000,
        "group.streams.max.session.timeout.ms": 60_000,
        "default.replication.factor": 1,
        "num.partitions": 1,
        "min.insync.replicas": 1,
        "unclean.leader.election.enable": False,
        "auto.leader.rebalance.enable": True,
        "leader.imbalance.check.interval.seconds": 300,
        "replica.lag.time.max.ms": 30_000,
        "producer.acks": "all",
        "processing.guarantee": "at_least_once",
        "enable.transactional.statestores": False,
        "statestore.uncommitted.max.bytes": 67_108_864,
    }
    without_default = {
        "rack.aware.assignment.tags",
        "rack.aware.assignment.traffic_cost",
        "rack.aware.assignment.non_overlap_cost",
        "replica.selector.class",
        "topic.min.insync.replicas",
        "topic.unclean.leader.election.enable",
        "commit.interval.ms",
    }
    assert {key: value.get("default") for key, value in stored.items()} == {
        key: known.get(key) for key in stored if key in known or key in without_default
    }


PARSERS: dict[str, Callable[[object], float]] = {
    "duration": parse_duration_ms,
    "size": parse_bytes,
    "rate": parse_bytes_per_s,
    "frequency": parse_per_hour,
    "time of day": parse_time_of_day_ms,
}
UNITS = {
    "duration": build_json_schema()["properties"]["duration"],
    "size": build_json_schema()["$defs"]["PartitionDefaults"]["properties"]["size"],
    "rate": build_json_schema()["$defs"]["ClientEntry"]["properties"]["restore"],
    "frequency": build_json_schema()["$defs"]["ChurnEvent"]["properties"]["crashes"],
    "time of day": build_json_schema()["$defs"]["TrafficSection"]["properties"]["starts_at"],
}
TEXTS = st.from_regex(
    r"[0-9]{1,3}(\.[0-9])? ?(ms|s|m|h|d|B|kB|MB|GiB|Mbit)?( ?/ ?[smhd])?( ?[0-9]{1,3}(m|s))?|[0-2]?[0-9]:[0-9]{1,2}",
    fullmatch=True,
)


@pytest.mark.parametrize("kind", PARSERS)
@given(text=TEXTS)
def test_schema_and_parser_accept_the_same_texts(kind: str, text: str) -> None:
    is_accepted = jsonschema.Draft202012Validator(UNITS[kind]).is_valid(text)
    try:
        PARSERS[kind](text)
        is_parsed = True
    except ValueError as error:
        is_parsed = "whole number" in str(error)
    assert is_accepted == is_parsed
