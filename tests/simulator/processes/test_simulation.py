"""Runs of a small world with disturbances of state, brokers, racks, configs and input."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from assignors.model.assignment import TaskAssignment
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import ApplicationState
from assignors.tasks.high_availability import HighAvailability
from simulator.flows.traffic import TrafficKind
from simulator.processes.run_options import RunOptions
from simulator.processes.simulation import simulate
from simulator.results.convergence import Verdict, convergence
from simulator.world.changes import Disk
from simulator.world.disturbances import (
    BrokerBounce,
    BrokerLoss,
    ConfigChange,
    Crash,
    Join,
    Leave,
    RackOutage,
    ReplicaMove,
    RollingBounce,
    TrafficChange,
)
from simulator.world.pod_events import Closing
from simulator.world.world import OffsetReports
from tests.simulator.invariants import InvariantChecker
from tests.simulator.small_world_runs import SECOND, members, run, tasks_on, with_client, with_rack_awareness
from tests.simulator.world_builders import (
    HOUR,
    MINUTE,
    with_clients,
    with_configs,
    with_group,
    with_late_clients,
    world,
)

pytestmark = pytest.mark.usefixtures("equal_phases")


def test_returning_client_restores_only_what_it_missed() -> None:
    trace = run(with_configs(world(2), max_warmup_replicas=3), Crash(HOUR, ("c1",), 2 * HOUR, disk=Disk.KEPT))
    stateful = trace.layout.tasks.stateful
    moved = trace.rounds[1].owner != trace.rounds[0].owner
    missed_bytes = int((stateful & moved).sum()) * 2 * HOUR // 1000 * 100_000
    restored_again = trace.final_totals.restored_again_bytes
    restored_later = trace.final_totals.restored_bytes - trace.rounds[-1].totals_before.restored_bytes
    assert restored_again == 0, "it reads only what was written during its absence"
    assert restored_later < missed_bytes * 1.1


def test_copy_deleted_by_cleanup_is_restored_again() -> None:
    outage = Crash(HOUR, ("c1",), 2 * HOUR, disk=Disk.KEPT)
    assert run(world(2), outage).final_totals.restored_again_bytes > 0, (
        "two copies warm up at a time; the third one is deleted before"
    )
    long_delay = with_group(world(2), state_cleanup_delay_ms=HOUR)
    assert run(long_delay, outage).final_totals.restored_again_bytes == 0


@dataclass(frozen=True)
class RecordingAssignor:
    """Assigns like Kafka's default assignor and records the standbys that each client reported."""

    standbys_by_round: list[dict[ProcessId, tuple[TaskId, ...]]]

    def assign(self, state: ApplicationState) -> TaskAssignment:
        self.standbys_by_round.append(dict(zip(state.clients.ids, state.previous_standby, strict=True)))
        return HighAvailability().assign(state)


def test_returning_client_reports_the_copies_on_its_disk() -> None:
    assignor = RecordingAssignor([])
    trace = run(world(), RollingBounce(HOUR, ("c1",), 20 * SECOND, 0), assignor=assignor)
    stateful = trace.layout.tasks.stateful
    stateful_tasks = [trace.layout.tasks.ids[task] for task in tasks_on(trace, 1) if stateful[task]]
    assert stateful_tasks
    assert assignor.standbys_by_round[1][world().clients[1].process_id] == tuple(stateful_tasks)
    assert not any(assignor.standbys_by_round[0].values())


def test_client_without_disk_restores_again() -> None:
    trace = run(world(2), Crash(HOUR, ("c1",), 20 * SECOND, disk=Disk.LOST))
    assert trace.final_totals.restored_again_bytes > 0
    assert trace.final_totals.restored_again_bytes == pytest.approx(trace.final_totals.restored_bytes, rel=0.1)


def test_rack_outage_stops_and_restarts_clients_and_brokers() -> None:
    trace = run(world(6), RackOutage(HOUR, "az2", HOUR, disk=Disk.KEPT))
    assert members(trace)[1] == [0, 2, 3, 5]
    assert trace.rounds[1].requested_at_ms == HOUR + 45 * SECOND
    assert members(trace)[-1] == [0, 1, 2, 3, 4, 5]
    assert convergence(trace).verdict is Verdict.STABLE


def test_never_converges_if_changelog_grows_faster_than_it_is_restored() -> None:
    slow = with_late_clients(world(), "late")
    slow = with_client(slow, 4, restore_bytes_per_s=90_000)
    verdict = convergence(run(slow, Join(HOUR, ("late",))))
    assert verdict.verdict is Verdict.NEVER
    assert verdict.cause is not None
    assert verdict.cause.endswith("on late grows as fast as it is restored")


def test_never_converges_if_a_client_reports_no_offsets() -> None:
    base = with_client(with_late_clients(world(), "late"), 4, reports=OffsetReports.NEVER)
    verdict = convergence(run(base, Join(HOUR, ("late",))))
    assert verdict.verdict is Verdict.NEVER
    assert verdict.cause == "late never reports the offsets of its copies"


def test_stale_offset_reports_delay_convergence() -> None:
    base = with_late_clients(world(), "late")
    current = convergence(run(base, Join(HOUR, ("late",))))
    stale = convergence(run(with_client(base, 4, reports=OffsetReports.STALE), Join(HOUR, ("late",))))
    assert current.verdict is stale.verdict is Verdict.STABLE
    assert (stale.time_to_converge_ms or 0) > (current.time_to_converge_ms or 0)


def test_standbys_waiting_for_an_active_are_no_cause_of_never() -> None:
    base = dataclasses.replace(
        with_late_clients(with_configs(world(2), num_standby_replicas=1), "late"), duration_ms=HOUR + MINUTE
    )
    trace = run(base, Crash(HOUR - MINUTE, ("c1",), 20 * SECOND, disk=Disk.LOST), Join(HOUR, ("late",)))
    assert convergence(trace).verdict in (Verdict.PROBING, Verdict.REBALANCING)


def test_lost_broker_disables_rack_awareness_until_it_returns() -> None:
    loss = BrokerLoss(HOUR, (2,), down_ms=HOUR)
    leaves = [
        Leave(at, (client,), closing=Closing(leaves_group=True))
        for at, client in ((HOUR + MINUTE, "c3"), (3 * HOUR, "c2"))
    ]
    trace = run(with_rack_awareness(world()), loss, *leaves)
    is_rack_aware = {round_.requested_at_ms: round_.costs.active is not None for round_ in trace.rounds}
    assert (is_rack_aware[0], is_rack_aware[HOUR + MINUTE], is_rack_aware[3 * HOUR]) == (True, False, True)


def test_broker_bounce_causes_rebalances_only_if_members_rejoin() -> None:
    bounce = BrokerBounce(HOUR, (0, 1, 2), down_ms=MINUTE, pause_ms=MINUTE)
    assert len(run(world(), bounce).rounds) == 1
    rejoins = with_group(world(), rejoins_when_brokers_bounce=True)
    trace = run(rejoins, bounce)
    assert [round_.requested_at_ms for round_ in trace.rounds[1:]] == [HOUR + n * MINUTE for n in range(6)], (
        "two rebalances for each bounced broker"
    )
    assert trace.rounds[1].reason == "brokers 0 go down"
    without_client_rack = with_clients(rejoins, announces_rack=False)
    assert len(run(without_client_rack, bounce).rounds) == 1, "members without client.rack do not compare racks"


def test_replica_move_causes_rebalance_only_with_client_rack() -> None:
    move = ReplicaMove(HOUR, "views", 0, (1,))
    trace = run(world(), move)
    assert [round_.reason for round_ in trace.rounds[1:]] == ["replicas of views-0 moved"]
    assert trace.rounds[1].requested_at_ms == HOUR
    assert len(run(with_clients(world(), announces_rack=False), move).rounds) == 1


def test_rack_awareness_needs_client_rack_on_all_clients() -> None:
    assert run(with_rack_awareness(world())).rounds[0].costs.active is not None
    for row in range(4):
        assert run(with_client(with_rack_awareness(world()), row, announces_rack=False)).rounds[0].costs.active is None


def test_config_change_takes_effect_immediately() -> None:
    trace = run(world(), ConfigChange(HOUR, AssignmentConfigs(num_standby_replicas=1)))
    standbys = [round_.measures.standbys for round_ in trace.rounds]
    assert standbys[0] == 0
    assert min(standbys[1:]) == standbys[-1] == 6, "more while copies warm up"
    assert trace.rounds[1].requested_at_ms == HOUR


@pytest.mark.parametrize(("bounced", "standbys"), [(("c0", "c1", "c2"), 0), (("c0", "c1", "c2", "c3"), 6)])
def test_config_rollout_takes_effect_when_the_leader_restarts(bounced: Sequence[str], standbys: int) -> None:
    led_by_last_client = dataclasses.replace(world(), clients=world().clients[::-1])
    configs = AssignmentConfigs(num_standby_replicas=1)
    trace = run(led_by_last_client, RollingBounce(HOUR, tuple(bounced), MINUTE, 2 * MINUTE, configs=configs))
    assert trace.rounds[-1].measures.standbys == standbys


def test_client_rack_rollout_enables_rack_awareness_with_the_last_client() -> None:
    base = with_group(with_clients(with_rack_awareness(world()), announces_rack=False), leave_group_on_close=True)
    names = tuple(client.name for client in base.clients)
    trace = run(base, RollingBounce(HOUR, names, MINUTE, 2 * MINUTE, announces_rack=True))
    is_rack_aware = [
        (len(round_.members), round_.costs.active is not None) for round_ in trace.rounds if len(round_.members) == 4
    ]
    assert is_rack_aware[0] == (4, False)
    assert is_rack_aware[-1] == (4, True)
    last_start = HOUR + 3 * 3 * MINUTE + MINUTE
    assert all(
        round_.costs.active is None for round_ in trace.rounds if len(round_.members) == 4 and round_.at_ms < last_start
    )


def test_backlog_of_downtime_is_processed() -> None:
    limited = with_clients(world(), records_per_s=10_000)
    trace = run(limited, Crash(HOUR, ("c1",), disk=Disk.KEPT))
    detected_s = 48
    moved_tasks = tasks_on(trace, 1)
    assert (trace.max_processing_delay_s[moved_tasks] >= detected_s - 3).all()
    assert (trace.max_processing_delay_s[moved_tasks] < 10 * MINUTE / 1000).all()
    assert trace.final_totals.backlog_s == pytest.approx(np.zeros(18), abs=1e-3)


def test_backlog_grows_if_threads_cannot_keep_up() -> None:
    limited = with_clients(world(), records_per_s=1_500)
    trace = run(limited, TrafficChange(HOUR, 2.0), TrafficChange(2 * HOUR, 0.25))
    assert all(round_.at_ms < HOUR for round_ in trace.rounds), "traffic causes no rebalance"
    assert trace.max_processing_delay_s.max() > 600


def test_traffic_change_scales_bytes() -> None:
    usual, tripled = run(world()), run(world(), TrafficChange(6 * HOUR, 3.0))
    for kind in (TrafficKind.SOURCE_READ, TrafficKind.CHANGELOG_WRITE):
        before, after = (
            sum(float(round_.traffic[kind].sum()) for round_ in trace.rounds) for trace in (usual, tripled)
        )
        assert after == pytest.approx(2 * before, rel=1e-3), "three times the traffic for half of the run"


def test_bytes_of_an_undisturbed_round_are_steady_state_rate_times_duration() -> None:
    trace = run(with_configs(world(), num_standby_replicas=1))
    [only] = trace.rounds
    seconds = (only.until_ms - only.at_ms) / 1000
    for kind, per_second in only.steady_state.items():
        assert only.traffic[kind] == pytest.approx(per_second * seconds, rel=1e-3), kind


@pytest.mark.parametrize("records_per_s", [None, 10**9])
def test_changelogs_grow_by_processed_backlog(records_per_s: int | None) -> None:
    base = with_configs(with_clients(world(duration_ms=HOUR), records_per_s=records_per_s), num_standby_replicas=1)
    crashed = dataclasses.replace(
        base, disturbances=(Crash(10 * MINUTE, ("c0", "c1", "c2", "c3"), 20 * MINUTE, disk=Disk.KEPT),)
    )
    checker = InvariantChecker(crashed)
    trace = simulate(crashed, HighAvailability(), options=RunOptions(observe=checker))
    assert checker.last is not None
    grown = float((checker.last.restoration.end_bytes - trace.layout.state_bytes).sum())
    assert trace.final_totals.backlog_s.max() < 1e-6
    assert grown == pytest.approx(6 * 100_000 * (HOUR - trace.rounds[0].at_ms) / 1000, rel=1e-9)
    is_caught_up = checker.last.restoration.caught_up()
    assert is_caught_up.all()
    warmup_bytes = sum(float(round_.traffic[TrafficKind.WARMUP_READ].sum()) for round_ in trace.rounds)
    assert warmup_bytes == pytest.approx(6 * 100_000 * 20 * 60, rel=0.2), (
        "standbys read what was written while the backlog was processed"
    )
