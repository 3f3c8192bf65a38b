"""The client processes of a run: which are up, their stream threads, and the configs of their latest start."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from assignors.model.columns import NO_RACK, BoolArray, ClientTable, ConsumerUpdate, IntArray
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId
from simulator.group.member import Member
from simulator.world.thread_ends import num_thread_numbers
from simulator.world.world import GroupConfigs, World


class Fleet:
    """N client processes, rows in the order of the world, and their stream threads.

    A member of the group has a *slot* of its client, which assignments name as its thread. The slot of a running thread
    is its number. A dynamic member whose thread has ended, but which is still in the group, gets a slot of its own,
    since another thread may start with its number.

    Attributes:
        up: whether each client is up.
        running: shape (N, K + 1); which slots have a running thread; the last column, for all slots from K on, is
            False.
        rack: shape (N,); the column of each client's rack, NO_RACK if unknown.
        announces: shape (N,); whether each client has `client.rack`.
        reports_task_offsets: shape (N,); whether each client reports task offsets to a streams group.
        upgraded_to: the Kafka release to which each client was upgraded; empty if it was not.
        consumers: what the consumers of each client have of their own.
        first_thread: shape (N + 1,); the row of each client's first thread among the threads that all clients ever
            have.
    """

    def __init__(self, world: World, racks: Sequence[str]) -> None:
        self._clients = world.clients
        self._is_consumer_group = world.application.is_consumer_group
        self.consumers = [client.consumer for client in world.clients]
        self._trigger: int | None = None
        column_of = {rack: column for column, rack in enumerate(racks)}
        self.up = [False for _ in world.clients]
        self.rack: IntArray = np.array(
            [NO_RACK if client.rack is None else column_of[client.rack] for client in world.clients], dtype=np.int64
        )
        self._capacity = num_thread_numbers(world)
        self.first_thread: IntArray = np.cumsum([0, *self._capacity])
        self.running: BoolArray = np.zeros((len(world.clients), max(self._capacity, default=0) + 1), dtype=np.bool_)
        self._threads: list[dict[int, Member]] = [{} for _ in world.clients]
        self._kafka_order: list[int] | None = None
        self._slots: dict[Member, int] = {}
        self._next_slot = [max(self._capacity, default=0) for _ in world.clients]
        self._row_of = {client.name: row for row, client in enumerate(world.clients)}
        self._starts = [0 for _ in world.clients]
        self._process_ids = [client.process_id for client in world.clients]
        self.announces: BoolArray = np.array([client.announces_rack for client in world.clients], dtype=np.bool_)
        reports = world.application.group_configs.reports_task_offsets
        self.reports_task_offsets: BoolArray = np.full(len(world.clients), reports, dtype=np.bool_)
        self.upgraded_to = ["" for _ in world.clients]
        self._configs = [world.application.assignment_configs for _ in world.clients]
        self._keeps_process_id = any(
            store.persistent for part in world.application.subtopologies for store in part.stores
        )

    def row(self, client: str) -> int:
        """Return the row of a client."""
        return self._row_of[client]

    def first_process_id(self, client: str) -> ProcessId:
        """Return the process id that a client had when the run began."""
        return self._clients[self._row_of[client]].process_id

    def announcement(self, row: int) -> tuple[ProcessId, bool]:
        """Return what the members of a client announce of it: its process id, and whether it has `client.rack`."""
        return self._process_ids[row], bool(self.announces[row])

    def members(self, row: int) -> tuple[Member, ...]:
        """Return the members of the running threads of a client, by thread."""
        threads = self._threads[row]
        return tuple(threads[number] for number in sorted(threads))

    def member(self, row: int, thread: int) -> Member | None:
        """Return the member of a running thread of a client, None if it does not run."""
        return self._threads[row].get(thread)

    def oldest_member(self, row: int) -> Member:
        """Return the member of the running thread of a client that started first."""
        return next(iter(self._threads[row].values()))

    def is_up(self, member: Member) -> bool:
        """Return whether the thread of a member runs."""
        return self._threads[self._row_of[member[0]]].get(member[2]) == member

    def members_up(self) -> set[Member]:
        """Return the members whose threads run."""
        return {member for threads in self._threads for member in threads.values()}

    def slot(self, member: Member) -> int:
        """Return the slot of a member."""
        return self._slots.get(member, member.thread)

    def slots(self, members: Iterable[Member]) -> Mapping[int, tuple[int, ...]]:
        """Return the slots of members by the row of their client, ascending."""
        slots: dict[str, list[int]] = {}
        slot_of = self._slots
        for member in members:
            client, _, thread = member
            number = slot_of.get(member, thread) if slot_of else thread
            if client in slots:
                slots[client].append(number)
            else:
                slots[client] = [number]
        row_of = self._row_of
        return {row_of[client]: tuple(sorted(numbers)) for client, numbers in slots.items()}

    def start(
        self,
        row: int,
        configs: AssignmentConfigs | None,
        announces_rack: bool | None,
        release: str | None = None,
        group_configs: GroupConfigs | None = None,
        consumer: ConsumerUpdate | None = None,
    ) -> tuple[Member, ...]:
        """Start a client with `num.stream.threads` threads.

        Args:
            row: its row.
            configs: new assignment configs; None to keep the old ones.
            announces_rack: whether it has `client.rack` from now on; None for no change.
            release: its new Kafka release; None for no change.
            group_configs: the group configs with that release; None for no change.
            consumer: the new configs of its consumers; None for no change.

        Returns:
            The new members, by thread.
        """
        self.up[row] = True
        self._starts[row] += 1
        for thread in range(self._clients[row].threads):
            self._start_thread(row, thread)
        if configs is not None:
            self._configs[row] = configs
        if announces_rack is not None:
            self.announces[row] = announces_rack
        if release is not None:
            self.upgraded_to[row] = release
        if group_configs is not None:
            self.reports_task_offsets[row] = group_configs.reports_task_offsets
        if consumer is not None:
            self.consumers[row] = consumer.apply_to(self.consumers[row])
        return self.members(row)

    def note_trigger(self, member: Member | None) -> None:
        """Note the member whose request triggers the next target of a group; None for a timer."""
        if self._trigger is not None:
            self.consumers[self._trigger] = replace(self.consumers[self._trigger], triggers_target=False)
        self._trigger = row = None if member is None else self.row(member.client)
        if row is not None:
            self.consumers[row] = replace(self.consumers[row], triggers_target=True)

    def start_thread(self, row: int) -> Member:
        """Start another thread of a running client, with the lowest free number (`KafkaStreams.nextThreadIndex`)."""
        self._starts[row] += 1
        threads = self._threads[row]
        return self._start_thread(row, next(number for number in range(len(threads) + 1) if number not in threads))

    def _start_thread(self, row: int, thread: int) -> Member:
        member = Member(self._clients[row].name, self._starts[row], thread)
        self._threads[row][thread] = member
        self.running[row, thread] = True
        return member

    def stop_thread(self, member: Member) -> None:
        """End the thread of a member."""
        row = self._row_of[member.client]
        del self._threads[row][member.thread]
        self.running[row, member.thread] = False
        if not self._clients[row].is_static:
            self._slots[member] = self._next_slot[row]
            self._next_slot[row] += 1

    def stop(self, row: int, *, keeps_disk: bool) -> None:
        """Stop a client; without its disk, its next start gets another process id."""
        for member in self.members(row):
            self.stop_thread(member)
        self.up[row] = False
        if not (keeps_disk and self._keeps_process_id):
            self._process_ids[row] = _next_process_id(self._process_ids[row])
            self._kafka_order = None

    def set_configs(self, configs: AssignmentConfigs) -> None:
        """Set the assignment configs of every client."""
        self._configs = [configs for _ in self._configs]

    def configs(self, row: int) -> AssignmentConfigs:
        """Return the current assignment configs of a client; a group uses those of its leader."""
        return self._configs[row]

    def announces_racks(self) -> bool:
        """Return whether any client that is up has `client.rack`."""
        return bool((self.announces & np.array(self.up)).any())

    def in_kafka_order(self, members: Sequence[Member]) -> IntArray:
        """Return the rows of members, by process id."""
        rows = {self._row_of[client] for client in {member.client for member in members}}
        if self._kafka_order is None:
            self._kafka_order = sorted(range(len(self._process_ids)), key=self._process_ids.__getitem__)
        return np.array([row for row in self._kafka_order if row in rows], dtype=np.int64)

    def table(self, rows: IntArray, slots: Mapping[int, Sequence[int]] | None = None) -> ClientTable:
        """Return what the group leader knows about the given clients.

        Args:
            rows: the clients.
            slots: the members of each client; None for `num.stream.threads` members. A client has as many threads as
                members (`StreamsPartitionAssignor.ClientMetadata.consumers`).
        """
        clients = rows.tolist()
        threads = [self._clients[row].threads if slots is None else len(slots[row]) for row in clients]
        return ClientTable(
            ids=tuple(self._process_ids[row] for row in clients),
            threads=np.array(threads, dtype=np.int64),
            rack=np.where(self.announces[rows], self.rack[rows], NO_RACK),
            tags=tuple(self._clients[row].tags for row in clients),
            instance_ids=tuple(self._clients[row].name if self._clients[row].is_static else None for row in clients),
            consumers=tuple(self.consumers[row] for row in clients) if self._is_consumer_group else (),
        )


def _next_process_id(process_id: ProcessId) -> ProcessId:
    """Return a new process id that depends on the old one only."""
    digest = hashlib.sha256(str(process_id).encode()).digest()
    return ProcessId.of(uuid.UUID(bytes=digest[:16], version=4))
