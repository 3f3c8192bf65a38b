"""Scenarios that run alongside each other: their files, their common cluster, and mistakes in both."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.load import Scenario, ScenarioError, load, loads
from scenarios.run import run
from scenarios.run_estimate import predict_run_ms
from simulator.results.tabulation import tabulate
from simulator.world.disturbances import BrokerLoss, Crash, RackOutage, TrafficChange

MAIN = """\
cluster:
  brokers: {count: 3, racks: [az1, az2, az3], restore: 4 MB/s}
  configs: {group.initial.rebalance.delay.ms: 1s, default.replication.factor: 1}
  topics:
    - {name: clicks, partitions: 6, replication_factor: 2, bytes_per_s: 1 MB/s}
application:
  id: orders
  starts: cold
  subtopologies:
    - sources: [clicks]
      stores: [{name: totals, size: 600 MB}]
clients:
  - {name: app, count: 2, racks: [az1, az2], hosts: [node]}
hosts: [{name: node, count: 2, restore: 50 MB/s}]
alongside: [other.yaml]
events:
  - {at: 20m, rack_outage: {rack: az1, down: 10m}}
duration: 1h
"""
OTHER = MAIN.replace("id: orders", "id: payments").replace("alongside: [other.yaml]\n", "")


def write(folder: Path, main: str = MAIN, **others: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.yaml").write_text(main)
    for name, text in ({"other": OTHER} | others).items():
        (folder / f"{name}.yaml").write_text(text)
    return folder / "main.yaml"


def mistakes(file: Path) -> list[str]:
    with pytest.raises(ScenarioError) as error:
        load(file)
    return [str(mistake).replace(f"{file.parent}/", "") for mistake in error.value.mistakes]


def neighbor_of(scenario: Scenario) -> Scenario:
    (neighbor,) = scenario.neighbors
    return neighbor


def test_neighbor_shares_cluster_and_its_events(tmp_path: Path) -> None:
    other = OTHER.replace("restore: 4 MB/s}", "restore: 9 MB/s}").replace("1s}", "7s}").replace("1h", "30m")
    other = other.replace("rack_outage: {rack: az1, down: 10m}", "crash: {clients: app-1, down: 1m}")
    other += "assignors: [legacy_sticky, high_availability]\n"
    scenario = load(write(tmp_path, other=other))
    world = scenario.world(1)
    ((spec, neighbor),) = scenario.neighbor_worlds(world, scenario.assignors[0], 1)
    assert spec.label == "legacy_sticky"
    assert neighbor.cluster.brokers == world.cluster.brokers
    assert neighbor.application.group_configs.initial_rebalance_delay_ms == 1_000
    assert neighbor.duration_ms == world.duration_ms == 3_600_000
    assert [type(event) for event in neighbor.disturbances] == [Crash, RackOutage]
    assert [type(event) for event in world.disturbances] == [RackOutage]
    assert neighbor.cluster.topics["clicks"].replicas == world.cluster.topics["clicks"].replicas
    assert scenario.imports[0][0] == "other.yaml"


def test_other_traffic_of_neighbor_does_not_count(tmp_path: Path) -> None:
    text = "other_traffic: {groups: [{name: search, topics: [clicks], racks: [az1]}]}\n"
    scenario = load(write(tmp_path, MAIN + text, other=OTHER + text))
    world = scenario.world(1)
    ((_, neighbor),) = scenario.neighbor_worlds(world, scenario.assignors[0], 1)
    assert world.other_traffic is not None
    assert neighbor.other_traffic is None
    [warning] = [warning for warning in scenario.warnings if "does not count" in warning]
    assert warning.endswith("other_traffic: does not count: other traffic is that of 'main.yaml' only")


def test_cluster_events_of_neighbor_do_not_happen(tmp_path: Path) -> None:
    other = OTHER.replace("rack_outage: {rack: az1, down: 10m}", "broker_loss: {brokers: [2]}")
    other = other.replace("events:\n", "events:\n  - {at: 5m, traffic: {factor: 2}}\n")
    scenario = load(write(tmp_path, other=other))
    world = scenario.world(1)
    ((_, neighbor),) = scenario.neighbor_worlds(world, scenario.assignors[0], 1)
    assert [type(event) for event in neighbor.disturbances] == [TrafficChange, RackOutage]
    assert not any(isinstance(event, BrokerLoss) for event in world.disturbances)
    assert [warning.replace(f"{tmp_path}/", "") for warning in scenario.warnings] == [
        "other.yaml:17: events[1].broker_loss: does not happen: brokers, racks and replicas have the events of "
        "'main.yaml' only"
    ]


def test_random_events_of_equal_clients_are_independent(tmp_path: Path) -> None:
    churn = "events:\n  - {at: 0s, churn: {clients: app, crashes: 20/h, down: 1m}}\n"
    scenario = load(write(tmp_path, MAIN.replace("events:\n", churn), other=OTHER.replace("events:\n", churn)))
    world = scenario.world(1)
    ((_, neighbor),) = scenario.neighbor_worlds(world, scenario.assignors[0], 1)
    own, others = ({event.at_ms for event in of.disturbances if isinstance(event, Crash)} for of in (world, neighbor))
    assert own
    assert others
    assert not own & others


def test_files_may_list_each_other(tmp_path: Path) -> None:
    other = OTHER + "alongside: [main.yaml]\n"
    scenario = load(write(tmp_path, other=other))
    assert neighbor_of(scenario).neighbors == ()
    assert not any("alongside" in warning for warning in scenario.warnings)
    assert neighbor_of(load(tmp_path / "other.yaml")).name == "main"


def test_neighbor_of_neighbor_does_not_run(tmp_path: Path) -> None:
    third = OTHER.replace("id: payments", "id: third")
    scenario = load(write(tmp_path, other=OTHER + "alongside: [third.yaml]\n", third=third))
    (warning,) = [text for text in scenario.warnings if "alongside" in text]
    assert warning.endswith("other.yaml:18: alongside[0]: 'third.yaml' does not run; list it in 'main.yaml', too")


def test_override_removes_neighbors(tmp_path: Path) -> None:
    scenario = load(write(tmp_path), [("alongside", "[]")])
    assert scenario.neighbors == ()
    assert scenario.imports == ()


def test_files_of_neighbors_are_relative_to_them(tmp_path: Path) -> None:
    write(tmp_path, MAIN.replace("other.yaml", "team/other.yaml"))
    (tmp_path / "team").mkdir()
    (tmp_path / "brokers.txt").write_text("0,az1\n1,az2\n2,az3\n")
    other = OTHER.replace(
        "brokers: {count: 3, racks: [az1, az2, az3], restore: 4 MB/s}", "from: {brokers: ../brokers.txt}"
    )
    (tmp_path / "team" / "other.yaml").write_text(other)
    names = [name for name, _ in load(tmp_path / "main.yaml").imports]
    assert names == ["team/../brokers.txt", "team/other.yaml"]


def test_text_reads_neighbors_from_its_folder(tmp_path: Path) -> None:
    write(tmp_path)
    assert neighbor_of(loads(MAIN, "text", folder=tmp_path)).blueprint.application.id == "payments"


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        (
            ("count: 3, racks: [az1, az2, az3]", "count: 4, racks: [az1, az2, az3]"),
            "'other.yaml': unknown broker 3 (brokers of this scenario: 0, 1, 2); both scenarios must describe the same "
            "cluster",
        ),
        (
            ("count: 3, racks: [az1, az2, az3]", "count: 2, racks: [az1, az2]"),
            "'other.yaml': lacks broker 2 (brokers of this scenario: 0, 1, 2); both scenarios must describe the same "
            "cluster",
        ),
        (
            ("racks: [az1, az2, az3]", "racks: [az1, az3, az2]"),
            "'other.yaml': broker 1 is in rack 'az3', but in rack 'az2' in this scenario; set the same racks in both",
        ),
        (
            ("id: payments", "id: orders"),
            "'other.yaml': application.id orders is also that of this scenario; applications on a cluster need "
            "different ids",
        ),
        (
            ("restore: 50 MB/s", "restore: 60 MB/s"),
            "'other.yaml': host 'node-0' restores 60,000,000 B/s, but 50,000,000 B/s in this scenario; set the same "
            "rate in both",
        ),
        (
            ("racks: [az1, az2], hosts", "racks: [az2, az1], hosts"),
            "'other.yaml': host 'node-0' is in rack 'az2', but in rack 'az1' in this scenario; a host is in one rack",
        ),
        (
            ("partitions: 6", "partitions: 3"),
            "'other.yaml': topic 'clicks' has 3 partitions, but 6 in this scenario; set the same number in both",
        ),
    ],
)
def test_contradictions_are_mistakes(tmp_path: Path, change: tuple[str, str], mistake: str) -> None:
    assert change[0] in OTHER
    assert mistakes(write(tmp_path, other=OTHER.replace(*change))) == [f"main.yaml:15: alongside[0]: {mistake}"]


def test_two_neighbors_with_the_same_application(tmp_path: Path) -> None:
    main = MAIN.replace("[other.yaml]", "[other.yaml, again.yaml]")
    assert mistakes(write(tmp_path, main, again=OTHER)) == [
        "main.yaml:15: alongside[1]: 'again.yaml': application.id payments is also that of 'other.yaml'; applications "
        "on a cluster need different ids"
    ]


@pytest.mark.parametrize(
    ("listed", "mistake"),
    [
        ("missing.yaml", "alongside[0]: 'missing.yaml': no such file"),
        ("folder", "alongside[0]: 'folder': not a file"),
        ("main.yaml", "alongside[0]: 'main.yaml' is this scenario itself; list the scenarios of other applications"),
        ("link.yaml", "alongside[0]: 'link.yaml' is this scenario itself; list the scenarios of other applications"),
        ("loop.yaml", "alongside[0]: 'loop.yaml': cannot be read: Too many levels of symbolic links"),
        ("huge.yaml", "alongside[0]: 'huge.yaml:1': longer than 400,000 bytes"),
    ],
)
def test_files_that_are_no_neighbors(tmp_path: Path, listed: str, mistake: str) -> None:
    file = write(tmp_path, MAIN.replace("other.yaml", listed))
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.yaml").symlink_to(file)
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    (tmp_path / "huge.yaml").write_text("#" * 400_001)
    assert mistakes(file) == [f"main.yaml:15: {mistake}"]


def test_mistakes_in_a_neighbor_have_its_file_and_line(tmp_path: Path) -> None:
    other = OTHER.replace("stores: [{name: totals, size: 600 MB}]", "stores: [{name: totals, size: 600 XB}]")
    main = MAIN.replace("at: 20m", "at: 20q")
    reported = mistakes(write(tmp_path, main, other=other))
    assert [text.split(": ")[:2] for text in reported] == [
        ["main.yaml:17", "events[0].at"],
        ["other.yaml:11", "application.subtopologies[0].stores[0].size"],
    ]


def test_run_has_the_neighbor_and_takes_longer(tmp_path: Path) -> None:
    scenario = load(write(tmp_path))
    alone = load(tmp_path / "main.yaml", [("alongside", "[]")])
    together, single = run(scenario, "high_availability", 1), run(alone, "high_availability", 1)
    (row,) = tabulate(together, "some", 1)["neighbors"].to_pylist()
    assert (row["application"], row["neighbor"], row["verdict"]) == ("payments", "other", "stable")
    assert row["restored_bytes"] > 600_000_000
    assert together.downtime_ms.min() == pytest.approx(2 * single.downtime_ms.min(), rel=0.01)
    (spec,) = scenario.assignors
    assert predict_run_ms(scenario, spec) > 1.5 * predict_run_ms(alone, spec)


def test_failing_assignor_of_a_neighbor_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assignors.errors import AssignorError
    from assignors.tasks.legacy_sticky import LegacySticky

    def fail(*_: object) -> None:
        raise AssignorError("out of order")

    scenario = load(write(tmp_path, other=OTHER + "assignors: [legacy_sticky]\n"))
    monkeypatch.setattr(LegacySticky, "assign_recorded", fail)
    trace = run(scenario, "high_availability", 1)
    assert trace.failure == "neighbor payments: round 1: LegacySticky: out of order"
    assert trace.end_ms < 60_000
