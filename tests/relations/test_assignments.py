"""Figures that follow from the listed assignments."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import given

from assignors.model.assignment import TaskAssignor
from simulator.processes.run_options import RunOptions
from simulator.processes.simulation import simulate
from simulator.results.trace import INITIAL_ROUND, Trace
from simulator.world.world import Start, World
from tests.relations.figures import Figures, Row, figures, figures_of, total
from tests.relations.relation import relation
from tests.relations.worlds import WorldLimits, assignors, worlds

pytestmark = pytest.mark.answers


@relation(38)
@given(worlds(), assignors())
def test_move_counts_are_differences_of_assignments(world: World, assignor: TaskAssignor) -> None:
    """The numbers of moves, standbys and displaced tasks equal the differences between listed assignments."""
    tables = figures(world, assignor)
    rounds = tables["rounds"]
    active: dict[int, dict[str, str]] = {row["round"]: {} for row in rounds}
    standby: dict[int, set[tuple[str, str]]] = {row["round"]: set() for row in rounds}
    for row in tables["assignments"]:
        if row["role"] == "active":
            assert row["task"] not in active[row["round"]], "a task has one active"
            active[row["round"]][row["task"]] = row["client"]
        else:
            standby[row["round"]].add((row["task"], row["client"]))
    tasks = {row["task"] for row in tables["tasks"]}
    moves: Counter[str] = Counter()
    listed_moves = {
        (row["round"], row["role"], row["task"], row["from_client"], row["to_client"]) for row in tables["moves"]
    }
    derived_moves: set[tuple[Any, ...]] = set()
    previous: int | None = None
    for row in rounds:
        number = row["round"]
        current = active[number]
        moved = set() if previous is None else {t for t in tasks if current.get(t) != active[previous].get(t)}
        new = set() if previous is None else standby[number] - standby[previous]
        moves.update(moved)
        assert (row["active_moves"], row["standby_moves"]) == (len(moved), len(new))
        if previous is not None:
            derived_moves.update(
                (number, "active", task, active[previous].get(task), current.get(task)) for task in moved
            )
            derived_moves.update((number, "standby", task, None, client) for task, client in new)
        assert row["standbys"] == len(standby[number])
        last = active[rounds[-1]["round"]]
        assert row["displaced_tasks"] == sum(current.get(task) != last.get(task) for task in tasks)
        assert row["withheld_tasks"] <= len(tasks)
        assert row["warming_up"] <= row["standbys"] + len(tasks)
        previous = number
    assert listed_moves == derived_moves
    assert len(tables["moves"]) == len(derived_moves)
    for row in tables["tasks"]:
        assert row["active_moves"] == moves[row["task"]]
    [run_row] = tables["runs"]
    for column in ("active_moves", "thread_moves", "standby_moves"):
        assert run_row[column] == total(rounds, column)
    reasons = ("member_lost", "promoted", "returned", "rack", "balance")
    assert run_row["active_moves"] == sum(run_row[f"moves_{reason}"] for reason in reasons)
    assert run_row["rebalances"] == sum(row["round"] != INITIAL_ROUND for row in rounds)
    assert run_row["leader_compute_ms"] == max((row["leader_compute_ms"] for row in rounds), default=0.0)


def members_by_round(tables: Figures) -> dict[int, set[str]]:
    """Return the members of each rebalance, from the intervals in which clients are members."""
    numbers = [row["round"] for row in tables["rounds"]]
    members: dict[int, set[str]] = {number: set() for number in numbers}
    for row in tables["clients"]:
        if row["from_round"] is not None:
            for number in numbers:
                if row["from_round"] <= number and (row["until_round"] is None or number < row["until_round"]):
                    members[number].add(row["client"])
    return members


def spread(values: list[float]) -> float:
    """Return the maximum minus the minimum."""
    return max(values) - min(values) if values else 0.0


def threads_by_round(world: World, trace: Trace) -> dict[int, dict[str, int]]:
    """Return the threads of each client that are members, as the assignor saw them in each rebalance.

    A killed process that is back before its session times out has its old threads as well as its new ones. If it has
    lost its disk, it is back as another process under the same name: such rebalances are left out.
    """
    names = [client.name for client in world.clients]
    threads = {INITIAL_ROUND: {client.name: client.threads for client in world.clients}}
    for captured in trace.captured_rounds:
        members = [names[row] for row in captured.round.members]
        if len(captured.state.clients) == len(members):
            threads[captured.round.number] = dict(zip(members, captured.state.clients.threads.tolist(), strict=True))
    return threads


@relation(43)
@given(worlds(), assignors())
def test_measures_follow_from_the_assignment(world: World, assignor: TaskAssignor) -> None:
    """Skews and losses by failures follow from the listed assignment, the threads and the racks."""
    trace = simulate(world, assignor, options=RunOptions(capture=True))
    assert trace.failure is None
    tables = figures_of(trace)
    members = members_by_round(tables)
    threads_of = threads_by_round(world, trace)
    rack = {client.name: client.rack for client in world.clients}
    stateful = {row["task"]: row["stateful"] for row in tables["tasks"]}
    copies: dict[int, list[Row]] = defaultdict(list)
    for row in tables["assignments"]:
        copies[row["round"]].append(row)
    for row in tables["rounds"]:
        round_copies, names = copies[row["round"]], members[row["round"]]
        assert row["members"] == len(names)
        if row["round"] not in threads_of:
            continue
        threads = threads_of[row["round"]]
        assert names <= set(threads)

        def per_thread(
            chosen: Any,
            names: set[str] = names,
            round_copies: list[Row] = round_copies,
            threads: dict[str, int] = threads,
        ) -> float:
            loads = Counter(copy["client"] for copy in round_copies if chosen(copy))
            return spread([loads[name] / threads[name] for name in names])

        assert row["load_skew"] == pytest.approx(per_thread(lambda copy: True))
        assert row["active_skew"] == pytest.approx(per_thread(lambda copy: copy["role"] == "active"))
        assert row["standby_skew"] == pytest.approx(per_thread(lambda copy: copy["role"] == "standby"))
        for column, is_stateful in (("stateful_skew", True), ("stateless_skew", False)):
            skew = per_thread(lambda copy, w=is_stateful: copy["role"] == "active" and stateful[copy["task"]] == w)
            assert row[column] == pytest.approx(skew)
        loads_by_subtopology: dict[str, Counter[str]] = defaultdict(Counter)
        for copy in round_copies:
            if copy["role"] == "active":
                loads_by_subtopology[copy["task"].split("_")[0]][copy["client"]] += 1
        assert row["subtopology_skew"] == max(
            (spread([n[c] for c in names]) for n in loads_by_subtopology.values()), default=0
        )
    if trace.rounds:
        check_losses(tables, copies[tables["rounds"][-1]["round"]], stateful, rack)


def check_losses(tables: Figures, copies: list[Row], stateful: dict[str, bool], rack: dict[str, str | None]) -> None:
    """Check the losses by failures against the clients of each task."""
    [row] = tables["runs"]
    holders: dict[str, set[str]] = defaultdict(set)
    for copy in copies:
        if stateful[copy["task"]]:
            holders[copy["task"]].add(copy["client"])
    names = sorted(rack)
    pair_losses = [
        sum(clients <= {first, second} for clients in holders.values()) for first in names for second in names
    ]
    client_losses = [sum(clients == {first} for clients in holders.values()) for first in names]
    assert row["stateful_tasks"] == sum(stateful.values())
    assert (row["worst_client_loss"], row["worst_pair_loss"]) == (max(client_losses), max(pair_losses))
    if all(rack[name] is not None for clients in holders.values() for name in clients):
        losses = {row["rack"]: row["stateful_tasks"] for row in tables["losses"]}
        by_rack = {
            name: sum({rack[client] for client in clients} == {name} for clients in holders.values()) for name in losses
        }
        assert losses == by_rack
        assert row["worst_rack_loss"] == max(losses.values(), default=0)
    else:
        assert row["worst_rack_loss"] is None
        assert not tables["losses"]


@relation(43)
@given(worlds(WorldLimits(events=(), starts=(Start.WARM, Start.COLD))), assignors())
def test_source_partitions_without_near_replica_are_remote(world: World, assignor: TaskAssignor) -> None:
    """Cross-rack source partitions are those without a replica in the reading client's rack."""
    tables = figures(world, assignor)
    rack_of = {broker.id: broker.rack for broker in world.cluster.brokers}
    client_rack = {client.name: client.rack if client.announces_rack else None for client in world.clients}
    sources = {part.id: part.source_topics for part in world.application.subtopologies}
    members = members_by_round(tables)
    for row in tables["rounds"]:
        is_known = all(client_rack[name] is not None for name in members[row["round"]])
        if not is_known:
            assert row["cross_rack_source_partitions"] is None
            continue
        remote = 0
        for copy in tables["assignments"]:
            if copy["round"] == row["round"] and copy["role"] == "active":
                part, partition = map(int, copy["task"].split("_"))
                for name in sources[part]:
                    topic = world.cluster.topics[name]
                    if partition < topic.num_partitions:
                        racks = {rack_of[broker] for broker in topic.replicas[partition]}
                        remote += client_rack[copy["client"]] not in racks
        assert row["cross_rack_source_partitions"] == remote
        assert row["cross_rack_source_partitions_bound"] <= remote
