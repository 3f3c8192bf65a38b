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
from simulator.world.world import Topic, World, topics_written_by

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
    caught_up_ms: dict[int, int] = field(default_factory=dict)
    target: list[int] | None = None
    added: set[int] = field(default_factory=set)
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
        self.factor, self.hour = 1.0, None  # type: float, int | None
        self.lag_ms = world.cluster.replica_lag_time_max_ms
        self.written = set(topics_written_by(world.application.subtopologies)) if world.application.acks_all else set()
        phases = random_stream(world.seed, "isr_checks").integers(self.lag_ms // 2, size=len(self.rate))
        self.isr_phase = {broker.id: int(phase) for broker, phase in zip(world.cluster.brokers, phases, strict=True)}
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
        topic, number = partition.topic, partition.name.partition
        is_hourly = self.hour is not None and topic.hourly_bytes_per_s
        return self.factor * (topic.hourly_bytes_per_s[self.hour] if is_hourly else topic.bytes_per_s)[number]

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
        moments += [float(self.next_isr_check_ms(p, broker)) for p in self.partitions for broker in self.leaving(p)]
        if self.next_check_ms is not None:
            moments.append(float(self.next_check_ms))
        return min((moment for moment in moments if moment > self.now_ms), default=math.inf)

    # What happens at a moment.

    def happen(self) -> None:
        now, down = self.now_ms, {stay.broker for stay in self.stays if stay.from_ms <= self.now_ms < stay.until_ms}
        for moment in self.changes():
            if isinstance(moment, TrafficChange):
                self.factor, self.hour = moment.factor, moment.hour
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
        for p in self.partitions:
            self.shrink(p)
        self.lag()
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
        self.isr_phase[broker] = self.now_ms % (self.lag_ms // 2)
        for p in self.partitions:
            if broker not in p.replicas:
                continue
            if self.controller.keeps_eligible_replicas and broker in self.crashed:
                p.eligible.discard(broker)
            if p.leader is None:
                self.elect(p)
            if broker not in p.isr and broker not in p.copying:
                p.following.add(broker)
            self.complete(p)
        self.crashed.discard(broker)

    def trim(self, p: Partition) -> None:
        """Forget eligible replicas if the ISR is large enough."""
        p.eligible -= p.isr
        if len(p.isr) >= p.topic.min_insync_replicas:
            p.eligible.clear()

    def elect(self, p: Partition) -> None:
        live = [broker for broker in p.replicas if broker in self.up and broker not in p.copying]
        in_isr = [broker for broker in live if broker in p.isr]
        if in_isr:
            self.lead(p, in_isr[0])
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
        if choices[0] not in p.eligible:
            p.eligible.clear()  # The election is unclean.
        self.lead(p, choices[0])
        p.isr = {choices[0]}
        p.eligible.discard(choices[0])
        p.following = set(live) - {choices[0]}

    def lead(self, p: Partition, broker: int) -> None:
        """Let a broker lead: what it does not have is lost, and it dates the replicas that lag from now on."""
        if broker != p.last_leader:
            p.caught_up_ms = dict.fromkeys(p.replicas, self.now_ms)
        p.leader = p.last_leader = broker
        p.following.discard(broker)
        ahead = p.missing.pop(broker, 0.0)
        p.missing = {other: max(0.0, bytes_ - ahead) for other, bytes_ in p.missing.items()}

    def check(self) -> None:
        interval = self.controller.check_interval_ms
        assert interval is not None
        for p in self.partitions:
            if p.election is LeaderElection.AUTO:
                self.elect_preferred(p)
        stays_due = self.controller.checks_periodically or self.is_imbalanced()
        self.next_check_ms = self.now_ms + interval if stays_due else None

    def elect_preferred(self, p: Partition) -> None:
        first = p.replicas[0] if p.replicas else None
        if first in p.isr and first in self.up and first != p.leader and p.leader is not None:
            self.lead(p, first)

    def begin(self, plan: Reassignment) -> None:
        changed = []
        for name, target in plan.targets:
            p = self.of[name]
            for _, others in self.plans:
                others[:] = [other for other in others if other is not p]
            new = [broker for broker in target if broker not in p.replicas]
            p.replicas = [*target, *sorted(broker for broker in p.replicas if broker not in target)]
            p.target, p.election = list(target), plan.election
            p.added = (p.added | set(new)) & set(target)
            p.copying |= set(new)
            changed.append(p)
            self.complete(p)
        self.plans.append((plan, changed))

    # Copies take no time without a throttle.

    def copy(self) -> bool:
        something = False
        for p in self.partitions:
            for broker in [b for b in p.copying if b in self.up and p.leader is not None]:
                p.copying.discard(broker)
                p.isr.add(broker)
                self.trim(p)
                self.complete(p)
                something = True
        for plan, changed in list(self.plans):
            if all(p.target is None for p in changed):
                self.plans.remove((plan, changed))
                if plan.election is LeaderElection.AT_END:
                    for p in changed:
                        self.elect_preferred(p)
        return something

    def complete(self, p: Partition) -> None:
        """Reduce the replicas to the target, if the new ones are in the ISR, and all if it has to be all."""
        if p.target is None:
            return
        target, removed = set(p.target), set(p.replicas) - set(p.target)
        needs_all = self.controller.waits_for_kept_replicas or len(p.added) < len(removed)
        is_ready = p.isr & target and p.added <= p.isr and (target <= p.isr or not needs_all)
        if not is_ready and (p.added or removed):
            return
        p.replicas, p.target, p.added = p.target, None, set()
        p.isr -= removed
        p.copying.clear()
        p.eligible -= removed
        p.following -= removed
        for broker in removed:
            p.missing.pop(broker, None)
        if p.leader not in p.replicas:
            self.elect(p)

    # Replicas that lag, in the ISR or out of it.

    def pairs(self) -> dict[tuple[int, int], list[Partition]]:
        """Return which partitions each follower fetches from each leader to catch up."""
        pairs: dict[tuple[int, int], list[Partition]] = {}
        for p in self.partitions:
            for broker in p.following if p.leader is not None else ():
                pairs.setdefault((p.leader, broker), []).append(p)  # type: ignore[arg-type]
        return pairs

    def keeping_up(self) -> dict[tuple[int, int], list[Partition]]:
        """Return which partitions each follower fetches from each leader as they are produced."""
        pairs: dict[tuple[int, int], list[Partition]] = {}
        for p in self.partitions:
            for broker in [] if p.leader is None else p.isr & self.up & set(p.replicas) - p.following - {p.leader}:
                pairs.setdefault((p.leader, broker), []).append(p)  # type: ignore[arg-type]
        return pairs

    def shares(self) -> dict[tuple[int, int], float]:
        """Return how much each pair may fetch: all rise together until they need no more, or a broker is full."""
        lagging, keeping = self.pairs(), self.keeping_up()
        needs = {pair: math.fsum(map(self.growth, partitions)) for pair, partitions in keeping.items()}
        needs.update(dict.fromkeys(lagging, math.inf))
        left = {(side, broker): float(rate) for side in (0, 1) for broker, rate in self.rate.items()}
        share, rising = dict.fromkeys(needs, 0.0), {pair for pair, need in needs.items() if need > 0}
        while rising:
            users = {key: [pair for pair in rising if pair[key[0]] == key[1]] for key in left}
            steps = {key: left[key] / len(pairs) for key, pairs in users.items() if pairs}
            step = min(*steps.values(), *(needs[pair] - share[pair] for pair in rising))
            for pair in rising:
                share[pair] += step
            for key, pairs in users.items():
                left[key] -= step * len(pairs)
            full = {key for key, room in left.items() if room <= 1e-7 * self.rate[key[1]] / 100}
            rising = {
                pair
                for pair in rising
                if share[pair] < needs[pair] * (1 - 1e-12) and not full & {(0, pair[0]), (1, pair[1])}
            }
        return share

    def lag(self) -> None:
        """Let followers lag whose pair may fetch less than is produced for them."""
        shares = self.shares()
        for pair, partitions in self.keeping_up().items():
            if math.fsum(map(self.growth, partitions)) > shares[pair] * (1 + 1e-9):
                for p in partitions:
                    if p.topic.name not in self.written and self.growth(p) > 0:
                        p.following.add(pair[1])
                        p.caught_up_ms[pair[1]] = self.now_ms

    def speeds(self) -> dict[tuple[int, int], float]:
        """Return how fast each pair fetches for the followers that lag: what the others leave of its share."""
        shares, keeping = self.shares(), self.keeping_up()
        return {
            pair: max(0.0, shares[pair] - math.fsum(map(self.growth, keeping.get(pair, ())))) for pair in self.pairs()
        }

    def leaving(self, p: Partition) -> list[int]:
        """Return the replicas that may leave the ISR, those that lack most first."""
        spare = len(p.isr) - p.topic.min_insync_replicas
        if spare <= 0 or p.leader is None:
            return []
        lags = [broker for broker in reversed(p.replicas) if broker in p.isr & p.following]
        return sorted(lags, key=lambda broker: -round(p.missing.get(broker, 0.0) / 1_000))

    def next_isr_check_ms(self, p: Partition, broker: int) -> int:
        """Return when the leader of a partition next checks its ISR with a replica that is late by then."""
        late_ms, interval_ms = p.caught_up_ms[broker] + self.lag_ms, self.lag_ms // 2
        at_ms = self.isr_phase[p.leader]  # type: ignore[index]
        while at_ms <= max(late_ms, self.now_ms):
            at_ms += interval_ms
        return at_ms

    def shrink(self, p: Partition) -> None:
        """Remove replicas that lag for too long from an ISR if its leader checks it now."""
        if p.leader is None or (self.now_ms - self.isr_phase[p.leader]) % (self.lag_ms // 2):
            return
        late = [broker for broker in self.leaving(p) if self.now_ms - p.caught_up_ms[broker] > self.lag_ms]
        p.isr -= set(late[: max(0, len(p.isr) - p.topic.min_insync_replicas)])

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
                behind = broker not in p.isr and broker not in p.copying
                if behind and not (broker in p.following and p.leader is not None):
                    p.missing[broker] = p.missing.get(broker, 0.0) + self.growth(p) * seconds
        for pair, speed in speeds.items():
            total = sum(p.missing.get(pair[1], 0.0) for p in pairs[pair])
            produced = sum(self.growth(p) for p in pairs[pair])
            for p in pairs[pair]:
                lacked = p.missing.get(pair[1], 0.0)
                if speed > produced:
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
                    self.trim(p)
                    self.complete(p)
                    something = True
        return something
