"""Consumer groups: which member owns a partition at any time, and which rebalances stop whom."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.consumer_groups import consumer_assignor_names
from assignors.model.assignment import UNASSIGNED
from scenarios.load import Scenario, loads
from scenarios.run import run_world
from simulator.flows.execution import Execution
from simulator.processes.run_options import RunOptions
from simulator.results.trace import Trace
from tests.relations.figures import figures_of
from tests.relations.relation import relation
from tests.simulator.invariants import InvariantChecker

pytestmark = pytest.mark.answers

Document = dict[str, Any]

END_MS = 1_000_000
"""Long after the last event, so that every group has settled."""

EAGER = ("range", "roundrobin", "sticky")
COOPERATIVE = ("cooperative-sticky", "uniform", "broker-range")
APPLICATION: Document = {
    "id": "app",
    "subtopologies": [{"sources": ["t0"], "stores": [{"name": "store", "size": 50_000_000}]}],
}


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{number}" for number in range(count)]


@st.composite
def events(draw: st.DrawFn, prefix: str, count: int, joining: int) -> list[Document]:
    """Draw events of the clients of a group, of which the last ones join."""
    listed: list[Document] = []
    at_ms = 60_000
    for name in names(f"{prefix}-late", joining):
        listed.append({"at": at_ms, "join": {"clients": name}})
        at_ms += draw(st.sampled_from((500, 4_000, 30_000)))
    for _ in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from(names(prefix, count)))
        down = draw(st.sampled_from((1_000, 20_000, 70_000)))
        kind = draw(st.sampled_from(("crash", "rolling_bounce")))
        listed.append({"at": at_ms, kind: {"clients": name, "down": down}})
        at_ms += draw(st.sampled_from((3_000, 90_000)))
    return listed


@st.composite
def groups(
    draw: st.DrawFn, assignors: tuple[str, ...] = consumer_assignor_names(), *, only_joins: bool = False
) -> Document:
    """Draw a scenario about a consumer group; with joins as its only events, each process has one consumer."""
    prefix = "m"
    partitions = draw(st.lists(st.integers(1, 7), min_size=1, max_size=3))
    count, joining = draw(st.integers(1, 5)), draw(st.integers(0, 2))
    racks = draw(st.sampled_from(({}, {"racks": ["az1", "az2"]})))
    static = draw(st.booleans())
    clients: list[Document] = [{"name": prefix, "count": count, "static_membership": static, **racks}]
    clients[0]["consumers"] = 1 if only_joins else draw(st.integers(1, 2))
    if joining:
        clients.append({"name": f"{prefix}-late", "count": joining, "starts": False, **racks})
    topics = [f"t{number}" for number in range(len(partitions))]
    if draw(st.booleans()):
        own = draw(st.lists(st.sampled_from(topics), min_size=1, unique=True))
        clients.append({"name": f"{prefix}-own", "count": draw(st.integers(1, 2)), "topics": own, **racks})
    return {
        "cluster": {
            "brokers": {"count": 3, "racks": ["az1", "az2", "az3"]},
            "topics": [
                {"name": name, "partitions": number, "replication_factor": 2, "bytes_per_s": 1_000}
                for name, number in zip(topics, partitions, strict=True)
            ],
        },
        "consumers": [
            {
                "group": f"group-{prefix}",
                "topics": topics,
                "clients": clients,
                "assignors": [draw(st.sampled_from(assignors))],
                "poll_interval": draw(st.sampled_from((50, 4_000))),
            }
        ],
        "events": [event for event in draw(events(prefix, count, joining)) if "join" in event or not only_joins],
        "duration": END_MS,
        "seeds": [draw(st.integers(1, 3))],
    }


def load(document: Document) -> Scenario:
    return loads(json.dumps(document))


def simulated(document: Document) -> Trace:
    """Return the trace of a scenario, whose invariants hold after every change."""
    scenario = load(document)
    seed = scenario.seeds[0]
    spec = scenario.assignors[0]
    world = scenario.world(seed, spec)
    trace = run_world(scenario, world, spec, seed, RunOptions(observe=Observer(InvariantChecker(world))))
    assert trace.failure is None
    return trace


class Observer:
    """Checks after every change that each partition has at most one owner, which is up."""

    def __init__(self, check: InvariantChecker) -> None:
        self._check = check

    def __call__(self, execution: Execution) -> None:
        self._check(execution)
        owner = execution.assignment.owner
        owned = owner != UNASSIGNED
        threads = execution.assignment.owner_thread()
        assert execution.fleet.running[owner[owned], threads[owned]].all()


def processed(trace: Trace) -> Iterator[list[tuple[int, int, str]]]:
    """Yield the intervals in which each partition is processed, as start, end and client, by time."""
    rows = figures_of(trace)["task_states"]
    for task in dict.fromkeys(row["task"] for row in rows):
        own = [row for row in rows if row["task"] == task]
        ends = [*(row["at_ms"] for row in own[1:]), END_MS]
        yield [
            (row["at_ms"], end_ms, row["client"])
            for row, end_ms in zip(own, ends, strict=True)
            if row["state"] == "running"
        ]


@relation(20)
@given(groups())
def test_partitions_have_one_owner(document: Document) -> None:
    """A partition of a consumer group has at most one owner at any time, which is up, and all have one in the end."""
    trace = simulated(document)
    for intervals in processed(trace):
        assert intervals[-1][1] == END_MS
        assert all(before[1] <= after[0] for before, after in pairwise(intervals))


@relation(20)
@given(groups())
def test_members_own_partitions_of_their_topics(document: Document) -> None:
    """A member of a consumer group never owns a partition of a topic to which it does not subscribe."""
    [group] = document["consumers"]
    others = {client["name"]: client["topics"] for client in group["clients"] if "topics" in client}
    trace = simulated(document)
    for row in figures_of(trace)["assignments"]:
        topic, name = row["task"].rpartition("-")[0], row["client"].rpartition("-")[0]
        assert topic in others.get(name, group["topics"])


@relation(10)
@given(groups(), st.randoms())
def test_group_whose_members_list_all_topics_themselves(document: Document, random: Random) -> None:
    """Topics of clients in place of topics of the group change nothing, in any order of a client's topics."""
    [group] = document["consumers"]
    clients = [
        client if "topics" in client else client | {"topics": random.sample(group["topics"], len(group["topics"]))}
        for client in group["clients"]
    ]
    listed = document | {"consumers": [group | {"clients": clients}]}
    assert figures_of(simulated(listed)) == figures_of(simulated(document))


@relation(15)
@given(groups(EAGER))
def test_eager_rebalances_stop_everyone(document: Document) -> None:
    """When a group gets an assignment of an eager assignor, no member processes a partition."""
    trace = simulated(document)
    rebalances = [round_.at_ms for round_ in trace.rounds]
    for intervals in processed(trace):
        assert not [at_ms for at_ms in rebalances for start, end, _ in intervals if start < at_ms < end]


@relation(15)
@given(groups(COOPERATIVE, only_joins=True))
def test_other_rebalances_stop_only_what_moves(document: Document) -> None:
    """If members only join, a partition stops only when another member is to get it, except with an eager assignor."""
    # The next assignment may give it back, if members subscribe to different topics.
    trace = simulated(document)
    names = [client.name for client in trace.world.clients]
    for row, intervals in enumerate(processed(trace)):
        owners = [(round_.at_ms, names[round_.owner[row]]) for round_ in trace.rounds]
        for (start, end, client), _ in pairwise(intervals):
            given = max(at_ms for at_ms, owner in owners if at_ms <= start and owner == client)
            assert any(given < at_ms <= end and owner != client for at_ms, owner in owners)


@relation(5)
@given(groups())
def test_same_seed(document: Document) -> None:
    """Two runs of a consumer group with the same seed have the same figures, and its partitions are named by topic."""
    first, second = (figures_of(simulated(document)) for _ in range(2))
    assert first == second
    topics = {f"{topic['name']}-{n}" for topic in document["cluster"]["topics"] for n in range(topic["partitions"])}
    assert {row["task"] for row in first["tasks"]} == topics


@relation(5)
@given(groups(), st.booleans())
def test_beside_an_application(document: Document, is_static: bool) -> None:
    """An application and a consumer group on the same cluster have the same figures as alone."""
    clients = [{"name": "app", "count": 2, "rack": "az1", "static_membership": is_static}]
    crash = {"at": 200_000, "crash": {"clients": "app-0", "down": 60_000}}
    app: Document = {"application": APPLICATION, "clients": clients}
    alone = {key: value for key, value in document.items() if key != "consumers"} | app
    together = document | app | {"events": [*document["events"], crash]}
    about_group = _traces(together | {"subject": "group-m"})
    about_application = _traces(together)
    assert about_application[0] == _traces(alone | {"events": [crash]})[0] == about_group[1]
    assert about_group[0] == figures_of(simulated(document)) == about_application[1]


def _traces(document: Document) -> list[Any]:
    """Return the figures of the subject of a scenario, and of its neighbors."""
    scenario = load(document)
    spec, seed = scenario.assignors[0], scenario.seeds[0]
    trace = run_world(scenario, scenario.world(seed, spec), spec, seed)
    assert trace.failure is None
    return [figures_of(run) | {"neighbors": []} for run in (trace, *trace.neighbors)]
