"""The coordinator of a streams group (KIP-1071), without a clock: its answer to each heartbeat, and when it acts.

A group of the consumer protocol (KIP-848) works in the same way, without copies and processes.

The group has an epoch, which rises when members join, leave or change, and when its assignment configs change. The
target assignment has the epoch of the group for which it was computed: the next heartbeat of any member computes it,
unless the last one is younger than the assignment interval. The first members of an empty group wait until a timer
computes it.

Each member has the tasks that the coordinator has assigned to it. On the way to its target, it first revokes what is
not in the target: it keeps its epoch until it has reported that (`UNREVOKED`). Then it gets what no other member has,
and waits for the rest (`UNRELEASED`), which each of its heartbeats requests again.

Releases differ: `Rules`. `tests/group_histories` compares this with the released coordinators.

Source: `GroupMetadataManager.streamsGroupHeartbeat`, `.maybeUpdateStreamsTargetAssignment`, `.streamsGroupFenceMember`
of `org.apache.kafka.coordinator.group`, `CurrentAssignmentBuilder` and `StreamsGroup` of its package `streams`,
Kafka 4.1.2, 4.2.2, 4.3.1 and 4.4.0; `CurrentAssignmentBuilder` of its package `modern.consumer`,
`GroupMetadataManager.classicGroupHeartbeatToConsumerGroup`, `.convertToConsumerGroup`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, Generic, NamedTuple, TypeVar

Task = Hashable
M = TypeVar("M", bound=Hashable)
"""What identifies a member."""
ACTIVE, STANDBY, WARMUP = range(3)
CLOSES = -2
"""The epoch of a static member that has closed and may come back."""


class Tasks(NamedTuple):
    """The tasks of a member, by role."""

    active: frozenset[Task] = frozenset()
    standby: frozenset[Task] = frozenset()
    warmup: frozenset[Task] = frozenset()

    def __or__(self, other: Tasks) -> Tasks:
        """Return the tasks of both, role by role."""
        return Tasks(*(mine | others for mine, others in zip(self, other, strict=True)))

    def overlaps(self, other: Tasks) -> bool:
        """Return whether both have a task in the same role."""
        return any(mine & others for mine, others in zip(self, other, strict=True))


NO_TASKS = Tasks()


@dataclass(frozen=True, slots=True)
class Rules:
    """What differs between releases.

    Attributes:
        first_epoch: the epoch of a new group.
        has_initial_delay: whether the first members of an empty group wait for others.
        has_assignment_interval: whether targets have a minimum distance in time.
        sees_configs: whether a change of assignment configs raises the epoch.
        hides_broker_configs: whether a dynamic config of the group replaces all others of the broker by their defaults.
        keeps_promoted: whether a member that gets another role of a task keeps the former role until then.
        forgets_target_time: whether the assignment interval begins anew when the last member is removed.
        loses_hash: whether the removal of a member deletes the hash of the metadata of topics, so that the first
            heartbeat at another broker seems to see other partitions.
        refines: whether members go towards a refinement of the target, which the coordinator keeps if warm-ups are
            allowed. Kafka 4.4.0 refines nothing, but when it refuses a member whose instance id another one has, that
            one loses its kept tasks.
        passes_assigned: whether the assignor gets the tasks that members have, or those of the last target.
    """

    first_epoch: int
    has_initial_delay: bool
    has_assignment_interval: bool
    sees_configs: bool
    hides_broker_configs: bool
    keeps_promoted: bool
    forgets_target_time: bool
    loses_hash: bool
    refines: bool
    passes_assigned: bool

    @classmethod
    def of_consumer_group(cls) -> Rules:
        """Return the rules of a group of the consumer protocol."""
        return replace(cls.of((4, 1)), has_assignment_interval=True, hides_broker_configs=False, loses_hash=False)

    @classmethod
    def of(cls, release: tuple[int, int]) -> Rules:
        """Return the rules of a minor release."""
        return cls(
            first_epoch=1 if release >= (4, 2) else 0,
            has_initial_delay=release >= (4, 2),
            has_assignment_interval=release >= (4, 3),
            sees_configs=release >= (4, 2),
            hides_broker_configs=release < (4, 3),
            keeps_promoted=release >= (4, 4),
            forgets_target_time=release >= (4, 4),
            loses_hash=release < (4, 2),
            refines=release >= (4, 4),
            passes_assigned=release >= (4, 4),
        )


@dataclass(frozen=True, slots=True)
class Configs:
    """The configs of a group, with Kafka's defaults.

    Attributes:
        initial_delay_ms: `group.streams.initial.rebalance.delay.ms`.
        assignment_interval_ms: `group.streams.assignment.interval.ms`.
        session_timeout_ms: `group.streams.session.timeout.ms`.
        num_standby_replicas: `group.streams.num.standby.replicas`.
        heartbeat_interval_ms: `group.streams.heartbeat.interval.ms`, which members learn with each answer.
        num_warmup_replicas: `group.streams.num.warmup.replicas`.
        rack_aware_assignment_tags: `group.streams.rack.aware.assignment.tags`.
    """

    initial_delay_ms: int = 3_000
    assignment_interval_ms: int = 1_000
    session_timeout_ms: int = 45_000
    num_standby_replicas: int = 0
    heartbeat_interval_ms: int = 5_000
    num_warmup_replicas: int = 2
    rack_aware_assignment_tags: str = ""

    @property
    def of_assignments(self) -> tuple[int, str]:
        """Return those that the assignor reads, a change of which raises the epoch of the group."""
        return self.num_standby_replicas, self.rack_aware_assignment_tags


class State(Enum):
    """How far a member is on the way to its target."""

    STABLE = auto()
    UNREVOKED = auto()
    UNRELEASED = auto()


@dataclass(slots=True)
class CoordinatedMember:
    """A member of the group.

    Attributes:
        identity: what else it announces, a change of which raises the epoch of the group.
        rack: its rack; None if it announces none.
        topology_epoch: the epoch of its topology.
        instance: its instance id; None for a dynamic member.
        rebalance_timeout_ms: how long it may need to revoke tasks.
        epoch: the epoch of the target for which it has its tasks; `CLOSES` if it is static and has closed.
        assigned: the tasks that it has, or gets.
    """

    process: Hashable
    identity: Hashable = None
    instance: Hashable = None
    rebalance_timeout_ms: int = 300_000
    epoch: int = 0
    state: State = State.STABLE
    assigned: Tasks = NO_TASKS
    revoking: Tasks = NO_TASKS
    rack: Hashable = None
    topology_epoch: int = 0

    def replaces_unchanged(self, former: CoordinatedMember) -> bool:
        """Return whether a static member differs in nothing that raises the epoch of the group from a former one.

        If it announces no rack, it keeps the former one's (`StreamsGroupMember.Builder.maybeUpdateRackId`).
        """
        is_same = self.process == former.process and self.identity == former.identity
        return is_same and self.topology_epoch == former.topology_epoch and self.rack in (None, former.rack)


class UnreleasedInstanceError(Exception):
    """Another member has the instance id and has not closed (`UNRELEASED_INSTANCE_ID`)."""


class LaterTopologyError(Exception):
    """A member has a later topology than the group, which no release updates (`INVALID_REQUEST`)."""


class Timer(NamedTuple):
    """What the coordinator does later unless a timer with the same key is started or canceled before.

    Attributes:
        key: `initial`, or `session` or `rebalance` with a member.
        at_ms: when; None cancels the timer.
    """

    key: tuple[str, Hashable]
    at_ms: int | None


@dataclass(frozen=True, slots=True)
class Event:
    """What the coordinator has written to its log.

    Attributes:
        kind: `removed`, `epoch` or `target`.
        member: the removed member.
        epoch: the epoch of the group, or of the target.
    """

    kind: str
    member: Hashable = None
    epoch: int = 0


@dataclass(slots=True)
class StreamsCoordinator(Generic[M]):
    """A streams group.

    Attributes:
        rules: those of the broker's release.
        assign: computes the target of each member.
        configs: those of the group, now.
        epoch: the epoch of the group.
        members: the members in the order in which they joined.
        timers: timers that were started or canceled since they were last taken.
        events: what was written since it was last taken.
        is_delayed: whether the first members wait for others.
        is_configured: whether a heartbeat has configured the topology since the group was read from its log.
        topology_epoch: the epoch of the topology of its first member, which it keeps; None if it had no member yet.
    """

    rules: Rules
    assign: Callable[[Mapping[M, CoordinatedMember]], Mapping[M, Tasks]]
    configs: Configs = Configs()
    epoch: int = 0
    target_epoch: int = 0
    members: dict[M, CoordinatedMember] = field(default_factory=dict)
    targets: dict[M, Tasks] = field(default_factory=dict)
    timers: list[Timer] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    is_delayed: bool = False
    is_configured: bool = False
    topology_epoch: int | None = None
    _broker_configs: Configs = field(init=False)
    _group_configs: dict[str, Any] | None = None
    _targeted_at_ms: int | None = None
    _assignment_configs: tuple[int, str] | None = None
    _exists: bool = False
    _has_other_partitions: bool = False
    _has_hash: bool = True
    _checks_hash: bool = False  # Each heartbeat does until one raises the epoch, after the group was read from its log.
    _instances: dict[Hashable, M] = field(default_factory=dict)
    _refined: tuple[int, dict[M, Tasks]] = (-1, {})
    _active: dict[Task, Hashable] = field(default_factory=dict)
    _copies: tuple[dict[Task, set[Hashable]], dict[Task, set[Hashable]]] = field(default_factory=lambda: ({}, {}))

    def __post_init__(self) -> None:
        self._broker_configs = self.configs

    def configure(self, **configs: int | str | None) -> None:
        """Set dynamic configs of the group, or remove those that are None.

        The next heartbeat detects other configs of assignments, and begins a session with another timeout.
        """
        merged = {**(self._group_configs or {}), **configs}
        self._group_configs = {name: value for name, value in merged.items() if value is not None}
        self._apply_configs()

    def _apply_configs(self) -> None:
        """Compute the configs; what hides those of the broker does so even when no config is left."""
        hides = self.rules.hides_broker_configs and self._group_configs is not None
        self.configs = replace(Configs() if hides else self._broker_configs, **(self._group_configs or {}))

    def note_partitions(self) -> None:
        """Note that a source topic has other partitions, which the next heartbeat detects."""
        self._has_other_partitions = self._exists

    @property
    def has_unknown_partitions(self) -> bool:
        """Return whether no heartbeat has detected yet that a source topic has other partitions."""
        return self._has_other_partitions

    def has_instance(self, instance: Hashable) -> bool:
        """Return whether a member has an instance id."""
        return instance in self._instances

    def member_with(self, instance: Hashable) -> M | None:
        """Return the member that has an instance id; None if no member has it."""
        return self._instances.get(instance)

    def is_at_target(self, member: M) -> bool:
        """Return whether a member has its target, and has learned of the last one."""
        one = self.members[member]
        return one.state is State.STABLE and one.epoch == self.target_epoch

    def is_settled(self, member: M) -> bool:
        """Return whether heartbeats change nothing of a member's tasks, because it has its target."""
        one = self.members[member]
        return one.state is State.STABLE and (
            one.epoch == self.target_epoch or self.targets.get(member, NO_TASKS) == one.assigned
        )

    def has_to_rejoin(self, member: M) -> bool:
        """Return whether a member of the classic protocol has to rejoin, which its heartbeats answer."""
        one = self.members[member]
        if one.state is State.UNRELEASED and one.epoch == self.target_epoch:
            missing = self.targets.get(member, NO_TASKS).active - one.assigned.active
            return missing.isdisjoint(self._active)
        return not self.is_at_target(member)

    @property
    def is_due(self) -> bool:
        """Return whether a target is due."""
        has_changed = self.target_epoch < self.epoch or self._sees_other_partitions or self._has_other_configs
        return has_changed and bool(self.members)

    def due_from_ms(self) -> int | None:
        """Return from when on the next heartbeat of any member raises the epoch, or computes a target; None if none."""
        if not self.is_due:
            return None
        if self._sees_other_partitions or self._has_other_configs:
            return 0
        if self.is_delayed:
            return None
        return 0 if self._targeted_at_ms is None else self._targeted_at_ms + self._interval_ms

    @property
    def _sees_other_partitions(self) -> bool:
        """Return whether the next heartbeat finds another hash of the metadata of topics than the log has."""
        return self._has_other_partitions or (self._checks_hash and not self._has_hash)

    @property
    def _has_other_configs(self) -> bool:
        return self.rules.sees_configs and self._assignment_configs != self.configs.of_assignments

    @property
    def num_standby_replicas(self) -> int:
        """Return the number of standbys of a target: from 4.2 on, the one that the last heartbeat has detected."""
        if self._assignment_configs is None or not self.rules.sees_configs:
            return self.configs.num_standby_replicas
        return self._assignment_configs[0]

    @property
    def _interval_ms(self) -> int:
        return self.configs.assignment_interval_ms if self.rules.has_assignment_interval else 0

    def resume(self, members: Mapping[M, CoordinatedMember], epoch: int) -> None:
        """Continue with members that are assigned their target, and the epoch of that."""
        self._exists = self.is_configured = True
        self.epoch = self.target_epoch = epoch
        self._assignment_configs = self.configs.of_assignments
        for name, member in members.items():
            self.members[name], self.targets[name], member.epoch = member, member.assigned, epoch
            self._count(member, 1)
            if member.instance is not None:
                self._instances[member.instance] = name

    def reload(self, rules: Rules, configs: Configs, now_ms: int) -> None:
        """Continue on another broker, which has read the group from its log.

        All sessions begin anew, and the time that members have to revoke tasks.
        """
        self.rules, self._broker_configs = rules, configs
        self._apply_configs()
        self.is_configured = self.is_delayed = False
        self._checks_hash = True
        self._refined = -1, {}
        self.timers.append(Timer(("initial", None), None))
        for name, member in self.members.items():
            ends_ms = now_ms + member.rebalance_timeout_ms if member.state is State.UNREVOKED else None
            self.timers.append(Timer(("session", name), now_ms + self.configs.session_timeout_ms))
            self.timers.append(Timer(("rebalance", name), ends_ms))

    def hold(self) -> None:
        """Compute no target before `end_initial_delay`, although the release does not wait for other members."""
        self.is_delayed = True

    def assign_all(self) -> None:
        """Assign all members their target, as if they had revoked and released everything."""
        for name, member in self.members.items():
            self._count(member, -1)
            member.state, member.epoch, member.revoking = State.STABLE, self.target_epoch, NO_TASKS
            member.assigned = self.targets.get(name, NO_TASKS)
            self._count(member, 1)

    def refine(self, now_ms: int) -> None:
        """Compute a target now that no member's change has triggered."""
        self._raise_epoch()
        self._compute(now_ms)

    def join(self, member: M, new: CoordinatedMember, now_ms: int) -> Tasks:
        """Process the first heartbeat of a member.

        `new`: what it announces. Returns the tasks that it is to have. Raises UnreleasedInstanceError if another member
        has its instance id, and LaterTopologyError if its topology is a later one than that of the group.
        """
        is_new_group = not self._exists
        if is_new_group:
            self._exists, self.epoch = True, self.rules.first_epoch
        was_empty = not self.members
        before = None if new.instance is None else self._instances.get(new.instance)
        self._keep_for(member, before)
        if before is not None and self.members[before].epoch != CLOSES:
            raise UnreleasedInstanceError
        if self.topology_epoch is None:
            self.topology_epoch = new.topology_epoch
        elif new.topology_epoch > self.topology_epoch:
            raise LaterTopologyError
        if before is None:
            self.members[member] = new
            raises_epoch = True
        else:
            raises_epoch = self._replace(before, member, new)
        if new.instance is not None:
            self._instances[new.instance] = member
        self.is_configured = not is_new_group
        tasks = self._heartbeat(member, NO_TASKS, now_ms, raises_epoch=raises_epoch, was_empty=was_empty)
        self._checks_hash |= is_new_group
        return self.members[member].assigned if tasks is None else tasks

    def fence(self, member: M, instance: Hashable) -> None:
        """Refuse a heartbeat of a member whose instance id another member has by now."""
        self._keep_for(member, self._instances.get(instance))

    def _keep_for(self, member: M, before: M | None) -> None:
        """Keep for a member what was kept for another one with its instance id, even if the member is then refused."""
        if before is not None and before in self._refined[1]:
            kept = self._refined[1]
            self._refined = self._refined[0], {member if key == before else key: kept[key] for key in kept}

    def _replace(self, before: M, member: M, new: CoordinatedMember) -> bool:
        """Let a static member take the place of the one with its instance id; return whether it differs."""
        former = self.members[before]
        is_same, new.rack = new.replaces_unchanged(former), new.rack or former.rack
        self.members = {member if key == before else key: value for key, value in self.members.items()}
        self._count(former, -1)
        self.members[member] = new
        new.assigned, new.state = former.assigned, former.state
        self._count(new, 1)
        self.targets[member] = self.targets.pop(before, NO_TASKS)
        self._cancel(before)
        self.events.append(Event("removed", before))
        return not is_same

    def heartbeat(self, member: M, owned: Tasks | None, now_ms: int) -> Tasks | None:
        """Process a heartbeat.

        `owned`: the tasks that it has, if it reports them. Returns the tasks that it is to have; None for no change.
        """
        self.is_configured = True
        return self._heartbeat(member, owned, now_ms, raises_epoch=False, was_empty=False)

    def _heartbeat(
        self, member: M, owned: Tasks | None, now_ms: int, *, raises_epoch: bool, was_empty: bool
    ) -> Tasks | None:
        one = self.members[member]
        was_stable = self.rules.refines and self._is_stable
        raises_epoch |= self._has_other_configs or self._sees_other_partitions
        self._has_hash |= self._sees_other_partitions
        self._has_other_partitions = False
        if raises_epoch:
            self._checks_hash = False
            was_stable, self._assignment_configs = False, self.configs.of_assignments
            self._raise_epoch()
        if was_stable and self.targets.get(member, NO_TASKS) != one.assigned:
            self._raise_epoch()
            self._note_target()
        if was_empty and self.rules.has_initial_delay and self.configs.initial_delay_ms > 0 and not self.is_delayed:
            self.is_delayed = True
            self.timers.append(Timer(("initial", None), now_ms + self.configs.initial_delay_ms))
        if not self.is_delayed:
            self._compute_if_due(now_ms)
        before = one.assigned
        target = self._refined_target(member, is_fresh=was_stable)
        if one.state is not State.STABLE or one.epoch != self.target_epoch:
            self._reconcile(member, one, target, owned, now_ms)
        self.timers.append(Timer(("session", member), now_ms + self.configs.session_timeout_ms))
        return None if one.assigned == before else one.assigned

    @property
    def _is_stable(self) -> bool:
        """Return whether all members have reached the last target."""
        if not self.members or self.epoch > self.target_epoch:
            return False
        return all(one.state is State.STABLE and one.epoch == self.target_epoch for one in self.members.values())

    def _refined_target(self, member: M, *, is_fresh: bool) -> Tasks:
        """Return towards which tasks a member goes."""
        targets: Mapping[M, Tasks] = {} if self.is_delayed else self.targets
        if self.rules.refines:
            if not is_fresh and self._refined[0] == self.target_epoch:
                targets = self._refined[1]
            elif self.configs.num_warmup_replicas:
                self._refined = self.target_epoch, dict(targets)
        return targets.get(member, NO_TASKS)

    def end_initial_delay(self, now_ms: int) -> None:
        """Process the timer `initial`.

        Kafka configures the topology in the first heartbeat, and loses that as it creates the group from its log:
        before another heartbeat, it computes no target.
        """
        self.is_delayed = False
        if self.members and (self.is_configured or not self.rules.has_initial_delay):
            self._compute_if_due(now_ms)

    def _compute_if_due(self, now_ms: int) -> None:
        is_early = self._targeted_at_ms is not None and now_ms < self._targeted_at_ms + self._interval_ms
        if not is_early and self.target_epoch < self.epoch:
            self._compute(now_ms)

    def _compute(self, now_ms: int) -> None:
        self.targets = dict(self.assign(self.members))
        self._targeted_at_ms = now_ms
        self._note_target()

    def _note_target(self) -> None:
        self.target_epoch = self.epoch
        self.events.append(Event("target", epoch=self.epoch))

    def close(self, member: M) -> None:
        """Let a static member close: it keeps its tasks until its session times out, or another one replaces it."""
        one = self.members[member]
        self._count(one, -1)
        one.epoch, one.revoking = CLOSES, NO_TASKS
        self._count(one, 1)

    def end_rebalance(self, member: M) -> None:
        """Process the timer `rebalance`: remove a member that has not revoked in time, unless it has closed."""
        if self.members[member].epoch != CLOSES:
            self.remove(member)

    def remove(self, member: M) -> None:
        """Remove a member that leaves, or whose session has timed out."""
        one = self.members.pop(member)
        self._count(one, -1)
        self.targets.pop(member, None)
        if one.instance is not None and self._instances.get(one.instance) == member:
            del self._instances[one.instance]
        self._cancel(member)
        self._has_hash &= not self.rules.loses_hash
        self.events.append(Event("removed", member))
        self._raise_epoch()
        if not self.members and self.rules.forgets_target_time:
            self._targeted_at_ms = None
            self._note_target()

    def _cancel(self, member: M) -> None:
        self.timers += [Timer(("session", member), None), Timer(("rebalance", member), None)]

    def _raise_epoch(self) -> None:
        self.epoch += 1
        self.events.append(Event("epoch", epoch=self.epoch))

    def _count(self, member: CoordinatedMember, change: int) -> None:
        """Note that a member gets, or loses, its tasks and those that it revokes.

        The coordinator counts no copies: if two members of a process have one, and one loses it, the process counts as
        without it until the other one changes (`StreamsGroup.removeTaskProcessIdsFromSet`).
        """
        process = member.process
        for tasks in (member.assigned, member.revoking):
            for task in tasks.active:
                if change > 0:
                    self._active[task] = process
                else:
                    self._active.pop(task, None)
            for copies, role in zip(self._copies, tasks[STANDBY:], strict=True):
                for task in role:
                    processes = copies.setdefault(task, set())
                    (processes.add if change > 0 else processes.discard)(process)

    def _has_copy(self, role: int, task: Task, process: Hashable) -> bool:
        return process in self._copies[role - 1].get(task, ())

    def _reconcile(self, name: M, member: CoordinatedMember, target: Tasks, owned: Tasks | None, now_ms: int) -> None:
        """Take a member as far towards its target as it can go."""
        epoch = member.epoch
        if member.state is State.UNREVOKED:
            if owned is None or owned.overlaps(member.revoking):
                return
            epoch += 1
        former = (member.epoch, member.state, member.assigned, member.revoking)
        has = member.assigned
        kept = [mine & wanted for mine, wanted in zip(has, target, strict=True)]
        revoking = [mine - wanted for mine, wanted in zip(has, target, strict=True)]
        gets, waits = [], False
        for role, (wanted, mine) in enumerate(zip(target, kept, strict=True)):
            missing = wanted - mine
            free = frozenset(task for task in missing if not self._is_unreleased(role, task, member))
            waits |= free != missing
            gets.append(free)
        if self.rules.keeps_promoted:
            self._change_roles(has, target, kept, revoking, gets, owned)
        revokes = Tasks(*revoking)
        if any(revokes) and (owned is None or owned.overlaps(revokes)):
            current = (epoch, State.UNREVOKED, Tasks(*kept), revokes)
        else:
            state = State.UNRELEASED if waits else State.STABLE
            current = (self.target_epoch, state, Tasks(*kept) | Tasks(*gets), NO_TASKS)
        if current == former:
            return
        self._count(member, -1)
        member.epoch, member.state, member.assigned, member.revoking = current
        self._count(member, 1)
        at_ms = now_ms + member.rebalance_timeout_ms if member.state is State.UNREVOKED else None
        self.timers.append(Timer(("rebalance", name), at_ms))

    def _is_unreleased(self, role: int, task: Task, member: CoordinatedMember) -> bool:
        """Return whether a task cannot be given yet, because another member of the process or the active one has it."""
        process, has = member.process, member.assigned
        runs_here = self._active.get(task, _NOBODY) == process
        copies = [self._has_copy(other, task, process) for other in (STANDBY, WARMUP)]
        if self.rules.keeps_promoted:
            # Its own copy is no obstacle: it changes the role.
            for other in (STANDBY, WARMUP):
                if role != other and task in has[other]:
                    copies[other - 1] = False
            if role == STANDBY and task in has.active:
                runs_here = False
        if role == ACTIVE:
            return task in self._active or any(copies)
        return runs_here or any(copies)

    def _change_roles(
        self,
        has: Tasks,
        target: Tasks,
        kept: list[frozenset[Task]],
        revoking: list[frozenset[Task]],
        gets: list[frozenset[Task]],
        owned: Tasks | None,
    ) -> None:
        """Let a member keep the copy of a task whose role changes (from 4.4 on)."""

        def grant(role: int, tasks: Iterable[Task]) -> frozenset[Task]:
            now = gets[role] & frozenset(tasks)
            gets[role] -= now
            kept[role] |= now
            return now

        grant(STANDBY, has.active)
        revoking[STANDBY] -= grant(WARMUP, has.standby)
        revoking[WARMUP] -= grant(STANDBY, has.warmup)
        promoted = [has[role] & target.active for role in (STANDBY, WARMUP)]
        for role, tasks in zip((STANDBY, WARMUP), promoted, strict=True):
            revoking[role] -= tasks
        revokes = Tasks(*revoking)
        has_to_revoke = any(revokes) and (owned is None or owned.overlaps(revokes))
        for role, tasks in zip((STANDBY, WARMUP), promoted, strict=True):
            kept[role] |= tasks if has_to_revoke else tasks - gets[ACTIVE]


_NOBODY = object()
