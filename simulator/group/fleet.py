"""The client processes: which are up, in which of their starts, and with which settings."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence

import numpy as np

from assignors.model.columns import NO_RACK, BoolArray, ClientTable, IntArray
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId
from simulator.group.classic_group import Member
from simulator.world.world import World


class Fleet:
    """N client processes, rows in the order of the world.

    Attributes:
        up: whether each is up.
        rack: shape (N,); the column of the rack each stands in, NO_RACK if not known.
        announces: shape (N,); whether each has `client.rack`.
        first_thread: shape (N + 1,); where the threads of each begin among all threads.
    """

    def __init__(self, world: World, racks: Sequence[str]) -> None:
        self._clients = world.clients
        column_of = {rack: column for column, rack in enumerate(racks)}
        self.up = [False for _ in world.clients]
        self.rack: IntArray = np.array(
            [NO_RACK if client.rack is None else column_of[client.rack] for client in world.clients], dtype=np.int64
        )
        self.first_thread: IntArray = np.cumsum([0, *(client.threads for client in world.clients)])
        self._row_of = {client.name: row for row, client in enumerate(world.clients)}
        self._starts = [0 for _ in world.clients]
        self._process_ids = [client.process_id for client in world.clients]
        self.announces: BoolArray = np.array([client.announces_rack for client in world.clients], dtype=np.bool_)
        self._configs = [world.application.assignment_configs for _ in world.clients]
        self._keeps_process_id = any(
            store.persistent for part in world.application.subtopologies for store in part.stores
        )

    def row(self, client: str) -> int:
        """The row of a client."""
        return self._row_of[client]

    def num_threads(self, row: int) -> int:
        """How many stream threads a client has."""
        return self._clients[row].threads

    def member(self, row: int) -> Member:
        """The client as the member of the group that its latest start is."""
        return Member(self._clients[row].name, self._starts[row])

    def is_up(self, member: Member) -> bool:
        """Whether the process that this member stands for is up."""
        row = self._row_of[member.client]
        return self.up[row] and self._starts[row] == member.start

    def members_up(self) -> set[Member]:
        """The clients that are up, as members."""
        return {self.member(row) for row, up in enumerate(self.up) if up}

    def start(self, row: int, configs: AssignmentConfigs | None, announces_rack: bool | None) -> Member:
        """Start a client, with other settings if they are given."""
        self.up[row] = True
        self._starts[row] += 1
        if configs is not None:
            self._configs[row] = configs
        if announces_rack is not None:
            self.announces[row] = announces_rack
        return self.member(row)

    def stop(self, row: int, keeps_state: bool) -> None:
        """Let a client end; without its disk it will be another process for the group."""
        self.up[row] = False
        if not (keeps_state and self._keeps_process_id):
            self._process_ids[row] = _another(self._process_ids[row])

    def set_configs(self, configs: AssignmentConfigs) -> None:
        """Give every client other assignment configs."""
        self._configs = [configs for _ in self._configs]

    def configs(self, row: int) -> AssignmentConfigs:
        """The assignment configs that a client has now; the group's are those of its leader."""
        return self._configs[row]

    def announces_racks(self) -> bool:
        """Whether a client that is up has `client.rack`."""
        return bool((self.announces & np.array(self.up)).any())

    def in_kafkas_order(self, members: Sequence[Member]) -> IntArray:
        """The rows of members, by process id."""
        rows = {self._row_of[member.client] for member in members}
        return np.array(sorted(rows, key=self._process_ids.__getitem__), dtype=np.int64)

    def table(self, rows: IntArray) -> ClientTable:
        """What the group leader learns of these clients."""
        chosen = rows.tolist()
        return ClientTable(
            ids=tuple(self._process_ids[row] for row in chosen),
            threads=np.array([self._clients[row].threads for row in chosen], dtype=np.int64),
            rack=np.where(self.announces[rows], self.rack[rows], NO_RACK),
            tags=tuple(self._clients[row].tags for row in chosen),
        )


def _another(process_id: ProcessId) -> ProcessId:
    """A process id that is as random as the one before, and follows from it."""
    digest = hashlib.sha256(str(process_id).encode()).digest()
    return ProcessId.of(uuid.UUID(bytes=digest[:16], version=4))
