"""Whole runs of a small world."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest

from assignors.assignment import KafkaStreamsAssignment, TaskAssignment, TaskType
from assignors.configs import AssignmentConfigs, RackAwareStrategy
from assignors.state import ApplicationState
from assignors.tasks.high_availability import HighAvailability
from simulator.convergence import Verdict, convergence
from simulator.disturbances import (
    BrokerLoss,
    ConfigChange,
    Crash,
    Disturbance,
    Join,
    Leave,
    RackOutage,
    ReplicaMove,
    RollingBounce,
)
from simulator.run import simulate
from simulator.trace import Trace
from simulator.world import World
from tests.simulator.worlds import HOUR, MINUTE, client, with_configs, world


def run(base: World, *disturbances: Disturbance, assignor: object = None) -> Trace:
    changed = dataclasses.replace(base, disturbances=disturbances)
    return simulate(changed, assignor or HighAvailability())  # type: ignore[arg-type]


def at(trace: Trace) -> list[int]:
    return [each.at_ms for each in trace.rounds]


def test_a_group_starts_after_the_initial_rebalance_delay_and_is_stable() -> None:
    trace = run(world())
    assert at(trace) == [6000]
    assert convergence(trace).verdict is Verdict.STABLE
    assert trace.rounds[0].restoring == 0


def test_a_cold_start_restores_everything_first() -> None:
    trace = run(dataclasses.replace(world(), starts_warm=False))
    assert trace.rounds[0].restoring == 6
    assert trace.restored_bytes == 6 * 600_000_000


def test_scaling_out_moves_tasks_only_when_the_new_clients_have_caught_up() -> None:
    base = world()
    late = dataclasses.replace(base, clients=(*base.clients, client("late", "az1", starts=False)))
    trace = run(late, Join(HOUR, ("late",)))
    assert at(trace)[:2] == [6000, HOUR]
    second = trace.rounds[1]
    stateful = trace.layout.tasks.stateful
    assert (second.owners()[stateful] != 4).all(), "nothing stateful runs on a client that has no state yet"
    assert second.standbys(5)[:, 4].any(), "but it warms up"
    assert (trace.rounds[-1].owners()[stateful] == 4).any(), "and gets its share in the end"
    assert np.diff(at(trace)[1:]).tolist() == [10 * MINUTE] * (len(trace.rounds) - 2)
    verdict = convergence(trace)
    assert verdict.verdict is Verdict.STABLE
    assert verdict.after_ms is not None
    assert verdict.after_ms % (10 * MINUTE) == 0


def test_a_crash_is_noticed_after_the_session_timeout() -> None:
    trace = run(world(), Crash(HOUR, ("c1",)))
    assert trace.rounds[1].at_ms == HOUR + 45_000
    assert 1 not in trace.rounds[1].owners()


def test_a_bounce_shorter_than_the_session_timeout_costs_one_rebalance_a_client() -> None:
    trace = run(world(), RollingBounce(HOUR, ("c0", "c1"), down_ms=20_000, pause_ms=MINUTE))
    assert at(trace)[1:] == [HOUR + 20_000, HOUR + 20_000 + MINUTE + 20_000]
    assert len(trace.rounds[-1].members) == 4


def test_a_client_that_leaves_says_so() -> None:
    assert at(run(world(), Leave(HOUR, ("c1",))))[1] == HOUR


def test_what_happens_at_one_moment_is_one_rebalance() -> None:
    assert at(run(world(), Leave(HOUR, ("c1", "c2")))).count(HOUR) == 1


def test_a_rack_outage_takes_clients_and_brokers_and_brings_them_back() -> None:
    trace = run(world(6), RackOutage(HOUR, "az2", down_ms=HOUR))
    during, after = trace.rounds[1], trace.rounds[-1]
    assert sorted(during.members.tolist()) == [0, 2, 3, 5]
    assert sorted(after.members.tolist()) == [0, 1, 2, 3, 4, 5]


def test_a_lost_broker_switches_rack_awareness_off_until_it_is_back() -> None:
    base = with_configs(world(), rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC)
    lost = run(base, BrokerLoss(HOUR, (2,), down_ms=HOUR), Leave(HOUR + MINUTE, ("c3",)), Leave(3 * HOUR, ("c2",)))
    costs = [each.costs.active for each in lost.rounds if each.at_ms in (6000, HOUR + MINUTE, 3 * HOUR)]
    assert costs[0] is not None
    assert costs[1] is None
    assert costs[2] is not None


def test_moving_a_replica_to_another_rack_calls_for_a_rebalance() -> None:
    trace = run(world(), ReplicaMove(HOUR, "views", 0, (1,)))
    assert at(trace) == [6000, HOUR]
    assert trace.rounds[1].reason == "replicas of views-0 moved"


def test_a_change_of_configs_holds_from_then_on() -> None:
    trace = run(world(), ConfigChange(HOUR, AssignmentConfigs(num_standby_replicas=1)))
    standbys = [each.measures.standbys for each in trace.rounds]
    assert standbys[0] == 0
    assert standbys[-1] == 6


def test_a_story_tells_where_a_task_was() -> None:
    trace = run(world(), Leave(HOUR, ("c1",)))
    row = int(np.flatnonzero(trace.rounds[0].owners() == 1)[0])
    told = trace.story(str(trace.layout.tasks.ids[row]))
    assert told[0].endswith("runs on c1")
    assert "c1 is gone" in told[1]
    with pytest.raises(KeyError, match="'9_9' is not a task of app"):
        trace.story("9_9")


@dataclass(frozen=True)
class BackAndForth:
    """Gives all tasks to the client that has the fewest, and never has enough."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        had = [len(tasks) for tasks in state.previous_active]
        chosen = had.index(min(had))
        return TaskAssignment(
            tuple(
                KafkaStreamsAssignment(
                    process_id, dict.fromkeys(state.tasks.ids, TaskType.ACTIVE) if c == chosen else {}, 10 * MINUTE
                )
                for c, process_id in enumerate(state.clients.ids)
            )
        )


def test_an_assignor_that_goes_back_and_forth_is_told_to_cycle() -> None:
    verdict = convergence(run(world(2), assignor=BackAndForth()))
    assert verdict.verdict is Verdict.CYCLING
    assert verdict.round == 3


def test_an_assignor_that_is_still_probing_at_the_end_is_told_to() -> None:
    base = dataclasses.replace(world(), duration_ms=HOUR + 11 * MINUTE)
    late = dataclasses.replace(base, clients=(*base.clients, client("late", "az1", starts=False)))
    assert convergence(run(late, Join(HOUR, ("late",)))).verdict is Verdict.PROBING


@dataclass(frozen=True)
class Forgetful:
    """Forgets that there are clients at all."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return TaskAssignment(())


def test_an_invalid_answer_ends_the_run_and_says_what_was_wrong() -> None:
    trace = run(world(2), assignor=Forgetful())
    assert trace.failure is not None
    assert trace.failure.startswith("round 1: Forgetful: MISSING_PROCESS_ID")
    assert trace.failure.count("MISSING_PROCESS_ID") == 2
    assert convergence(trace).verdict is Verdict.FAILED


def test_nobody_there_is_an_empty_run() -> None:
    base = world()
    nobody = dataclasses.replace(base, clients=tuple(dataclasses.replace(c, starts=False) for c in base.clients))
    assert convergence(run(nobody)).verdict is Verdict.EMPTY
