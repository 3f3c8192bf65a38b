"""Consumer groups that are converted to the consumer protocol and back, while members crash, restart and join."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.results.trace import Trace
from tests.relations.figures import figures_of
from tests.relations.relation import relation
from tests.relations.test_consumer_groups import END_MS, Document, groups, processed, simulated

pytestmark = pytest.mark.answers

CLASSIC = ("range", "roundrobin", "sticky", "cooperative-sticky")
SERVER_NAMES = {"uniform": "uniform", "range": "broker-range"}
SETTLED_MS, LAST_MS = 150_000, 600_000
"""When all late members have joined, and long after all other events."""


def restart(document: Document, at_ms: int, protocol: str, *, remote: str | None = None, down_ms: int = 5_000) -> None:
    """Add a rolling restart of all clients that are up by then, after which they have a group protocol."""
    [group] = document["consumers"]
    configs = {"group.protocol": protocol, **({} if remote is None else {"group.remote.assignor": remote})}
    clients = [client["name"] for client in group["clients"] if client.get("starts", True) or at_ms >= SETTLED_MS]
    bounce = {"clients": clients, "down": down_ms, "pause": 2_000, "configs": configs}
    document["events"].append({"at": at_ms, "rolling_bounce": bounce})


@st.composite
def converted_groups(draw: st.DrawFn) -> Document:
    """Draw a group with restarts to either protocol, some of them while other events happen."""
    document = draw(groups(CLASSIC))
    [group] = document["consumers"]
    for _ in range(draw(st.integers(1, 3))):
        protocol = draw(st.sampled_from(("consumer", "consumer", "classic")))
        remote = draw(st.sampled_from((None, "uniform", "range"))) if protocol == "consumer" else None
        at_ms = draw(st.sampled_from((60_000, 63_000, 75_000, SETTLED_MS, 200_000)))
        restart(document, at_ms, protocol, remote=remote, down_ms=draw(st.sampled_from((500, 20_000, 60_000))))
    own = draw(st.sampled_from((None, "consumer")))
    if own is not None:
        group["clients"][-1]["configs"] = {"group.protocol": own}
    return document


@relation(20)
@given(converted_groups())
def test_partitions_of_converted_groups_have_one_owner(document: Document) -> None:
    """Also while a group is converted, and back, a partition has at most one owner, and all have one in the end."""
    for intervals in processed(simulated(document)):
        assert intervals[-1][1] == END_MS
        assert all(before[1] <= after[0] for before, after in pairwise(intervals))


@relation(10)
@given(groups(CLASSIC), st.sampled_from(("uniform", "range")))
def test_restarted_group_has_the_assignment_of_the_coordinator(document: Document, remote: str) -> None:
    """After a restart of all members with the consumer protocol, their shares are those of a new group."""
    [group] = document["consumers"]
    group["clients"] = [
        {key: value for key, value in client.items() if key not in ("static_membership", "consumers")}
        for client in group["clients"]
        if "topics" not in client
    ]
    converted = document | {"events": [*document["events"]]}
    restart(converted, LAST_MS, "consumer", remote=remote)
    trace = simulated(converted)
    new = document | {"consumers": [group | {"assignors": [SERVER_NAMES[remote]]}]}
    assert shares(trace, by_topic=remote == "range") == shares(simulated(new), by_topic=remote == "range")


def shares(trace: Trace, *, by_topic: bool) -> dict[str, list[int]]:
    """Return how many partitions members have in the end, ascending, by topic or of all topics together."""
    rows = figures_of(trace)["assignments"]
    last = max(row["round"] for row in rows)
    owned = Counter(
        (row["task"].rpartition("-")[0] if by_topic else "", row["client"]) for row in rows if row["round"] == last
    )
    counts: dict[str, list[int]] = {}
    for (topic, _), count in owned.items():
        counts.setdefault(topic, []).append(count)
    return {topic: sorted(numbers) for topic, numbers in sorted(counts.items())}


@relation(6)
@given(groups(("cooperative-sticky",), only_joins=True))
def test_conversion_of_a_cooperative_group_stops_only_what_moves(document: Document) -> None:
    """When members of the consumer protocol join a cooperative group, a partition stops only if it moves."""
    [group] = document["consumers"]
    for client in group["clients"]:
        if client["name"].endswith("-late"):
            client["configs"] = {"group.protocol": "consumer"}
    for intervals in processed(simulated(document)):
        assert all(before[2] != after[2] for before, after in pairwise(intervals))


@relation(4)
@given(converted_groups())
def test_converted_group_with_the_same_seed(document: Document) -> None:
    """Two runs of a group that is converted have the same figures with the same seed."""
    assert figures_of(simulated(document)) == figures_of(simulated(document))
