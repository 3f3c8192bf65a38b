"""`assignor-sim list`: all that can be named, in every format."""

from __future__ import annotations

import csv
import io
import json

import pytest

from assignor_sim.commands.listing import ListTopic
from assignors import registry
from assignors.consumers.registry import built_in as consumer_assignors
from assignors.replicas.registry import built_in as strategies
from reports.analysis.metrics import ALL_METRICS
from scenarios.load import load
from scenarios.shipped import list_scenarios, list_sweeps
from tests.assignor_sim.conftest import Shell

pytestmark = pytest.mark.answers

NAMES = {
    "assignors": [info.name for info in registry.built_in()],
    "consumers": [info.name for info in consumer_assignors()],
    "scenarios": [path.stem for path in list_scenarios()],
    "problems": [path.stem for path in list_scenarios() if load(path).problem is not None],
    "sweeps": [path.stem for path in list_sweeps()],
    "strategies": [info.name for info in strategies()],
    "metrics": list(ALL_METRICS),
    "releases": ["3.8", "3.9", "4.0", "4.1", "4.2", "4.2.1", "4.3", "4.4"],
}


@pytest.mark.parametrize("topic", list(ListTopic))
def test_every_name_has_its_own_line_at_80_columns(shell: Shell, topic: str) -> None:
    output = shell("list", topic, COLUMNS="80").out
    lines = output.splitlines()
    assert [line for line in lines if line in NAMES[topic]] == NAMES[topic]
    too_long = [line for line in lines if len(line) > 80]
    assert all(line.split()[0] == "--set" or ("." in line and " " not in line.strip()) for line in too_long)


@pytest.mark.parametrize("topic", list(ListTopic))
def test_formats_have_the_same_names(shell: Shell, topic: str) -> None:
    rows = json.loads(shell("list", topic, "--format", "json").out)
    key = next(iter(rows[0]))
    assert [row[key] for row in rows] == NAMES[topic]
    printed = list(csv.DictReader(io.StringIO(shell("list", topic, "--format", "csv").out)))
    assert [row[key] for row in printed] == NAMES[topic]
    markdown = shell("list", topic, "--format", "markdown").out.replace("\\", "")
    assert all(f"| {name} |" in markdown for name in NAMES[topic])


def test_without_a_topic_all_are_listed_and_csv_is_refused(shell: Shell) -> None:
    everything = json.loads(shell("list", "--format", "json").out)
    assert list(everything) == list(ListTopic)
    result = shell("list", "--format", "csv")
    assert (result.code, result.out) == (2, "")
    assert "csv holds one table (choose one of: assignors, " in result.err


def test_kafkas_classes_are_broken_only_at_dots(shell: Shell) -> None:
    lines = shell("list", "assignors", COLUMNS="80").out.splitlines()
    assert max(map(len, lines)) <= 80
    classes = [row["kafka_class"] for row in json.loads(shell("list", "assignors", "--format", "json").out)]
    for name in filter(None, classes):
        assert any(line.endswith(name.rpartition(".")[2]) for line in lines), name


def test_each_known_problem_has_its_symptom_tickets_and_fixes(shell: Shell) -> None:
    rows = {row["scenario"]: row for row in json.loads(shell("list", "problems", "--format", "json").out)}
    printed = shell("list", "problems", COLUMNS="80").out
    assert len(rows) >= 17
    for path in list_scenarios():
        problem = load(path).problem
        if problem is None:
            continue
        row = rows[path.stem]
        assert row["symptom"] == problem.symptom
        assert row["tickets"] == list(problem.tickets)
        assert len(row["fixes"]) == len(problem.fixes)
        for option in (override for fix in problem.fixes for override in fix.overrides):
            assert f"{option[0]}={option[1]}" in printed.replace("'", "")


INTERNAL = "org.apache.kafka.streams.processor.internals.assignment"


@pytest.mark.parametrize(
    ("name", "registered"),
    [
        ("HighAvailabilityTaskAssignor", "high_availability"),
        (f"{INTERNAL}.HighAvailabilityTaskAssignor", "high_availability"),
        (f"{INTERNAL}.LegacyStickyTaskAssignor", "legacy_sticky"),
        ("FallbackPriorTaskAssignor", "fallback_prior"),
        ("org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor", "sticky_task_assignor"),
        ("org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor", "streams_group_sticky"),
        ("HighAvailabilityTaskAssignor@4.1", "high_availability@4.1"),
    ],
)
def test_kafkas_class_names_are_accepted_on_the_command_line_and_in_scenarios(
    shell: Shell, name: str, registered: str
) -> None:
    assert registry.find(name).name == registry.load(name).name == registered
    assert load("order_processing").assignor_spec(name).label == registered
    own = load("order_processing", [("assignors", f'["{name}"]')])
    assert [spec.label for spec in own.assignors] == [registered]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("run", "order_procesing"), "did you mean 'order_processing'?"),
        (("verify", "order_procesing"), "did you mean 'order_processing'?"),
        (("sweep", "return_of_balanc", "--out", "x"), "did you mean 'return_of_balance'?"),
        (("run", "order_processing", "--assignor", "high_availabilty"), "did you mean 'high_availability'?"),
        (("run", "order_processing", "--assignor", "high_availabilty@4.1"), "did you mean 'high_availability@4.1'?"),
        (
            ("run", "order_processing", "--assignor", f"{INTERNAL}.HighAvailabiltyTaskAssignor"),
            "did you mean 'HighAvailabilityTaskAssignor'?",
        ),
        (
            ("run", "order_processing", "--assignor", "StickyTaskAssignor"),
            "streams_group_sticky (org.apache.kafka.coord",
        ),
        (("run", "order_processing", "--columns", "active_move"), "did you mean 'active_moves'?"),
        (("verify", "order_processing", "--tolerance", "active_move=3"), "did you mean 'active_moves'?"),
        (("plan", "assignment.json", "--strategy", "exact_flo"), "did you mean 'exact_flow'?"),
    ],
)
def test_misspelled_names_are_hinted_at(shell: Shell, arguments: tuple[str, ...], hint: str) -> None:
    shell.write("assignment.json", '{"version": 1, "partitions": [{"topic": "a", "partition": 0, "replicas": [0]}]}')
    result = shell(*arguments)
    assert result.code == 2
    assert hint in result.err
