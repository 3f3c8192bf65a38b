"""Whole runs of a small world: what becomes of state, brokers, racks, configs and input."""

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
from simulator.results.convergence import Verdict, convergence
from simulator.run import simulate
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
from simulator.world.world import OffsetReports
from tests.simulator.invariants import InvariantChecker
from tests.simulator.small_world_runs import SECOND, members, rack_aware, ran_on, run, with_client
from tests.simulator.world_builders import HOUR, MINUTE, with_clients, with_configs, with_group, with_late, world


def test_a_client_that_was_away_for_long_finds_its_disk_as_it_was() -> None:
    trace = run(with_configs(world(2), max_warmup_replicas=3), Crash(HOUR, ("c1",), 2 * HOUR))
    stateful = trace.layout.tasks.stateful
    moved = trace.rounds[1].owner != trace.rounds[0].owner
    missed = int((stateful & moved).sum()) * 2 * HOUR // 1000 * 100_000
    again = trace.final_totals.restored_again_bytes
    restored_later = trace.final_totals.restored_bytes - trace.rounds[-1].totals_before.restored_bytes
    assert again == 0, "it reads what was written since, not what it had"
    assert restored_later < missed * 1.1


def test_a_copy_that_waits_for_longer_than_the_cleanup_delay_after_a_restart_is_restored_anew() -> None:
    outage = Crash(HOUR, ("c1",), 2 * HOUR)
    assert run(world(2), outage).final_totals.restored_again_bytes > 0, (
        "two at a time warm up, the third ten minutes later"
    )
    patient = with_group(world(2), state_cleanup_delay_ms=HOUR)
    assert run(patient, outage).final_totals.restored_again_bytes == 0


@dataclass(frozen=True)
class Looks:
    """Decides as Kafka's default does, and remembers what each client was said to have had besides what it runs."""

    seen: list[dict[ProcessId, tuple[TaskId, ...]]]

    def assign(self, state: ApplicationState) -> TaskAssignment:
        self.seen.append(dict(zip(state.clients.ids, state.previous_standby, strict=True)))
        return HighAvailability().assign(state)


def test_a_client_that_comes_back_is_known_to_have_what_lies_on_its_disk() -> None:
    looks = Looks([])
    trace = run(world(), RollingBounce(HOUR, ("c1",), 20 * SECOND, 0), assignor=looks)
    stateful = trace.layout.tasks.stateful
    had = [trace.layout.tasks.ids[task] for task in ran_on(trace, 1) if stateful[task]]
    assert had
    assert looks.seen[1][world().clients[1].process_id] == tuple(had)
    assert not any(looks.seen[0].values())


def test_a_client_that_lost_its_disk_is_another_process_and_restores_again() -> None:
    trace = run(world(2), Crash(HOUR, ("c1",), 20 * SECOND, keeps_state=False))
    assert trace.final_totals.restored_again_bytes > 0
    assert trace.final_totals.restored_again_bytes == pytest.approx(trace.final_totals.restored_bytes, rel=0.1)


def test_a_rack_outage_takes_clients_and_brokers_and_brings_them_back() -> None:
    trace = run(world(6), RackOutage(HOUR, "az2", HOUR))
    assert members(trace)[1] == [0, 2, 3, 5]
    assert trace.rounds[1].requested_at_ms == HOUR + 45 * SECOND
    assert members(trace)[-1] == [0, 1, 2, 3, 4, 5]
    assert convergence(trace).verdict is Verdict.STABLE


def test_a_client_that_restores_more_slowly_than_is_written_never_comes_to_rest() -> None:
    slow = with_late(world(), "late")
    slow = with_client(slow, 4, restore_bytes_per_s=90_000)
    verdict = convergence(run(slow, Join(HOUR, ("late",))))
    assert verdict.verdict is Verdict.NEVER
    assert verdict.cause is not None
    assert verdict.cause.endswith("on late grows as fast as it is restored")


def test_a_client_that_never_reports_its_offsets_never_comes_to_rest() -> None:
    mute = with_client(with_late(world(), "late"), 4, reports=OffsetReports.NEVER)
    verdict = convergence(run(mute, Join(HOUR, ("late",))))
    assert verdict.verdict is Verdict.NEVER
    assert verdict.cause == "late never reports the offsets of its copies"


def test_a_client_that_reports_late_takes_longer_to_come_to_rest() -> None:
    late = with_late(world(), "late")
    prompt = convergence(run(late, Join(HOUR, ("late",))))
    stale = convergence(run(with_client(late, 4, reports=OffsetReports.STALE), Join(HOUR, ("late",))))
    assert prompt.verdict is stale.verdict is Verdict.STABLE
    assert (stale.time_to_converge_ms or 0) > (prompt.time_to_converge_ms or 0)


def test_a_run_that_ends_while_standbys_wait_for_an_active_is_not_said_never_to_end() -> None:
    ends = dataclasses.replace(
        with_late(with_configs(world(2), num_standby_replicas=1), "late"), duration_ms=HOUR + MINUTE
    )
    trace = run(ends, Crash(HOUR - MINUTE, ("c1",), 20 * SECOND, keeps_state=False), Join(HOUR, ("late",)))
    assert convergence(trace).verdict in (Verdict.PROBING, Verdict.REBALANCING)


def test_a_lost_broker_switches_rack_awareness_off_until_it_is_back() -> None:
    lost = BrokerLoss(HOUR, (2,), down_ms=HOUR)
    leaves = [Leave(at, (who,), leaves_group=True) for at, who in ((HOUR + MINUTE, "c3"), (3 * HOUR, "c2"))]
    trace = run(rack_aware(world()), lost, *leaves)
    known = {each.requested_at_ms: each.costs.active is not None for each in trace.rounds}
    assert (known[0], known[HOUR + MINUTE], known[3 * HOUR]) == (True, False, True)


def test_brokers_that_bounce_call_for_rebalances_only_in_releases_that_rejoin() -> None:
    bounce = BrokerBounce(HOUR, (0, 1, 2), down_ms=MINUTE, pause_ms=MINUTE)
    assert len(run(world(), bounce).rounds) == 1
    rejoins = with_group(world(), rejoins_when_brokers_bounce=True)
    trace = run(rejoins, bounce)
    assert [each.requested_at_ms for each in trace.rounds[1:]] == [HOUR + n * MINUTE for n in range(6)], "two a bounce"
    assert trace.rounds[1].reason == "brokers 0 go down"
    nowhere = with_clients(rejoins, announces_rack=False)
    assert len(run(nowhere, bounce).rounds) == 1, "without client.rack nobody looks at racks"


def test_moving_a_replica_calls_for_a_rebalance_where_clients_have_racks() -> None:
    move = ReplicaMove(HOUR, "views", 0, (1,))
    trace = run(world(), move)
    assert [each.reason for each in trace.rounds[1:]] == ["replicas of views-0 moved"]
    assert trace.rounds[1].requested_at_ms == HOUR
    assert len(run(with_clients(world(), announces_rack=False), move).rounds) == 1


def test_client_rack_on_some_clients_only_leaves_rack_awareness_off() -> None:
    assert run(rack_aware(world())).rounds[0].costs.active is not None
    for row in range(4):
        assert run(with_client(rack_aware(world()), row, announces_rack=False)).rounds[0].costs.active is None


def test_a_change_of_configs_holds_from_then_on() -> None:
    trace = run(world(), ConfigChange(HOUR, AssignmentConfigs(num_standby_replicas=1)))
    standbys = [each.measures.standbys for each in trace.rounds]
    assert standbys[0] == 0
    assert min(standbys[1:]) == standbys[-1] == 6, "more while some warm up"
    assert trace.rounds[1].requested_at_ms == HOUR


@pytest.mark.parametrize(("bounced", "standbys"), [(("c0", "c1", "c2"), 0), (("c0", "c1", "c2", "c3"), 6)])
def test_a_rollout_of_configs_takes_effect_when_the_leader_has_them(bounced: Sequence[str], standbys: int) -> None:
    led_by_the_last = dataclasses.replace(world(), clients=world().clients[::-1])
    configs = AssignmentConfigs(num_standby_replicas=1)
    trace = run(led_by_the_last, RollingBounce(HOUR, tuple(bounced), MINUTE, 2 * MINUTE, configs=configs))
    assert trace.rounds[-1].measures.standbys == standbys


def test_a_rollout_of_client_rack_switches_rack_awareness_on_when_the_last_has_it() -> None:
    base = with_group(with_clients(rack_aware(world()), announces_rack=False), leave_group_on_close=True)
    names = tuple(each.name for each in base.clients)
    trace = run(base, RollingBounce(HOUR, names, MINUTE, 2 * MINUTE, announces_rack=True))
    known = [(len(each.members), each.costs.active is not None) for each in trace.rounds if len(each.members) == 4]
    assert known[0] == (4, False)
    assert known[-1] == (4, True)
    last_start = HOUR + 3 * 3 * MINUTE + MINUTE
    assert all(each.costs.active is None for each in trace.rounds if len(each.members) == 4 and each.at_ms < last_start)


def test_input_that_waits_while_tasks_are_down_is_caught_up_with() -> None:
    limited = with_clients(world(), records_per_s=10_000)
    trace = run(limited, Crash(HOUR, ("c1",)))
    noticed_s = 48
    lost = ran_on(trace, 1)
    assert (trace.max_processing_delay_s[lost] >= noticed_s - 3).all()
    assert (trace.max_processing_delay_s[lost] < 10 * MINUTE / 1000).all()
    assert trace.final_totals.backlog_s == pytest.approx(np.zeros(18), abs=1e-3)


def test_threads_that_cannot_keep_up_fall_behind_for_good() -> None:
    limited = with_clients(world(), records_per_s=1_500)
    trace = run(limited, TrafficChange(HOUR, 2.0), TrafficChange(2 * HOUR, 0.25))
    before_s = [0 if each.at_ms < HOUR else 1 for each in trace.rounds]
    assert before_s == [0], "traffic calls for no rebalance"
    assert trace.max_processing_delay_s.max() > 600


def test_more_traffic_is_more_bytes() -> None:
    usual, twice = run(world()), run(world(), TrafficChange(6 * HOUR, 3.0))
    for kind in (TrafficKind.SOURCE_READ, TrafficKind.CHANGELOG_WRITE):
        before, after = (sum(float(each.traffic[kind].sum()) for each in trace.rounds) for trace in (usual, twice))
        assert after == pytest.approx(2 * before, rel=1e-3), "the half of the time three times as much"


def test_bytes_at_rest_are_the_steady_bytes_for_as_long_as_it_lasts() -> None:
    trace = run(with_configs(world(), num_standby_replicas=1))
    [only] = trace.rounds
    seconds = (only.until_ms - only.at_ms) / 1000
    for kind, per_second in only.steady_state.items():
        assert only.traffic[kind] == pytest.approx(per_second * seconds, rel=1e-3), kind


@pytest.mark.parametrize("records_per_s", [None, 10**9])
def test_changelogs_grow_by_input_that_is_caught_up_on_however_fast(records_per_s: int | None) -> None:
    base = with_configs(with_clients(world(duration_ms=HOUR), records_per_s=records_per_s), num_standby_replicas=1)
    crashed = dataclasses.replace(base, disturbances=(Crash(10 * MINUTE, ("c0", "c1", "c2", "c3"), 20 * MINUTE),))
    watch = InvariantChecker(crashed)
    trace = simulate(crashed, HighAvailability(), observe=watch)
    assert watch.last is not None
    grown = float((watch.last.restoration.end_bytes - trace.layout.state_bytes).sum())
    assert trace.final_totals.backlog_s.max() < 1e-6
    assert grown == pytest.approx(6 * 100_000 * (HOUR - trace.rounds[0].at_ms) / 1000, rel=1e-9)
    level = watch.last.restoration.caught_up()
    assert level.all()
    caught_up = sum(float(each.traffic[TrafficKind.WARMUP_READ].sum()) for each in trace.rounds)
    assert caught_up == pytest.approx(6 * 100_000 * 20 * 60, rel=0.2), "standbys read what was written at once"
