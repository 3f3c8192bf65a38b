"""Upgrades of brokers and clients: what they change, and what they leave alone."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pytest

from assignors import registry
from assignors.model.assignment import AssignmentColumns
from scenarios.load import Scenario, ScenarioError, loads
from scenarios.run import run
from simulator.brokers.coordinator import coordinator_replicas
from simulator.processes.run_options import RunOptions
from simulator.results.trace import Trace
from simulator.world.changes import ClientDown, CoordinatorMoved

TEXT = """
cluster:
  brokers: {{count: 4, racks: [az1, az2]}}
  kafka: '{brokers}'
  configs: {{default.replication.factor: 3}}
  topics: [{{name: orders, partitions: 7, replication_factor: 2, bytes_per_s: 200 kB/s}}]
application:
  id: shop
  kafka: '{clients}'
  configs: {{num.standby.replicas: 1, group.protocol: {protocol}}}
  subtopologies: [{{sources: [orders], stores: [{{name: totals, size: 600 MB}}]}}]
clients:
  - {{name: app, count: 4, racks: [az1, az2], threads: 2}}
  - {{name: late, count: 2, racks: [az1, az2], starts: false}}
events: [{events}]
assignors: [{assignor}]
duration: 1h
"""
LATER = "{at: 35m, join: {clients: late}}, {at: 45m, crash: {clients: app-1, down: 2m}}"


def scenario_of(
    events: str, brokers: str = "4.3", clients: str = "4.3", protocol: str = "streams", assignor: str | None = None
) -> Scenario:
    assignor = assignor or ("streams_group_sticky" if protocol == "streams" else "high_availability")
    text = TEXT.format(events=events, brokers=brokers, clients=clients, protocol=protocol, assignor=assignor)
    return loads(text, "upgrade")


def trace_of(events: str, **parts: str) -> Trace:
    scenario = scenario_of(events, **parts)
    return run(scenario, scenario.assignors[0], options=RunOptions(capture=True))


def figures(trace: Trace) -> list[object]:
    rounds = [
        (round_.at_ms, round_.reason, round_.owner.tolist(), round_.standby.tolist(), str(round_.traffic))
        for round_ in trace.rounds
    ]
    return [rounds, trace.downtime_ms.tolist(), trace.end_ms]


@pytest.mark.parametrize("protocol", ["streams", "classic"])
@pytest.mark.parametrize("release", ["4.2", "4.3", "4.4"])
def test_upgrade_of_brokers_to_the_same_release_only_restarts_them(protocol: str, release: str) -> None:
    timing = "down: 50s, pause: 70s"
    upgraded = trace_of(
        f"{{at: 10m, upgrade: {{brokers: '{release}', {timing}}}}}, {LATER}", brokers=release, protocol=protocol
    )
    bounced = trace_of(
        f"{{at: 10m, broker_bounce: {{brokers: [0, 1, 2, 3], {timing}}}}}, {LATER}", brokers=release, protocol=protocol
    )
    assert figures(upgraded) == figures(bounced)


@pytest.mark.parametrize("protocol", ["streams", "classic"])
@pytest.mark.parametrize(("release", "order"), [("4.1", "listed"), ("4.3", "shuffled"), ("4.4", "by_rack")])
def test_upgrade_of_clients_to_the_same_release_is_a_rolling_bounce(protocol: str, release: str, order: str) -> None:
    keys = f"clients: app, order: {order}, down: 20s, pause: 40s, close: 3s, grace: 30s"
    upgraded = trace_of(
        f"{{at: 10m, upgrade: {{{keys}, to: '{release}'}}}}, {LATER}", clients=release, protocol=protocol, brokers="4.4"
    )
    bounced = trace_of(
        f"{{at: 10m, rolling_bounce: {{{keys}}}}}, {LATER}", clients=release, protocol=protocol, brokers="4.4"
    )
    assert figures(upgraded) == figures(bounced)


def test_group_that_is_upgraded_before_its_first_assignment_has_the_new_release_from_the_start() -> None:
    upgraded = trace_of(f"{{at: 0s, upgrade: {{brokers: '4.4', down: 0s, pause: 0s}}}}, {LATER}", clients="4.4")
    new = trace_of(LATER, brokers="4.4", clients="4.4")
    assert [row[1:4] for row in figures(upgraded)[0]] == [row[1:4] for row in figures(new)[0]]  # type: ignore[index,attr-defined]
    starts = [trace.rounds[0].at_ms for trace in (upgraded, new)]
    assert starts == [5_000, 3_000], "the other coordinator knows nothing of the initial delay: a heartbeat ends it"
    assert upgraded.captured_rounds[-1].state.thread_offsets == new.captured_rounds[-1].state.thread_offsets


@pytest.mark.parametrize("protocol", ["streams", "classic"])
def test_sessions_begin_anew_when_the_coordinator_moves(protocol: str) -> None:
    """The other coordinator does not know when members sent their last heartbeats (`GroupMetadataManager.onLoaded`)."""
    crash = "{at: 10m, crash: {clients: app-1}}"
    stays = trace_of(crash, protocol=protocol)
    moves = trace_of(f"{crash}, {{at: 620s, upgrade: {{brokers: '4.4', down: 0s, pause: 0s}}}}", protocol=protocol)
    assert 620_000 in [timed.at_ms for timed in moves.changes if isinstance(timed.change, CoordinatorMoved)]
    [before], [after] = (
        [round_ for round_ in trace.rounds if "timed out" in round_.reason][-1:] for trace in (stays, moves)
    )
    assert 640_000 <= before.requested_at_ms <= 645_000, "45 s after the last heartbeat, of every 5 s"
    assert after.requested_at_ms == 665_000


@pytest.mark.parametrize("clients", ["4.3", "4.4"])
def test_each_assignment_is_that_of_the_release_of_the_coordinator(clients: str) -> None:
    trace = trace_of(
        "{at: 20m, upgrade: {brokers: '4.4', down: 60s, pause: 8m}}, {at: 3m, join: {clients: late-0}},"
        "{at: 5m, leave: {clients: app-0}}, {at: 50m, join: {clients: late-1}}, {at: 55m, leave: {clients: app-2}}",
        clients=clients,
    )
    moves = [(timed.at_ms, timed.change) for timed in trace.changes if isinstance(timed.change, CoordinatorMoved)]
    assert moves
    assert moves[-1][1].release == "4.4"
    asked: set[str] = set()
    num_different = 0
    for captured in trace.captured_rounds:
        before = [move for at_ms, move in moves if at_ms <= captured.round.at_ms]
        release = before[-1].release if before and before[-1].release else "4.3"
        asked.add(release)
        answer = registry.make(registry.find(f"streams_group_sticky@{release}")).assign(captured.state)
        columns = AssignmentColumns.of(captured.state, answer)
        assert np.array_equal(columns.active, captured.columns.active)
        assert np.array_equal(columns.standby, captured.columns.standby)
        other = registry.make(registry.find(f"streams_group_sticky@{'4.3' if release == '4.4' else '4.4'}"))
        num_different += other.assign(captured.state) != answer
        has_offsets = any(offsets for of_client in captured.state.thread_offsets for offsets in of_client)
        assert not has_offsets or (release == "4.4" and clients == "4.4")
    assert asked == {"4.3", "4.4"}
    assert num_different, "the releases have different answers"


def test_each_assignment_of_a_classic_group_is_that_of_the_release_of_its_leader() -> None:
    events = (
        "{at: 5m, crash: {clients: app-3, down: 90s}},"
        "{at: 10m, upgrade: {clients: app, to: '4.4', down: 5s, pause: 4m}},"
        "{at: 3m, join: {clients: late-0}}, {at: 30m, join: {clients: late-1}}, {at: 40m, leave: {clients: app-2}}"
    )
    trace = trace_of(events, protocol="classic", assignor="sticky_task_assignor")
    num_different = 0
    for captured in trace.captured_rounds:
        answers = {
            release: AssignmentColumns.of(
                captured.state, registry.make(registry.find(f"sticky_task_assignor@{release}")).assign(captured.state)
            )
            for release in ("4.3", "4.4")
        }
        if np.array_equal(answers["4.3"].active, answers["4.4"].active):
            continue
        minute = captured.round.at_ms / 60_000
        if 10 <= minute < 29:  # Some members have the new release, and any may lead.
            continue
        num_different += 1
        upgraded = minute >= 29
        assert np.array_equal(captured.columns.active, answers["4.4" if upgraded else "4.3"].active)
    assert num_different, "the releases have different answers"


def test_assignor_of_clients_follows_their_release_unless_it_names_one() -> None:
    def label_of(clients: str, assignor: str, events: str = LATER) -> tuple[str, str]:
        spec = scenario_of(events, clients=clients, protocol="classic", assignor=assignor).assignors[0]
        return spec.label, spec.info.release

    assert label_of("4.2", "sticky_task_assignor") == ("sticky_task_assignor@4.2", "4.2")
    assert label_of("4.4", "sticky_task_assignor@4.2") == ("sticky_task_assignor@4.2", "4.2")
    assert label_of("4.2", "high_availability") == ("high_availability", "")
    upgrade = "{at: 10m, upgrade: {clients: app, to: '4.4'}}"
    assert label_of("4.2", "sticky_task_assignor", upgrade)[0] == "sticky_task_assignor"


def test_coordinator_is_the_first_live_replica_of_the_partition_of_the_group() -> None:
    trace = trace_of("{at: 10m, upgrade: {brokers: '4.4'}}")
    preferred, second, _ = coordinator_replicas(trace.world)
    moves = [timed.change for timed in trace.changes if isinstance(timed.change, CoordinatorMoved)]
    expected_release = "4.4" if second < preferred else ""  # Brokers restart by id.
    assert [(move.broker, move.release) for move in moves] == [(second, expected_release), (preferred, "4.4")]


def test_assignor_that_names_its_release_keeps_it() -> None:
    events = f"{{at: 10m, upgrade: {{brokers: '4.4'}}}}, {LATER}"
    scenario = scenario_of(events, assignor="streams_group_sticky, streams_group_sticky@4.3")
    assert [spec.label for spec in scenario.assignors] == ["streams_group_sticky", "streams_group_sticky@4.3"]
    for label in ("streams_group_sticky@4.3", "streams_group_sticky@4.4"):
        trace = run(scenario, label, options=RunOptions(capture=True))
        assignor = registry.make(registry.find(label))
        for captured in trace.captured_rounds:
            assert np.array_equal(
                AssignmentColumns.of(captured.state, assignor.assign(captured.state)).active, captured.columns.active
            )


def test_clients_report_offsets_from_their_own_upgrade_on() -> None:
    trace = trace_of("{at: 10m, upgrade: {clients: app, to: '4.4', down: 20s, pause: 100s}}", brokers="4.4")
    first, last = trace.captured_rounds[1], trace.captured_rounds[-1]
    names = [trace.world.clients[row].name for row in last.round.members.tolist()]
    assert not first.state.thread_offsets
    reporting = {name for name, offsets in zip(names, last.state.task_offsets, strict=True) if offsets}
    assert {"app-0", "app-1", "app-2"} <= reporting


@pytest.mark.parametrize("event", ["rolling_bounce", "leave"])
def test_dynamic_members_can_remain_in_streams_groups_from_4_4_on(event: str) -> None:
    old, new = (
        f"{{at: {at}, {event}: {{clients: {client}, leaves_group: false}}}}"
        for at, client in (("5m", "app-0"), ("30m", "app-1"))
    )
    upgrade = "{at: 15m, upgrade: {clients: app-1, to: '4.4', leaves_group: false}}"
    trace = trace_of(f"{old}, {upgrade}, {new}", brokers="4.4")
    downs = [timed.change for timed in trace.changes if isinstance(timed.change, ClientDown)]
    stops = [(down.client, down.leaves_group) for down in downs]
    assert stops == [("app-0", True), ("app-1", True), ("app-1", False)], (
        "clients close with the release that they have"
    )
    removed = [round_ for round_ in trace.rounds if round_.reason == "app-1: session timed out"]
    assert all(round_.at_ms >= 30 * 60_000 + 40_000 for round_ in removed)
    assert removed


def test_upgrade_from_before_4_2_ends_internal_leave_group_on_close() -> None:
    text = TEXT.format(
        events="{at: 5m, upgrade: {clients: app, to: '4.2'}}, {at: 40m, rolling_bounce: {clients: app-0}}",
        brokers="4.3",
        clients="4.1",
        protocol="classic, internal.leave.group.on.close: true",
        assignor="high_availability",
    )
    scenario = loads(text, "upgrade")
    trace = run(scenario, scenario.assignors[0])
    downs = [timed.change for timed in trace.changes if isinstance(timed.change, ClientDown)]
    assert [down.leaves_group for down in downs] == [True, True, True, True, False]


MISTAKES: Mapping[str, str] = {
    "{}": "set brokers, or clients and to",
    "{clients: app}": "to is missing; set clients and to",
    "{to: '4.4'}": "clients is missing; set clients and to",
    "{brokers: '4.4', to: '4.4', clients: app}": "applies to clients only; upgrade brokers and clients by two events",
    "{brokers: '4.4', grace: 30s}": "applies to clients only",
    "{brokers: '4.2'}": "Kafka 4.2 is older than 4.3, the release before (cluster.kafka)",
    "{brokers: '4.9'}": "Kafka 4.9 is not supported (supported: 3.8 to 4.4)",
    "{clients: nobody, to: '4.4'}": "unknown client 'nobody'",
    "{clients: app, to: 'new'}": "'new' is not a Kafka release such as 4.3 or 3.9.1",
    "{clients: late, to: '4.4'}": "absent at 10m",
}


@pytest.mark.parametrize(("upgrade", "message"), MISTAKES.items())
def test_mistakes_name_file_line_and_path(upgrade: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario_of(f"{{at: 10m, upgrade: {upgrade}}}")
    assert re.search(r"upgrade:\d+: events\[0\]\.upgrade", str(error.value)), error.value
    assert message in str(error.value)


def test_second_upgrade_must_not_be_older_than_the_first() -> None:
    first, second = "{at: 5m, upgrade: {brokers: '4.4'}}", "{at: 40m, upgrade: {brokers: '4.3'}}"
    with pytest.raises(ScenarioError, match=r"Kafka 4.3 is older than 4.4, .* \(the upgrade at 5m\)"):
        scenario_of(f"{first}, {second}")


def test_upgrade_needs_the_release_before() -> None:
    text = TEXT.format(
        events="{at: 5m, upgrade: {brokers: '4.4'}}", brokers="4.3", clients="4.3", protocol="streams", assignor="ha"
    )
    with pytest.raises(ScenarioError, match=r"the release before the upgrade is unknown; set cluster.kafka"):
        loads(text.replace("  kafka: '4.3'\n  configs: {default", "  configs: {default"), "upgrade")
