"""A slow model of brokers: which are up, the leader and in-sync replicas (ISR) of each partition, at every millisecond.

It goes from one moment at which something happens to the next, with one dictionary entry per replica. It follows the
rules in `docs/explanation/state-and-processing.md` and Kafka's controller, without the arrays of the simulator.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from assignors.model.ids import TopicPartition
from simulator.random_streams import random_stream
from simulator.world.disturbances import (
    BrokerBounce,
    BrokerLoss,
    LeaderElection,
    RackOutage,
    Reassignment,
    TrafficChange,
)
from simulator.world.world import Topic, World

BIT = 0.5


@dataclass(eq=False)
class Partition:
    """A partition: its replicas in order, leader and ISR."""

    name: TopicPartition
    topic: Topic
    replicas: list[int]
    leader: int | None
    isr: set[int]
    last_leader: int | None
    eligible: set[int] = field(default_factory=set)
    following: set[int] = field(default_factory=set)
    missing: dict[int, float] = field(default_factory=dict)
    target: list[int] | None = None
    copying: set[int] = field(default_factory=set)
    election: LeaderElection = LeaderElection.AUTO


@dataclass(frozen=True)
class Stay:
    """A time that a broker is down; for ever without an end."""

    broker: int
    from_ms: int
    until_ms: float
    crash: bool


def stays(world: World) -> list[Stay]:
    """Return every outage of every broker."""
    outages: list[Stay] = []
    for event in world.disturbances:
        match event:
            case BrokerLoss(at_ms=at_ms, brokers=brokers, down_ms=down_ms):
                down = [(at_ms, broker, down_ms, True) for broker in brokers]
            case RackOutage(at_ms=at_ms, rack=rack, down_ms=down_ms):
                down = [(at_ms, broker.id, down_ms, True) for broker in world.cluster.brokers if broker.rack == rack]
            case BrokerBounce(at_ms=at_ms, brokers=brokers, down_ms=down_ms, pause_ms=pause_ms):
                down = [(at_ms + i * (down_ms + pause_ms), b, down_ms, False) for i, b in enumerate(brokers)]
            case _:
                continue
        for at_ms, broker, down_ms, crash in down:
            end_ms = math.inf if down_ms is None else at_ms + down_ms
            if end_ms > at_ms:
                outages.append(Stay(broker, at_ms, end_ms, crash))
    return outages


class BrokerModel:
    """The brokers and partitions of a world from its start on."""

    def __init__(self, world: World) -> None:
        self.controller = world.cluster.controller
        self.rate = {broker.id: broker.replication_bytes_per_s for broker in world.cluster.brokers}
        self.stays = stays(world)
        self.events = [event for event in world.disturbances if isinstance(event, Reassignment | TrafficChange)]
        self.partitions = [
            Partition(
                TopicPartition(topic.name, number),
                topic,
                list(replicas),
                None if topic.leaders[number] == -1 else topic.leaders[number],
                set(topic.in_sync[number] if topic.in_sync else replicas),
                None if topic.leaders[number] == -1 else topic.leaders[number],
            )
            for topic in world.cluster.topics.values()
            for number, replicas in enumerate(topic.replicas)
        ]
        self.of = {partition.name: partition for partition in self.partitions}
        self.up = set(self.rate)
        self.now_ms = 0
        self.factor = 1.0
        self.crashed: set[int] = set()
        self.plans: list[tuple[Reassignment, list[Partition]]] = []
        interval = self.controller.check_interval_ms
        phase = None if interval is None else 1 + int(random_stream(world.seed, "leader_check").integers(interval))
        self.next_check_ms = phase if self.controller.checks_periodically or self.is_imbalanced() else None
        self.end_ms = world.duration_ms
        self.happen()

    def is_imbalanced(self) -> bool:
        return any(p.leader != (p.replicas[0] if p.replicas else None) for p in self.partitions)

    def growth(self, partition: Partition) -> float:
        live = [broker for broker in partition.isr if broker in self.up]
        if partition.leader is None or len(live) < partition.topic.min_insync_replicas:
            return 0.0
        return self.factor * partition.topic.bytes_per_s[partition.name.partition]

    def run(self, until_ms: int) -> None:
        """Go on to just after everything that happens until a time."""
        while True:
            due = [self.next_due_ms(), until_ms]
            self.pass_time(int(min(due)))
            if due[0] > until_ms:
                return
            self.happen()

    def next_due_ms(self) -> float:
        moments = [float(event.at_ms) for event in self.events]
        moments += [float(stay.from_ms) for stay in self.stays] + [stay.until_ms for stay in self.stays]
        moments += [self.now_ms + max(1, math.ceil(seconds * 1000)) for seconds in self.catch_up_times()]
        if self.next_check_ms is not None:
            moments.append(float(self.next_check_ms))
        return min((moment for moment in moments if moment > self.now_ms), default=math.inf)

    # What happens at a moment.

    def happen(self) -> None:
        now, down = self.now_ms, {stay.broker for stay in self.stays if stay.from_ms <= self.now_ms < stay.until_ms}
        for moment in self.changes():
            if isinstance(moment, TrafficChange):
                self.factor, _ = moment.factor, moment.hour
            elif isinstance(moment, Stay):
                if moment.from_ms == now and moment.broker in self.up and moment.broker in down:
                    self.stop(moment.broker, moment.crash)
                elif moment.until_ms == now and moment.broker not in self.up and moment.broker not in down:
                    self.start(moment.broker)
            else:
                self.begin(moment)
        if self.next_check_ms == now:
            self.check()
        while self.copy() or self.join():
            pass
        interval = self.controller.check_interval_ms
        is_periodic = self.controller.checks_periodically
        if interval is not None and not is_periodic and self.next_check_ms is None and self.is_imbalanced():
            self.next_check_ms = now + interval

    def changes(self) -> Iterator[Stay | Reassignment | TrafficChange]:
        """Yield what changes now: outages that begin or end in the order of the events; plans last."""
        now = self.now_ms
        yield from (event for event in self.events if isinstance(event, TrafficChange) and event.at_ms == now)
        yield from (stay for stay in self.stays if now in (stay.from_ms, stay.until_ms))
        yield from (event for event in self.events if isinstance(event, Reassignment) and event.at_ms == now)

    def stop(self, broker: int, crash: bool) -> None:
        self.up.discard(broker)
        if crash:
            self.crashed.add(broker)
        for p in self.partitions:
            p.following.discard(broker)
            if broker in p.isr:
                rest = p.isr - {broker}
                if self.controller.keeps_eligible_replicas:
                    p.eligible |= {broker}
                    p.isr = rest
                elif rest:
                    p.isr = rest
                self.trim(p)
            if p.leader == broker:
                self.elect(p)

    def start(self, broker: int) -> None:
        self.up.add(broker)
        for p in self.partitions:
            if broker not in p.replicas:
                continue
            if self.controller.keeps_eligible_replicas and broker in self.crashed:
                p.eligible.discard(broker)
            if p.leader is None:
                self.elect(p)
            if broker not in p.isr and broker not in p.copying:
                p.following.add(broker)
        self.crashed.discard(broker)

    def trim(self, p: Partition) -> None:
        """Forget eligible replicas when the ISR is large enough."""
        p.eligible -= p.isr
        if len(p.isr) >= p.topic.min_insync_replicas:
            p.eligible.clear()

    def elect(self, p: Partition) -> None:
        live = [broker for broker in p.replicas if broker in self.up and broker not in p.copying]
        in_isr = [broker for broker in live if broker in p.isr]
        if in_isr:
            p.leader = p.last_leader = in_isr[0]
            return
        choices: list[int] = []
        if not p.isr:
            choices = [broker for broker in live if broker in p.eligible]
        if self.controller.keeps_eligible_replicas and not p.isr and not p.eligible:
            choices = [broker for broker in live if broker == p.last_leader]
        if not choices and p.topic.unclean_leader_election:
            choices = live
        if not choices:
            p.leader = None
            return
        p.leader = p.last_leader = choices[0]
        p.isr = {choices[0]}
        p.eligible.discard(choices[0])
        p.following = set(live) - {choices[0]}
        ahead = p.missing.pop(choices[0], 0.0)
        p.missing = {broker: max(0.0, bytes_ - ahead) for broker, bytes_ in p.missing.items()}

    def check(self) -> None:
        interval = self.controller.check_interval_ms
        assert interval is not None
        for p in self.partitions:
            if p.election is LeaderElection.AUTO:
                self.elect_preferred(p)
        stays_due = self.controller.checks_periodically or self.is_imbalanced()
        self.next_check_ms = self.now_ms + interval if stays_due else None

    def elect_preferred(self, p: Partition) -> None:
        if p.replicas and p.replicas[0] in p.isr and p.replicas[0] in self.up:
            p.leader = p.last_leader = p.replicas[0]

    def begin(self, plan: Reassignment) -> None:
        changed = []
        for name, target in plan.targets:
            p = self.of[name]
            for _, others in self.plans:
                others[:] = [other for other in others if other is not p]
            new = [broker for broker in target if broker not in p.replicas]
            p.replicas = [*target, *sorted(broker for broker in p.replicas if broker not in target)]
            p.target, p.election = list(target), plan.election
            p.copying |= set(new)
            changed.append(p)
        self.plans.append((plan, changed))

    # Copies take no time without a throttle.

    def copy(self) -> bool:
        something = False
        for p in self.partitions:
            for broker in [b for b in p.copying if b in self.up and p.leader is not None]:
                p.copying.discard(broker)
                p.isr.add(broker)
                self.trim(p)
                something = True
            if p.target is not None and all(broker in p.isr and broker in self.up for broker in p.target):
                gone = set(p.replicas) - set(p.target)
                p.replicas, p.target = p.target, None
                p.isr -= gone
                p.copying.clear()
                p.eligible -= gone
                p.following -= gone
                for broker in gone:
                    p.missing.pop(broker, None)
                if p.leader not in p.replicas:
                    self.elect(p)
                something = True
        for plan, changed in list(self.plans):
            if all(p.target is None for p in changed):
                self.plans.remove((plan, changed))
                if plan.election is LeaderElection.AT_END:
                    for p in changed:
                        self.elect_preferred(p)
        return something

    # Replicas that are out of sync.

    def pairs(self) -> dict[tuple[int, int], list[Partition]]:
        """Return which partitions each follower fetches from each leader to catch up."""
        pairs: dict[tuple[int, int], list[Partition]] = {}
        for p in self.partitions:
            for broker in p.following if p.leader is not None else ():
                pairs.setdefault((p.leader, broker), []).append(p)  # type: ignore[arg-type]
        return pairs

    def needs(self) -> dict[tuple[str, int], float]:
        """Return what in-sync followers fetch per second, by sender and by receiver."""
        needs = {(side, broker): 0.0 for side in ("send", "receive") for broker in self.rate}
        for p in self.partitions:
            for broker in self.fetchers(p):
                needs["send", p.leader] += self.growth(p)  # type: ignore[index]
                needs["receive", broker] += self.growth(p)
        return needs

    def fetchers(self, p: Partition) -> list[int]:
        return [] if p.leader is None else [b for b in p.isr if b in self.up and b != p.leader and b in p.replicas]

    def speeds(self) -> dict[tuple[int, int], float]:
        """Return how fast each pair fetches: all rise together until a broker has no more to give."""
        left = {key: max(0.0, self.rate[key[1]] - need) for key, need in self.needs().items()}
        speed, rising = dict.fromkeys(self.pairs(), 0.0), set(self.pairs())
        while rising:
            counts = {key: sum((pair[0] if key[0] == "send" else pair[1]) == key[1] for pair in rising) for key in left}
            step, tight = min((left[key] / count, key) for key, count in counts.items() if count)
            for pair in rising:
                speed[pair] += step
            for key, count in counts.items():
                left[key] = max(0.0, left[key] - step * count)
            rising = {pair for pair in rising if (pair[0] if tight[0] == "send" else pair[1]) != tight[1]}
        return speed

    def catch_up_times(self) -> Iterator[float]:
        pairs = self.pairs()
        for (leader, follower), speed in self.speeds().items():
            partitions = pairs[leader, follower]
            closing = speed - sum(self.growth(p) for p in partitions)
            if closing > 0:
                yield sum(p.missing.get(follower, 0.0) for p in partitions) / closing

    def pass_time(self, until_ms: int) -> None:
        seconds, speeds, pairs = (until_ms - self.now_ms) / 1000, self.speeds(), self.pairs()
        for p in self.partitions:
            for broker in p.replicas:
                if broker not in p.isr and broker not in p.copying and (p.leader, broker) not in speeds:
                    p.missing[broker] = p.missing.get(broker, 0.0) + self.growth(p) * seconds
        for pair, speed in speeds.items():
            total = sum(p.missing.get(pair[1], 0.0) for p in pairs[pair])
            produced = sum(self.growth(p) for p in pairs[pair])
            for p in self.partitions:
                if p.leader != pair[0] or pair[1] not in p.replicas or pair[1] in p.isr or pair[1] in p.copying:
                    continue
                lacked = p.missing.get(pair[1], 0.0)
                if p not in pairs[pair]:
                    p.missing[pair[1]] = lacked + self.growth(p) * seconds
                elif speed > produced:
                    p.missing[pair[1]] = lacked * max(0.0, 1 - (speed - produced) * seconds / total) if total else 0.0
                elif produced:
                    p.missing[pair[1]] = lacked + self.growth(p) * seconds * (1 - speed / produced)
        if self.next_check_ms is not None and self.next_check_ms < until_ms:
            raise AssertionError
        self.now_ms = until_ms

    def join(self) -> bool:
        something = False
        for p in self.partitions:
            for broker in list(p.following):
                if p.leader is not None and p.missing.get(broker, 0.0) <= BIT:
                    p.following.discard(broker)
                    p.missing.pop(broker, None)
                    p.isr.add(broker)
                    something = True
            self.trim(p)
        return something
