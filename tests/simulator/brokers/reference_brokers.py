"""Strategies for random small worlds, and a slow reference model of their brokers."""

from __future__ import annotations

from hypothesis import strategies as st

from assignors.model.ids import TopicPartition
from simulator.brokers.replication_control import ReplicationControl
from simulator.world.world import NO_LEADER, Application, Broker, Client, Cluster, Store, Subtopology, Topic, World
from tests.simulator.world_builders import RACKS, client

racks = st.sampled_from((*RACKS, None))
amounts = st.integers(0, 4).map(lambda n: n * 1_000)


@st.composite
def topics(draw: st.DrawFn, name: str, brokers: int, partitions: int) -> Topic:
    """Draw a topic whose partitions may have no replica, or no leader."""
    listed = st.lists(st.integers(0, brokers - 1), unique=True, max_size=3)
    replicas = [tuple(draw(listed)) for _ in range(partitions)]
    leaders = tuple(draw(st.sampled_from((*row, NO_LEADER))) for row in replicas)
    in_sync = [
        tuple(broker for broker in row if broker == leader or draw(st.booleans()))
        for row, leader in zip(replicas, leaders, strict=True)
    ]
    return Topic(
        name,
        tuple(replicas),
        leaders,
        tuple(draw(amounts) for _ in range(partitions)),
        tuple(draw(amounts) for _ in range(partitions)),
        draw(st.sampled_from((10, 1_000))),
        in_sync=draw(st.sampled_from(((), tuple(in_sync)))),
        min_insync_replicas=draw(st.integers(1, 3)),
        unclean_leader_election=draw(st.booleans()),
    )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw a world with up to three subtopologies that may share topics; a changelog may be a source topic."""
    brokers = tuple(Broker(i, draw(racks)) for i in range(draw(st.integers(1, 5))))
    counts = {name: draw(st.integers(1, 3)) for name in ("in0", "in1", "in2", "between", "back", "out")}
    subtopologies = []
    for number in range(draw(st.integers(1, 3))):
        inner = draw(st.lists(st.sampled_from(("between", "back")), unique=True))
        sources = (f"in{number}", *inner)
        written = draw(st.lists(st.sampled_from(("between", "back", "out")), unique=True))
        stores = []
        for store in range(draw(st.integers(0, 2))):
            changelog = draw(st.sampled_from((None, f"in{number}", f"log{number}{store}")))
            if changelog is not None:
                counts.setdefault(changelog, max(counts[source] for source in sources))
            stores.append(Store(f"store{store}", changelog, draw(st.booleans())))
        if len({store.changelog for store in stores}) < len(stores):
            stores = stores[:1]
        subtopologies.append(Subtopology(number, sources, tuple(stores), tuple(written)))
    named = {name: draw(topics(name, len(brokers), count)) for name, count in counts.items()}
    return World(
        name="random",
        cluster=Cluster(brokers, named),
        application=Application("app", tuple(subtopologies)),
        clients=tuple(_clients(draw)),
    )


def _clients(draw: st.DrawFn) -> list[Client]:
    return [client(f"c{i}", draw(racks)) for i in range(draw(st.integers(1, 4)))]


class ReferenceBrokers:
    """Racks of leaders and live in-sync replicas, one partition at a time, from the state of the controller."""

    def __init__(self, world: World) -> None:
        self.rack = {broker.id: broker.rack for broker in world.cluster.brokers}
        self.topics = world.cluster.topics
        self.update(ReplicationControl(world))

    def update(self, control: ReplicationControl) -> None:
        names = [
            TopicPartition(topic.name, number)
            for topic in self.topics.values()
            for number in range(topic.num_partitions)
        ]
        states = {name: control.state(name) for name in names}
        self.alive = {broker for broker, is_alive in zip(self.rack, control.live_brokers(), strict=True) if is_alive}
        self.replicas = {name: state.replicas for name, state in states.items()}
        self.leader = {name: state.leader for name, state in states.items()}
        self.in_sync = {name: state.in_sync for name, state in states.items()}

    def live_replicas(self, partition: TopicPartition) -> list[int]:
        return [broker for broker in self.replicas[partition] if broker in self.alive]

    def live_in_sync_replicas(self, partition: TopicPartition) -> list[int]:
        return [broker for broker in self.live_replicas(partition) if broker in self.in_sync[partition]]

    def takes_writes(self, partition: TopicPartition) -> bool:
        min_insync = self.topics[partition.topic].min_insync_replicas
        return self.leader[partition] != NO_LEADER and len(self.live_in_sync_replicas(partition)) >= min_insync

    def leader_rack(self, partition: TopicPartition) -> str | None:
        return self.rack.get(self.leader[partition])

    def racks_served(self, partition: TopicPartition) -> set[str | None]:
        return {self.rack[broker] for broker in self.live_in_sync_replicas(partition)} - {None}

    def has_known_racks(self, partition: TopicPartition) -> bool:
        replicas = self.replicas[partition]
        return bool(replicas) and all(broker in self.alive and self.rack[broker] for broker in replicas)

    def followers(self, partition: TopicPartition) -> list[str | None]:
        leader = self.leader[partition]
        if leader == NO_LEADER:
            return []
        return [self.rack[broker] for broker in self.live_in_sync_replicas(partition) if broker != leader]
