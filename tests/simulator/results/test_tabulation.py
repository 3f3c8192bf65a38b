"""The tables of a run, and their null values where racks are unknown."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest

from assignors.model.assignment import TaskAssignment, TaskAssignor
from assignors.model.configs import RackAwareStrategy
from assignors.model.state import ApplicationState
from assignors.tasks.high_availability import HighAvailability
from simulator.flows.traffic import cross_rack_bytes
from simulator.processes.simulation import simulate
from simulator.results.tables import SCHEMAS, concat_tables
from simulator.results.tabulation import tabulate
from simulator.world.changes import Disk, Disturbance
from simulator.world.disturbances import BrokerLoss, ConfigChange, Crash, Join, Leave, RollingBounce
from simulator.world.world import Price, World
from tests.simulator.small_world_runs import with_rack_awareness
from tests.simulator.world_builders import HOUR, MINUTE, with_clients, with_configs, with_late_clients, world

TableRows = dict[str, list[dict[str, Any]]]


def table_rows(base: World, *disturbances: Disturbance, assignor: TaskAssignor | None = None) -> TableRows:
    trace = simulate(dataclasses.replace(base, disturbances=disturbances), assignor or HighAvailability())
    tables = tabulate(trace, "ha", 3)
    for name, table in tables.items():
        assert table.schema.equals(SCHEMAS[name], check_metadata=True)
        table.validate(full=True)
    return {name: table.to_pylist() for name, table in tables.items()}


BOUNCED = with_configs(world(), num_standby_replicas=1), RollingBounce(HOUR, ("c0", "c1"), MINUTE, MINUTE)


class FailingAssignor:
    """Returns an assignment without clients."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return TaskAssignment(())


def test_columns_have_meanings_and_tables_begin_with_the_key() -> None:
    for schema in SCHEMAS.values():
        assert all(field.metadata[b"meaning"] for field in schema)
        assert schema.names[:3] == ["scenario", "assignor", "seed"]
    for name, table in table_rows(*BOUNCED).items():
        empty = ("reasons", "cycles", "proofs", "unavailable_partitions", "time_ranges", "neighbors")
        empty = (*empty, "other_traffic", "scaling", "scaled_rounds", "thread_loads", "overloads")
        assert (len(table) > 0) == (name not in empty), name
        assert {(row["scenario"], row["assignor"], row["seed"]) for row in table} <= {("small", "ha", 3)}


def test_tables_are_consistent() -> None:
    tables = table_rows(*BOUNCED)
    [run] = tables["runs"]
    assert run["rebalances"] == len(tables["rounds"])
    assert run["active_moves"] == sum(move["role"] == "active" for move in tables["moves"])
    assert run["standby_moves"] == sum(move["role"] == "standby" for move in tables["moves"])
    for round_row in tables["rounds"]:
        copies = [row for row in tables["assignments"] if row["round"] == round_row["round"]]
        assert sum(row["role"] == "active" for row in copies) == 18
        assert sum(row["role"] == "standby" for row in copies) == round_row["standbys"]
        crossing = [
            row["bytes"]
            for row in tables["traffic"]
            if row["round"] == round_row["round"] and row["from_rack"] != row["to_rack"]
        ]
        assert sum(crossing) == pytest.approx(round_row["cross_rack_bytes"])
    assert run["cross_rack_bytes"] == pytest.approx(
        sum(round_row["cross_rack_bytes"] for round_row in tables["rounds"])
    )
    spans = [(round_row["at_ms"], round_row["until_ms"]) for round_row in tables["rounds"]]
    assert all(first[1] == second[0] for first, second in itertools.pairwise(spans))


def test_downtime_matches_the_task_states() -> None:
    tables = table_rows(*BOUNCED)
    end = dict.fromkeys((row["task"] for row in tables["tasks"]), 0)
    state: dict[str, str] = {}
    since, down = dict(end), dict(end)
    first = tables["rounds"][0]["at_ms"]
    for transition in [*tables["task_states"], *({"task": t, "at_ms": 12 * HOUR, "state": "end"} for t in end)]:
        task, at_ms = transition["task"], transition["at_ms"]
        if state.get(task) not in (None, "running"):
            down[task] += at_ms - max(first, since[task])
        state[task], since[task] = transition["state"], at_ms
    assert down == {row["task"]: row["downtime_ms"] for row in tables["tasks"]}
    assert any(down.values())
    [run] = tables["runs"]
    assert run["worst_downtime_ms"] == max(down.values())
    assert run["mean_downtime_ms"] == pytest.approx(sum(down.values()) / 18)


def test_empty_run_has_a_row_without_figures() -> None:
    tables = table_rows(with_clients(world(), starts=False))
    [run] = tables["runs"]
    assert run["verdict"] == "empty"
    assert (run["rebalances"], run["active_moves"], run["restored_bytes"], run["downtime_ms"]) == (0, 0, 0, 0)
    for column in (
        "verdict_round",
        "time_to_converge_ms",
        "load_skew",
        "worst_rack_loss",
        "cross_rack_source_partitions",
    ):
        assert run[column] is None, column
    assert len(tables["tasks"]) == 18
    assert {name for name, table in tables.items() if table} == {"clients", "runs", "tasks"}


def test_failed_run_has_its_cause() -> None:
    tables = table_rows(world(), assignor=FailingAssignor())
    [run] = tables["runs"]
    assert run["verdict"] == "failed"
    assert run["cause"].startswith("round 1: FailingAssignor: MISSING_PROCESS_ID")
    assert run["cross_rack_bytes_per_s"] is None
    assert tables["rounds"] == []


def test_stable_run_has_no_cause_and_no_repeated_round() -> None:
    [run] = table_rows(world())["runs"]
    assert (run["verdict"], run["verdict_round"], run["rebalances_to_converge"]) == ("stable", 1, 0)
    assert (run["cause"], run["repeats_round"]) == (None, None)


def test_cross_rack_figures_are_null_if_a_rack_is_unknown() -> None:
    base = world()
    without_rack = dataclasses.replace(
        base, clients=(dataclasses.replace(base.clients[0], rack=None), *base.clients[1:])
    )
    tables = table_rows(without_rack)
    unknown = (
        "cross_rack_bytes_per_s",
        "cross_rack_bytes",
        "cross_rack_source_partitions",
        "tasks_without_rack_redundancy",
    )
    for row in (*tables["runs"], *tables["rounds"]):
        assert all(row[column] is None for column in unknown)
    assert tables["runs"][0]["worst_rack_loss"] is None
    assert any(row["to_rack"] is None for row in tables["traffic"]), "the bytes are listed nevertheless"


def test_cross_rack_figures_are_null_only_in_rounds_with_unknown_racks() -> None:
    base = world()
    without_rack = dataclasses.replace(
        base, clients=(dataclasses.replace(base.clients[1], rack=None), *base.clients[:1])
    )
    tables = table_rows(without_rack, Leave(HOUR, ("c1",)))
    assert tables["rounds"][0]["cross_rack_bytes_per_s"] is None
    assert tables["rounds"][-1]["cross_rack_bytes_per_s"] is not None
    assert tables["runs"][0]["cross_rack_bytes"] is None


def test_dollars_are_computed_from_the_price() -> None:
    assert table_rows(world())["runs"][0]["cross_rack_usd"] is None
    [run] = table_rows(dataclasses.replace(world(), price=Price("cloud", 0.02, "today")))["runs"]
    assert run["cross_rack_usd"] == pytest.approx(run["cross_rack_bytes"] / 1e9 * 0.02)


def test_rack_costs_are_null_without_rack_awareness() -> None:
    aware = with_configs(world(), rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC)
    for base, has_costs in ((world(), False), (aware, True), (with_clients(aware, announces_rack=False), False)):
        tables = table_rows(base)
        for row in (*tables["runs"], *tables["rounds"]):
            assert (row["stateful_cost"] is not None) is has_costs


def test_unqueryable_time_is_null_for_stateless_tasks() -> None:
    tables = table_rows(world(), Crash(HOUR, ("c1",), disk=Disk.KEPT))
    assert all((row["unqueryable_ms"] is None) == (not row["stateful"]) for row in tables["tasks"])
    assert tables["runs"][0]["unqueryable_ms"] == sum(row["unqueryable_ms"] or 0 for row in tables["tasks"])


def test_standby_moves_have_no_source_and_no_reason() -> None:
    tables = table_rows(world(), Leave(HOUR, ("c1",)))
    standbys = [row for row in tables["moves"] if row["role"] == "standby"]
    actives = [row for row in tables["moves"] if row["role"] == "active"]
    assert standbys
    assert actives
    assert all(row["from_client"] is None and row["reason"] is None for row in standbys)
    assert all(row["from_client"] and row["to_client"] and row["reason"] for row in actives)
    assert {row["reason"] for row in actives if row["from_client"] == "c1"} == {"member_lost"}


def test_events_are_described() -> None:
    tables = table_rows(world(), Crash(HOUR, ("c1",), MINUTE, disk=Disk.LOST))
    assert [(row["at_ms"], row["event"]) for row in tables["events"]] == [
        (HOUR, "c1 goes down, its state is lost"),
        (HOUR + MINUTE, "c1 starts"),
    ]


def test_steady_state_bytes_of_the_run_are_those_of_the_last_round() -> None:
    trace = simulate(world(), HighAvailability())
    [run] = tabulate(trace, "ha", 1)["runs"].to_pylist()
    assert run["cross_rack_bytes_per_s"] == cross_rack_bytes(trace.rounds[-1].steady_state)


def test_tables_of_several_runs_are_concatenated() -> None:
    tables = tabulate(simulate(world(), HighAvailability()), "ha", 1)
    twice = concat_tables([tables, tables])
    assert all(len(twice[name]) == 2 * len(table) for name, table in tables.items())
    nothing = concat_tables([])
    assert all(nothing[name].schema.equals(SCHEMAS[name]) for name in SCHEMAS)


def test_client_that_returns_has_two_stays() -> None:
    crash = Crash(HOUR, ("c0",), down_ms=30 * MINUTE, disk=Disk.KEPT)
    tables = table_rows(with_configs(world(), num_standby_replicas=1), crash)
    stays = [(row["from_round"], row["until_round"]) for row in tables["clients"] if row["client"] == "c0"]
    members = {row["round"]: row["members"] for row in tables["rounds"]}
    [(first, left_in), (returned_in, end)] = stays
    assert (first, end) == (1, None)
    assert left_in < returned_in
    for number, count in members.items():
        member_rows = [
            row
            for row in tables["clients"]
            if row["from_round"] <= number and (row["until_round"] is None or number < row["until_round"])
        ]
        assert len(member_rows) == count


def test_client_that_never_joins_has_no_rounds() -> None:
    late = with_clients(world(), starts=False)
    tables = table_rows(late)
    assert {(row["from_round"], row["until_round"]) for row in tables["clients"]} == {(None, None)}


def test_cost_of_the_run_is_that_of_the_deciding_round() -> None:
    base = with_late_clients(with_rack_awareness(world()), "late")
    tables = table_rows(base, Join(HOUR, ("late",)))
    [run], last = tables["runs"], tables["rounds"][-1]
    deciding = tables["rounds"][run["deciding_round"] - 1]
    assert deciding["withheld_tasks"] > 0, "tasks move"
    assert (last["reason"], last["active_moves"]) == ("follow-up rebalance: revoked tasks can be assigned", 0), (
        "the last round only carries out the assignment"
    )
    assert (run["total_cost"], run["total_cost_bound"]) == (deciding["total_cost"], deciding["total_cost_bound"])
    assert run["total_cost"] - run["total_cost_bound"] > last["total_cost"] - last["total_cost_bound"]
    above = [row["total_cost"] - row["total_cost_bound"] for row in tables["rounds"]]
    assert run["mean_total_cost"] - run["mean_total_cost_bound"] == pytest.approx(sum(above) / len(above))
    assert above[run["worst_cost_round"] - 1] == max(above) == run["worst_total_cost"] - run["worst_total_cost_bound"]


STEADY_STATE_COLUMNS = (
    "cross_rack_bytes_per_s",
    "cross_rack_source_partitions",
    "cross_rack_source_partitions_bound",
    "cross_rack_standby_partitions",
)


def steady_state(tables: TableRows) -> list[float | None]:
    [run], last = tables["runs"], tables["rounds"][-1]
    assert all(run[name] == last[name] for name in STEADY_STATE_COLUMNS)
    return [run[name] for name in STEADY_STATE_COLUMNS]


def test_steady_state_traffic_uses_the_brokers_at_the_end() -> None:
    base = with_configs(world(), num_standby_replicas=1)
    config_change = ConfigChange(HOUR + 30 * MINUTE, base.application.assignment_configs)
    undisturbed = steady_state(table_rows(base, config_change))
    assert None not in undisturbed
    assert steady_state(table_rows(base, BrokerLoss(HOUR, (0, 1), 2 * HOUR), config_change)) == undisturbed
    after_loss = steady_state(table_rows(base, BrokerLoss(HOUR, (0, 1)), config_change))
    assert after_loss[0] != undisturbed[0], "other brokers lead their partitions"
    assert steady_state(table_rows(base, config_change, BrokerLoss(3 * HOUR, (0, 1)))) == after_loss, (
        "the time of the loss does not matter"
    )
