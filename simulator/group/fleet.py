"""The client processes of a run: which are up, their stream threads, and the configs of their latest start."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assignors.model.columns import NO_RACK, BoolArray, ClientTable, ConsumerUpdate, IntArray
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId
from simulator.group.member import Member, Place
from simulator.world.group_configs import GroupConfigs
from simulator.world.leave_on_close import num_thread_numbers
from simulator.world.world import World


@dataclass(frozen=True, slots=True, eq=False)
class GroupProcesses:
    """The C processes of a group's members, by process id: the columns of an assignor's input.

    Attributes:
        rows: shape (C,); the row of the client, or N and more for the former processes of clients.
        clients: shape (C,); the row of the client.
        slots: the slots of the members of each process by its row, ascending.
        former: the rows of the members of former processes.
        clients_of_former: the client of each former process, by row from N on.
        num_clients: N.
    """

    rows: IntArray
    clients: IntArray
    ids: tuple[ProcessId, ...]
    slots: Mapping[int, tuple[int, ...]]
    former: Mapping[Member, int]
    clients_of_former: tuple[int, ...]
    num_clients: int

    @property
    def num_rows(self) -> int:
        """Return the number of clients and former processes."""
        return self.num_clients + len(self.clients_of_former)


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
        locks_tasks: whether any store is persistent. Then a stateful task is open on one thread of a client only, and
            clients keep their process ids (`StateDirectory.lock`, `.initializeProcessId`).
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
        self._ended_in: dict[Member, ProcessId] = {}
        self._row_of = {client.name: row for row, client in enumerate(world.clients)}
        self._starts = [0 for _ in world.clients]
        self._process_ids = [client.process_id for client in world.clients]
        self.announces: BoolArray = np.array([client.announces_rack for client in world.clients], dtype=np.bool_)
        reports = world.application.group_configs.reports_task_offsets
        self.reports_task_offsets: BoolArray = np.full(len(world.clients), reports, dtype=np.bool_)
        self.upgraded_to = ["" for _ in world.clients]
        self._configs = [world.application.assignment_configs for _ in world.clients]
        self.locks_tasks = any(store.persistent for part in world.application.subtopologies for store in part.stores)

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

    def places(self, members: Iterable[Member], former: Mapping[Member, int] | None = None) -> dict[Member, Place]:
        """Return the places of members, those of former processes in the rows that are given for them."""
        if not former:
            return {member: (self._row_of[member.client], self.slot(member)) for member in members}
        return {member: (former.get(member, self._row_of[member.client]), self.slot(member)) for member in members}

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

        `configs`: new assignment configs; None to keep the old ones. `announces_rack` says whether it has `client.rack`
        from now on; None for no change. `release`: its new Kafka release; None for no change. `group_configs`: the
        group configs with that release; None for no change. `consumer`: the new configs of its consumers; None for no
        change. Returns the new members, by thread.
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
        self._ended_in[member] = self._process_ids[row]
        if not self._clients[row].is_static:
            self._slots[member] = self._next_slot[row]
            self._next_slot[row] += 1

    def stop(self, row: int, *, keeps_disk: bool) -> None:
        """Stop a client; without its disk, its next start gets another process id."""
        for member in self.members(row):
            self.stop_thread(member)
        self.up[row] = False
        if not (keeps_disk and self.locks_tasks):
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

    def processes(self, members: Collection[Member], *, separates_former: bool = False) -> GroupProcesses:
        """Return the processes of members.

        `separates_former` says whether members that a client left in the group when it lost its process id are a
        process of their own, as for the coordinator of a streams group. If not, they count as the client's.
        """
        former = self._former(members) if separates_former and not self._is_consumer_group else {}
        num_clients, row_of, slot_of = len(self._clients), self._row_of, self._slots
        row_of_process: dict[tuple[int, ProcessId], int] = {}
        row_of_former: dict[Member, int] = {}
        slots: dict[int, list[int]] = {}
        for member in members:
            client, _, thread = member
            row = row_of[client]
            if former and member in former:
                row = row_of_process.setdefault((row, former[member]), num_clients + len(row_of_process))
                row_of_former[member] = row
            number = slot_of.get(member, thread) if slot_of else thread
            if row in slots:
                slots[row].append(number)
            else:
                slots[row] = [number]
        if self._kafka_order is None:
            self._kafka_order = sorted(range(num_clients), key=self._process_ids.__getitem__)
        found = [(self._process_ids[row], row, row) for row in self._kafka_order if row in slots]
        if row_of_process:
            found += [(process_id, row, client) for (client, process_id), row in row_of_process.items()]
            found.sort()
        return GroupProcesses(
            rows=np.array([row for _, row, _ in found], dtype=np.int64),
            clients=np.array([client for _, _, client in found], dtype=np.int64),
            ids=tuple(process_id for process_id, _, _ in found),
            slots={row: tuple(sorted(numbers)) for row, numbers in slots.items()},
            former=row_of_former,
            clients_of_former=tuple(client for client, _ in row_of_process),
            num_clients=num_clients,
        )

    def _former(self, members: Collection[Member]) -> dict[Member, ProcessId]:
        """Return those members whose client has another process id by now, with the one that they had."""
        ended_in, current, row_of = self._ended_in, self._process_ids, self._row_of
        ended = [member for member in members if member in ended_in]
        return {member: ended_in[member] for member in ended if ended_in[member] != current[row_of[member.client]]}

    def table(self, processes: GroupProcesses) -> ClientTable:
        """Return what the assignor of a group knows about processes.

        A process has as many threads as members (`StreamsPartitionAssignor.ClientMetadata.consumers`).
        """
        clients = processes.clients.tolist()
        return ClientTable(
            ids=processes.ids,
            threads=np.array([len(processes.slots[row]) for row in processes.rows.tolist()], dtype=np.int64),
            rack=np.where(self.announces[processes.clients], self.rack[processes.clients], NO_RACK),
            tags=tuple(self._clients[row].tags for row in clients),
            instance_ids=tuple(self._clients[row].name if self._clients[row].is_static else None for row in clients),
            consumers=tuple(self.consumers[row] for row in clients) if self._is_consumer_group else (),
        )


def _next_process_id(process_id: ProcessId) -> ProcessId:
    """Return a new process id that depends on the old one only."""
    digest = hashlib.sha256(str(process_id).encode()).digest()
    return ProcessId.of(uuid.UUID(bytes=digest[:16], version=4))
