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
from simulator.results.tables import SCHEMAS, concat_tables
from simulator.results.tabulation import tabulate
from simulator.run import simulate
from simulator.world.disturbances import BrokerLoss, ConfigChange, Crash, Disturbance, Join, Leave, RollingBounce
from simulator.world.world import Price, World
from tests.simulator.small_world_runs import rack_aware
from tests.simulator.world_builders import HOUR, MINUTE, with_clients, with_configs, with_late, world

Rows = dict[str, list[dict[str, Any]]]


def rows(base: World, *disturbances: Disturbance, assignor: TaskAssignor | None = None) -> Rows:
    trace = simulate(dataclasses.replace(base, disturbances=disturbances), assignor or HighAvailability())
    tables = tabulate(trace, "ha", 3)
    for name, table in tables.items():
        assert table.schema.equals(SCHEMAS[name], check_metadata=True)
        table.validate(full=True)
    return {name: table.to_pylist() for name, table in tables.items()}


BOUNCED = with_configs(world(), num_standby_replicas=1), RollingBounce(HOUR, ("c0", "c1"), MINUTE, MINUTE)


class Fails:
    """Gives no answer."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return TaskAssignment(())


def test_every_column_has_a_meaning_and_every_table_begins_with_the_key() -> None:
    for schema in SCHEMAS.values():
        assert all(field.metadata[b"meaning"] for field in schema)
        assert schema.names[:3] == ["scenario", "assignor", "seed"]
    for name, table in rows(*BOUNCED).items():
        assert (len(table) > 0) == (name not in ("reasons", "cycles", "proofs", "unavailable_partitions")), (
            "empty without cause"
        )
        assert {(row["scenario"], row["assignor"], row["seed"]) for row in table} <= {("small", "ha", 3)}


def test_the_tables_agree_with_each_other() -> None:
    tables = rows(*BOUNCED)
    [run] = tables["runs"]
    assert run["rebalances"] == len(tables["rounds"])
    assert run["active_moves"] == sum(move["role"] == "active" for move in tables["moves"])
    assert run["standby_moves"] == sum(move["role"] == "standby" for move in tables["moves"])
    for one in tables["rounds"]:
        held = [row for row in tables["assignments"] if row["round"] == one["round"]]
        assert sum(row["role"] == "active" for row in held) == 18
        assert sum(row["role"] == "standby" for row in held) == one["standbys"]
        crossing = [
            row["bytes"]
            for row in tables["traffic"]
            if row["round"] == one["round"] and row["from_rack"] != row["to_rack"]
        ]
        assert sum(crossing) == pytest.approx(one["cross_rack_bytes"])
    assert run["cross_rack_bytes"] == pytest.approx(sum(one["cross_rack_bytes"] for one in tables["rounds"]))
    spans = [(one["at_ms"], one["until_ms"]) for one in tables["rounds"]]
    assert all(first[1] == second[0] for first, second in itertools.pairwise(spans))


def test_a_task_is_down_for_as_long_as_its_life_says() -> None:
    tables = rows(*BOUNCED)
    end = dict.fromkeys((row["task"] for row in tables["tasks"]), 0)
    state: dict[str, str] = {}
    since, down = dict(end), dict(end)
    first = tables["rounds"][0]["at_ms"]
    for step in [*tables["task_states"], *({"task": t, "at_ms": 12 * HOUR, "state": "end"} for t in end)]:
        task, at_ms = step["task"], step["at_ms"]
        if state.get(task) not in (None, "running"):
            down[task] += at_ms - max(first, since[task])
        state[task], since[task] = step["state"], at_ms
    assert down == {row["task"]: row["downtime_ms"] for row in tables["tasks"]}
    assert any(down.values())
    [run] = tables["runs"]
    assert run["worst_downtime_ms"] == max(down.values())
    assert run["mean_downtime_ms"] == pytest.approx(sum(down.values()) / 18)


def test_an_empty_run_has_a_row_that_says_so_and_nothing_else() -> None:
    tables = rows(with_clients(world(), starts=False))
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


def test_a_run_whose_assignor_failed_has_its_cause() -> None:
    tables = rows(world(), assignor=Fails())
    [run] = tables["runs"]
    assert run["verdict"] == "failed"
    assert run["cause"].startswith("round 1: Fails: MISSING_PROCESS_ID")
    assert run["cross_rack_bytes_per_s"] is None
    assert tables["rounds"] == []


def test_a_stable_run_has_no_cause_and_repeats_nothing() -> None:
    [run] = rows(world())["runs"]
    assert (run["verdict"], run["verdict_round"], run["rebalances_to_converge"]) == ("stable", 1, 0)
    assert (run["cause"], run["repeats_round"]) == (None, None)


def test_where_a_client_has_no_rack_what_crosses_racks_is_not_known() -> None:
    base = world()
    bare = dataclasses.replace(base, clients=(dataclasses.replace(base.clients[0], rack=None), *base.clients[1:]))
    tables = rows(bare)
    unknown = (
        "cross_rack_bytes_per_s",
        "cross_rack_bytes",
        "cross_rack_source_partitions",
        "tasks_without_rack_redundancy",
    )
    for row in (*tables["runs"], *tables["rounds"]):
        assert all(row[column] is None for column in unknown)
    assert tables["runs"][0]["worst_rack_loss"] is None
    assert any(row["to_rack"] is None for row in tables["traffic"]), "the bytes are there all the same"


def test_a_client_that_is_gone_for_good_and_had_no_rack_leaves_only_its_own_rounds_open() -> None:
    base = world()
    bare = dataclasses.replace(base, clients=(dataclasses.replace(base.clients[1], rack=None), *base.clients[:1]))
    tables = rows(bare, Leave(HOUR, ("c1",)))
    assert tables["rounds"][0]["cross_rack_bytes_per_s"] is None
    assert tables["rounds"][-1]["cross_rack_bytes_per_s"] is not None
    assert tables["runs"][0]["cross_rack_bytes"] is None


def test_money_is_told_where_there_is_a_price() -> None:
    assert rows(world())["runs"][0]["cross_rack_usd"] is None
    [run] = rows(dataclasses.replace(world(), price=Price("cloud", 0.02, "today")))["runs"]
    assert run["cross_rack_usd"] == pytest.approx(run["cross_rack_bytes"] / 1e9 * 0.02)


def test_costs_of_racks_are_open_where_rack_awareness_is_off() -> None:
    aware = with_configs(world(), rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC)
    for base, known in ((world(), False), (aware, True), (with_clients(aware, announces_rack=False), False)):
        tables = rows(base)
        for row in (*tables["runs"], *tables["rounds"]):
            assert (row["active_cost"] is not None) is known


def test_queries_concern_only_tasks_with_state() -> None:
    tables = rows(world(), Crash(HOUR, ("c1",)))
    assert all((row["unqueryable_ms"] is None) == (not row["stateful"]) for row in tables["tasks"])
    assert tables["runs"][0]["unqueryable_ms"] == sum(row["unqueryable_ms"] or 0 for row in tables["tasks"])


def test_moves_from_and_to_nobody_are_null() -> None:
    tables = rows(world(), Leave(HOUR, ("c1",)))
    standbys = [row for row in tables["moves"] if row["role"] == "standby"]
    actives = [row for row in tables["moves"] if row["role"] == "active"]
    assert standbys
    assert actives
    assert all(row["from_client"] is None and row["reason"] is None for row in standbys)
    assert all(row["from_client"] and row["to_client"] and row["reason"] for row in actives)
    assert {row["reason"] for row in actives if row["from_client"] == "c1"} == {"member_lost"}


def test_events_are_told_in_words() -> None:
    tables = rows(world(), Crash(HOUR, ("c1",), MINUTE, keeps_state=False))
    assert [(row["at_ms"], row["event"]) for row in tables["events"]] == [
        (HOUR, "c1 goes down, its state is lost"),
        (HOUR + MINUTE, "c1 starts"),
    ]


def test_bytes_at_rest_of_the_last_round_are_those_of_the_run() -> None:
    trace = simulate(world(), HighAvailability())
    [run] = tabulate(trace, "ha", 1)["runs"].to_pylist()
    assert run["cross_rack_bytes_per_s"] == cross_rack_bytes(trace.rounds[-1].steady_state)


def test_tables_of_several_runs_are_put_one_below_the_other() -> None:
    tables = tabulate(simulate(world(), HighAvailability()), "ha", 1)
    twice = concat_tables([tables, tables])
    assert all(len(twice[name]) == 2 * len(table) for name, table in tables.items())
    nothing = concat_tables([])
    assert all(nothing[name].schema.equals(SCHEMAS[name]) for name in SCHEMAS)


def test_a_client_that_is_away_for_a_while_has_a_stay_before_and_one_after() -> None:
    away = Crash(HOUR, ("c0",), down_ms=30 * MINUTE)
    tables = rows(with_configs(world(), num_standby_replicas=1), away)
    stays = [(row["from_round"], row["until_round"]) for row in tables["clients"] if row["client"] == "c0"]
    members = {row["round"]: row["members"] for row in tables["rounds"]}
    [(first, gone), (back, end)] = stays
    assert (first, end) == (1, None)
    assert gone < back
    for number, count in members.items():
        there = [
            row
            for row in tables["clients"]
            if row["from_round"] <= number and (row["until_round"] is None or number < row["until_round"])
        ]
        assert len(there) == count


def test_a_client_that_never_comes_is_told_of_without_rounds() -> None:
    late = with_clients(world(), starts=False)
    tables = rows(late)
    assert {(row["from_round"], row["until_round"]) for row in tables["clients"]} == {(None, None)}


def test_what_an_assignment_costs_is_told_of_the_round_that_decided_it_and_not_of_the_last() -> None:
    base = with_late(rack_aware(world()), "late")
    tables = rows(base, Join(HOUR, ("late",)))
    [run], last = tables["runs"], tables["rounds"][-1]
    deciding = tables["rounds"][run["deciding_round"] - 1]
    assert deciding["withheld_tasks"] > 0, "tasks move"
    assert (last["reason"], last["active_moves"]) == ("follow-up rebalance: revoked tasks can be assigned", 0), (
        "what was decided is carried out"
    )
    assert (run["total_cost"], run["total_cost_bound"]) == (deciding["total_cost"], deciding["total_cost_bound"])
    assert run["total_cost"] - run["total_cost_bound"] > last["total_cost"] - last["total_cost_bound"]
    above = [row["total_cost"] - row["total_cost_bound"] for row in tables["rounds"]]
    assert run["mean_total_cost"] - run["mean_total_cost_bound"] == pytest.approx(sum(above) / len(above))
    assert above[run["worst_cost_round"] - 1] == max(above) == run["worst_total_cost"] - run["worst_total_cost_bound"]


AT_REST = (
    "cross_rack_bytes_per_s",
    "cross_rack_source_partitions",
    "cross_rack_source_partitions_bound",
    "cross_rack_standby_partitions",
)


def steady(tables: Rows) -> list[float | None]:
    [run], last = tables["runs"], tables["rounds"][-1]
    assert all(run[name] == last[name] for name in AT_REST)
    return [run[name] for name in AT_REST]


def test_brokers_that_are_back_without_a_rebalance_leave_no_trace_in_the_traffic_at_rest() -> None:
    base = with_configs(world(), num_standby_replicas=1)
    again = ConfigChange(HOUR + 30 * MINUTE, base.application.assignment_configs)
    undisturbed = steady(rows(base, again))
    assert None not in undisturbed
    assert steady(rows(base, BrokerLoss(HOUR, (0, 1), 2 * HOUR), again)) == undisturbed
    gone = steady(rows(base, BrokerLoss(HOUR, (0, 1)), again))
    assert gone[0] != undisturbed[0], "others lead what they led"
    assert steady(rows(base, again, BrokerLoss(3 * HOUR, (0, 1)))) == gone, "it is that of the end, whenever they went"
