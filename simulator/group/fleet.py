"""The client processes of a run: which are up, and the number and configs of their latest start."""

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
        up: whether each client is up.
        rack: shape (N,); the column of each client's rack, NO_RACK if unknown.
        announces: shape (N,); whether each client has `client.rack`.
        first_thread: shape (N + 1,); the row of each client's first thread among the threads of all clients.
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
        """Return the row of a client."""
        return self._row_of[client]

    def num_threads(self, row: int) -> int:
        """Return the number of stream threads of a client."""
        return self._clients[row].threads

    def member(self, row: int) -> Member:
        """Return the member of the latest start of a client."""
        return Member(self._clients[row].name, self._starts[row])

    def is_up(self, member: Member) -> bool:
        """Return whether a member is up: its client is up and has not been restarted since."""
        row = self._row_of[member.client]
        return self.up[row] and self._starts[row] == member.start

    def members_up(self) -> set[Member]:
        """Return the members whose clients are up."""
        return {self.member(row) for row, up in enumerate(self.up) if up}

    def start(self, row: int, configs: AssignmentConfigs | None, announces_rack: bool | None) -> Member:
        """Start a client.

        Args:
            row: its row.
            configs: new assignment configs; None to keep the old ones.
            announces_rack: whether it has `client.rack` from now on; None for no change.

        Returns:
            The new member.
        """
        self.up[row] = True
        self._starts[row] += 1
        if configs is not None:
            self._configs[row] = configs
        if announces_rack is not None:
            self.announces[row] = announces_rack
        return self.member(row)

    def stop(self, row: int, *, keeps_disk: bool) -> None:
        """Stop a client; without its disk, its next start gets another process id."""
        self.up[row] = False
        if not (keeps_disk and self._keeps_process_id):
            self._process_ids[row] = _next_process_id(self._process_ids[row])

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
        rows = {self._row_of[member.client] for member in members}
        return np.array(sorted(rows, key=self._process_ids.__getitem__), dtype=np.int64)

    def table(self, rows: IntArray) -> ClientTable:
        """Return what the group leader knows about the given clients."""
        clients = rows.tolist()
        return ClientTable(
            ids=tuple(self._process_ids[row] for row in clients),
            threads=np.array([self._clients[row].threads for row in clients], dtype=np.int64),
            rack=np.where(self.announces[rows], self.rack[rows], NO_RACK),
            tags=tuple(self._clients[row].tags for row in clients),
        )


def _next_process_id(process_id: ProcessId) -> ProcessId:
    """Return a new process id that depends on the old one only."""
    digest = hashlib.sha256(str(process_id).encode()).digest()
    return ProcessId.of(uuid.UUID(bytes=digest[:16], version=4))
