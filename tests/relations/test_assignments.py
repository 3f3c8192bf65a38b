"""Figures that follow from the listed assignments."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import given

from assignors.model.assignment import TaskAssignor
from simulator.results.trace import INITIAL_ROUND
from simulator.world.world import Start, World
from tests.relations.figures import Figures, Row, figures, figures_of, run, total
from tests.relations.relation import relation
from tests.relations.worlds import WorldLimits, assignors, worlds


@relation(60)
@given(worlds(), assignors())
def test_counts_of_rounds_are_differences_of_assignments(world: World, assignor: TaskAssignor) -> None:
    """Counts of moves, standbys and displaced tasks are those of the differences between listed assignments."""
    tables = figures(world, assignor)
    rounds = tables["rounds"]
    active: dict[int, dict[str, str]] = {each["round"]: {} for each in rounds}
    standby: dict[int, set[tuple[str, str]]] = {each["round"]: set() for each in rounds}
    for each in tables["assignments"]:
        if each["role"] == "active":
            assert each["task"] not in active[each["round"]], "a task has one active"
            active[each["round"]][each["task"]] = each["client"]
        else:
            standby[each["round"]].add((each["task"], each["client"]))
    tasks = {each["task"] for each in tables["tasks"]}
    moves: Counter[str] = Counter()
    listed = {
        (each["round"], each["role"], each["task"], each["from_client"], each["to_client"]) for each in tables["moves"]
    }
    found: set[tuple[Any, ...]] = set()
    previous: int | None = None
    for each in rounds:
        number = each["round"]
        now = active[number]
        moved = set() if previous is None else {t for t in tasks if now.get(t) != active[previous].get(t)}
        new = set() if previous is None else standby[number] - standby[previous]
        moves.update(moved)
        assert (each["active_moves"], each["standby_moves"]) == (len(moved), len(new))
        if previous is not None:
            found.update((number, "active", task, active[previous].get(task), now.get(task)) for task in moved)
            found.update((number, "standby", task, None, client) for task, client in new)
        assert each["standbys"] == len(standby[number])
        last = active[rounds[-1]["round"]]
        assert each["displaced_tasks"] == sum(now.get(task) != last.get(task) for task in tasks)
        assert each["withheld_tasks"] <= len(tasks)
        assert each["warming_up"] <= each["standbys"] + len(tasks)
        previous = number
    assert listed == found
    assert len(tables["moves"]) == len(found)
    for each in tables["tasks"]:
        assert each["active_moves"] == moves[each["task"]]
    [row] = tables["runs"]
    for column in ("active_moves", "thread_moves", "standby_moves"):
        assert row[column] == total(rounds, column)
    reasons = ("member_lost", "promoted", "returned", "rack", "balance")
    assert row["active_moves"] == sum(row[f"moves_{reason}"] for reason in reasons)
    assert row["rebalances"] == sum(each["round"] != INITIAL_ROUND for each in rounds)
    assert row["leader_compute_ms"] == max((each["leader_compute_ms"] for each in rounds), default=0.0)


def stays_of(tables: Figures) -> dict[int, set[str]]:
    """Return the members of each round, from the stays of clients."""
    numbers = [each["round"] for each in tables["rounds"]]
    members: dict[int, set[str]] = {number: set() for number in numbers}
    for each in tables["clients"]:
        if each["from_round"] is not None:
            for number in numbers:
                if each["from_round"] <= number and (each["until_round"] is None or number < each["until_round"]):
                    members[number].add(each["client"])
    return members


def spread(values: list[float]) -> float:
    """Return the maximum minus the minimum."""
    return max(values) - min(values) if values else 0.0


@relation(60)
@given(worlds(), assignors())
def test_what_is_measured_follows_from_the_assignment(world: World, assignor: TaskAssignor) -> None:
    """Skews and what failures would take follow from the listed assignment, the threads and the racks."""
    trace = run(world, assignor)
    tables = figures_of(trace)
    members = stays_of(tables)
    threads = {each.name: each.threads for each in world.clients}
    rack = {each.name: each.rack for each in world.clients}
    stateful = {each["task"]: each["stateful"] for each in tables["tasks"]}
    copies: dict[int, list[Row]] = defaultdict(list)
    for each in tables["assignments"]:
        copies[each["round"]].append(each)
    for each in tables["rounds"]:
        here, names = copies[each["round"]], members[each["round"]]
        assert each["members"] == len(names)

        def per_thread(chosen: Any, names: set[str] = names, here: list[Row] = here) -> float:
            loads = Counter(copy["client"] for copy in here if chosen(copy))
            return spread([loads[name] / threads[name] for name in names])

        assert each["load_skew"] == pytest.approx(per_thread(lambda copy: True))
        assert each["active_skew"] == pytest.approx(per_thread(lambda copy: copy["role"] == "active"))
        assert each["standby_skew"] == pytest.approx(per_thread(lambda copy: copy["role"] == "standby"))
        for column, wanted in (("stateful_skew", True), ("stateless_skew", False)):
            skew = per_thread(lambda copy, w=wanted: copy["role"] == "active" and stateful[copy["task"]] == w)
            assert each[column] == pytest.approx(skew)
        of_part: dict[str, Counter[str]] = defaultdict(Counter)
        for copy in here:
            if copy["role"] == "active":
                of_part[copy["task"].split("_")[0]][copy["client"]] += 1
        assert each["subtopology_skew"] == max((spread([n[c] for c in names]) for n in of_part.values()), default=0)
    if trace.rounds:
        check_losses(tables, copies[tables["rounds"][-1]["round"]], stateful, rack)


def check_losses(tables: Figures, copies: list[Row], stateful: dict[str, bool], rack: dict[str, str | None]) -> None:
    """Check what failures would take against every task's clients."""
    [row] = tables["runs"]
    holders: dict[str, set[str]] = defaultdict(set)
    for copy in copies:
        if stateful[copy["task"]]:
            holders[copy["task"]].add(copy["client"])
    names = sorted(rack)
    lost = [sum(clients <= {one, other} for clients in holders.values()) for one in names for other in names]
    alone = [sum(clients == {one} for clients in holders.values()) for one in names]
    assert row["stateful_tasks"] == sum(stateful.values())
    assert (row["worst_client_loss"], row["worst_pair_loss"]) == (max(alone), max(lost))
    if all(rack[name] is not None for clients in holders.values() for name in clients):
        found = {each["rack"]: each["stateful_tasks"] for each in tables["losses"]}
        by_rack = {
            name: sum({rack[client] for client in clients} == {name} for clients in holders.values()) for name in found
        }
        assert found == by_rack
        assert row["worst_rack_loss"] == max(found.values(), default=0)
    else:
        assert row["worst_rack_loss"] is None
        assert not tables["losses"]


@relation(60)
@given(worlds(WorldLimits(events=(), starts=(Start.WARM, Start.COLD))), assignors())
def test_source_partitions_are_remote_where_no_replica_is_near(world: World, assignor: TaskAssignor) -> None:
    """Cross-rack source partitions are those without a replica in the rack of the client that reads them."""
    tables = figures(world, assignor)
    rack_of = {broker.id: broker.rack for broker in world.cluster.brokers}
    client_rack = {each.name: each.rack if each.announces_rack else None for each in world.clients}
    sources = {part.id: part.source_topics for part in world.application.subtopologies}
    members = stays_of(tables)
    for each in tables["rounds"]:
        is_known = all(client_rack[name] is not None for name in members[each["round"]])
        if not is_known:
            assert each["cross_rack_source_partitions"] is None
            continue
        remote = 0
        for copy in tables["assignments"]:
            if copy["round"] == each["round"] and copy["role"] == "active":
                part, partition = map(int, copy["task"].split("_"))
                for name in sources[part]:
                    topic = world.cluster.topics[name]
                    if partition < topic.num_partitions:
                        racks = {rack_of[broker] for broker in topic.replicas[partition]}
                        remote += client_rack[copy["client"]] not in racks
        assert each["cross_rack_source_partitions"] == remote
        assert each["cross_rack_source_partitions_bound"] <= remote
