"""Random consumer groups, and the polls of one that does exactly what the simulator predicts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from assignors.consumer_tasks import ConsumerTasks
from assignors.consumers.uniform import keys_of, stored_topics, topic_hashes
from assignors.java.hash_order import TimelineOrder
from assignors.model.consumer_group import ConsumerAssignment, ConsumerAssignor, ConsumerGroupState
from assignors.model.ids import TopicPartition
from scenarios.kafka.observation.observation import (
    GroupKind,
    GroupSnapshot,
    Observation,
    ObservedBroker,
    ObservedConsumer,
    ObservedConsumers,
    SnapshotMember,
)
from scenarios.load import Scenario
from scenarios.watch.watched_group import WatchedConsumers, WatchedGroup
from simulator.results.trace import Round, Trace
from tests.scenarios.watch.simulated_polls import (
    COMMIT_MS,
    Document,
    SimulatedPolls,
    SimulatedWatch,
    observed_topics,
    simulate_document,
    watch_polls,
)

CLASSIC = ("range", "roundrobin", "sticky", "cooperative-sticky")
COORDINATED = ("uniform", "range")
_SUBSCRIPTIONS: tuple[list[str] | None, ...] = (None, None, ["orders"], ["payments"], ["orders", "refunds"])


def random_consumers(seed: int, assignor: str, protocol: str) -> Document:
    """Return a consumer group of 2 hours with joins, departures and crashes; its members may subscribe differently."""
    rng = random.Random(f"watch consumers {seed}")
    has_racks, is_mixed, is_static = rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.3
    clients = []
    for number in range(rng.randint(4, 7)):
        client: dict[str, Any] = {"name": f"c{number}", "starts": number < 3}
        if has_racks:
            client["rack"] = rng.choice(("az1", "az2", "az3"))
        if is_static and number == 1:
            client["instance_id"] = "static-1"
        if is_mixed and number and (topics := rng.choice(_SUBSCRIPTIONS)):
            client["topics"] = topics
        clients.append(client)
    configs: dict[str, Any] = {"group.protocol": protocol}
    if protocol == "classic":
        configs |= {"partition.assignment.strategy": assignor, "session.timeout.ms": rng.choice((10_000, 45_000))}
    else:
        configs["group.remote.assignor"] = assignor
    return {
        "cluster": {
            "kafka": "4.3",
            "brokers": {"count": 3, "racks": ["az1", "az2", "az3"]},
            "topics": [
                {"name": name, "partitions": rng.randint(1, most), "bytes_per_s": "100 kB/s", "size": "1 GB"}
                for name, most in (("orders", 12), ("payments", 6), ("refunds", 3))
            ],
        },
        "consumers": [
            {
                "group": "billing",
                "topics": ["orders", "payments", "refunds"],
                "configs": configs,
                "assignors": ["broker-range" if protocol == "consumer" and assignor == "range" else assignor],
                "clients": clients,
            }
        ],
        "events": list(_events(rng, [client["name"] for client in clients])),
        "duration": "2h",
    }


def _events(rng: random.Random, names: list[str]) -> Iterator[dict[str, Any]]:
    """Yield events of which each comes after the group has settled: a real poll may miss targets in between."""
    at_ms, up = 600_000, names[:3]
    for name in names[3:]:
        yield {"at": at_ms, "join": {"clients": name}}
        at_ms += rng.randint(300_000, 600_000)
        up.append(name)
    for kind in rng.sample(("leave", "crash", "restart"), k=rng.randint(1, 3)):
        name = up.pop(rng.randrange(1, len(up)))
        if kind == "restart":
            yield {"at": at_ms, "crash": {"clients": name, "down": f"{rng.randint(60, 240)}s"}}
        else:
            yield {"at": at_ms, kind: {"clients": name}}
        at_ms += rng.randint(300_000, 600_000)


def watch_consumers(document: Document, interval_ms: int) -> SimulatedWatch:
    """Feed a monitor with the polls of a simulated consumer group."""
    scenario, trace = simulate_document(document)
    return watch_polls(SimulatedConsumerPolls(scenario, trace), trace, interval_ms)


@dataclass(frozen=True, slots=True)
class RecordedAssignments:
    """An assignor that records what it gets and answers."""

    assignor: ConsumerAssignor
    calls: list[tuple[ConsumerGroupState, ConsumerAssignment]] = field(default_factory=list)

    def assign(self, state: ConsumerGroupState) -> ConsumerAssignment:
        answer = self.assignor.assign(state)
        self.calls.append((state, answer))
        return answer


class SimulatedConsumerPolls(SimulatedPolls):
    """Snapshots of a simulated consumer group, with members, partitions and owners in the orders of real responses."""

    kind = GroupKind.CONSUMERS

    def __init__(self, scenario: Scenario, trace: Trace) -> None:
        super().__init__(scenario, trace)
        own = scenario.assignors[0].make()
        assert isinstance(own, ConsumerTasks)
        recorded = RecordedAssignments(own.assignor)
        again = ConsumerTasks(recorded, own.by_coordinator, own.is_eager, own.group, own.forgets)
        for captured in self._rounds:
            again.assign(captured.state)
        self._calls = recorded.calls
        self._listed = list(self._listed_members())

    def watched(self, snapshot: GroupSnapshot) -> WatchedGroup:
        return WatchedConsumers.of(self.observation(snapshot))

    def observation(self, snapshot: GroupSnapshot) -> Observation:
        world, spec = self._trace.world, self._scenario.assignors[0]
        subscribed = {topic for member in snapshot.members for topic in member.topics}
        session_ms = world.application.group_configs.session_timeout_ms
        return Observation(
            source="a simulation",
            brokers=tuple(ObservedBroker(broker.id, broker.rack) for broker in world.cluster.brokers),
            topics=tuple(topic for topic in observed_topics(world) if topic.name in subscribed),
            application_id=world.application.id,
            protocol=snapshot.protocol,
            subtopologies=(),
            processes=(),
            configs={"auto.commit.interval.ms": str(COMMIT_MS)}
            | ({} if self._is_coordinated else {"session.timeout.ms": str(session_ms)}),
            broker_release="4.3" if self._is_coordinated else None,
            consumers=ObservedConsumers(
                spec.info.name.removeprefix("broker-").partition("@")[0],
                tuple(
                    ObservedConsumer(
                        member.id,
                        member.client_id,
                        "10.0.0.1",
                        member.instance_id,
                        member.rack,
                        tuple(sorted(member.topics)),
                        tuple(sorted(TopicPartition.parse(name) for name in member.active)),
                    )
                    for member in sorted(snapshot.members, key=lambda member: member.id)
                ),
            ),
        )

    @staticmethod
    def _next_rebalance_at_ms(round_: Round) -> int | None:
        return None

    def _listed_members(self) -> Iterator[list[str]]:
        """Yield the member ids of each rebalance in the order in which the coordinator lists them afterwards."""
        order = TimelineOrder()
        for group, _ in self._calls:
            for member in set(order) - set(group.member_ids):
                order.remove(member)
            for member in group.member_ids:
                order.add(member)
            yield list(order) if self._is_coordinated else list(group.member_ids)

    def _members(self, number: int, at_ms: int) -> Iterator[SnapshotMember]:
        group, answer = self._calls[number]
        round_ = self._rounds[number].round
        is_done = round_.reconciled_at_ms is not None and round_.reconciled_at_ms <= at_ms
        waiting: set[str] = set()
        if self._is_coordinated and not is_done:
            waiting = {str(self._layout.tasks.ids[row]) for row in round_.withheld.tolist()}
        for member in self._listed[number]:
            row = group.member_ids.index(member)
            target = tuple(map(str, sorted(map(group.topic_partition, answer.partitions[row]))))
            owned = group.owned[row]
            if self._is_coordinated:
                owned = keys_of(stored_topics(answer.stored_after(group)[row], topic_hashes(group)))
            yield SnapshotMember(
                id=member,
                client_id=f"consumer-billing-1-{member[-8:]}",
                process_id=group.instance_ids[row] or member,
                rack=group.racks[row],
                tags={},
                instance_id=group.instance_ids[row],
                active=tuple(name for name in target if name not in waiting),
                standby=(),
                target_active=target,
                target_standby=(),
                owned=tuple(map(group.topic_partition, owned)),
                joined=str(round_.number),
                topics=tuple(group.topics[topic].name for topic in group.subscriptions[row]),
                generation=group.generations[row],
                user_data_generation=group.user_data_generations[row],
            )
