"""The columns underneath an application's state: tasks, partitions and clients as arrays.

Row numbers are the language of the kernels: task *t* is row *t* of `TaskTable`, client *c* row *c* of `ClientTable`,
partition *p* row *p* of `PartitionTable`. Rows of tasks and clients stand in Kafka's order, so a lower row number wins
wherever Kafka breaks a tie by id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from assignors.model.ids import ProcessId, TaskId, TopicPartition

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

NO_RACK = -1
"""Stands in `ClientTable.rack` for a client without `client.rack`."""


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """A list of row numbers for each of N rows: row *i* is `values[offsets[i]:offsets[i + 1]]`."""

    offsets: IntArray  # (N + 1,)
    values: IntArray

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]]) -> Ragged:
        """Pack lists, one a row."""
        lists = list(rows)
        offsets = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in lists], out=offsets[1:])
        flat = [value for row in lists for value in row]
        return cls(offsets, np.array(flat, dtype=np.int64))

    def row(self, index: int) -> IntArray:
        """The values of one row."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def counts(self) -> IntArray:
        """How many values each row has, shape (N,)."""
        return np.diff(self.offsets)

    def sum(self, quantity: npt.NDArray[np.generic]) -> IntArray:
        """Add up, for each row, the rows of `quantity` (shape (P,) or (P, K), counted in int64) that it lists."""
        picked = np.asarray(quantity, dtype=np.int64)[self.values]
        running = np.zeros((len(picked) + 1, *picked.shape[1:]), dtype=np.int64)
        np.cumsum(picked, axis=0, out=running[1:])
        return running[self.offsets[1:]] - running[self.offsets[:-1]]

    def all(self, condition: BoolArray) -> bool:
        """Whether the condition, one per value row, holds for every value listed anywhere."""
        return bool(condition[self.values].all())


@dataclass(frozen=True, slots=True, eq=False)
class PartitionTable:
    """The partitions that tasks read, and the racks in which they have a replica.

    Attributes:
        names: the partitions, in no order that matters (P of them).
        racks: the rack names (R of them), in the order of the columns of `in_rack`.
        in_rack: shape (P, R); whether a replica of the partition stands in the rack.
        located: shape (P,); whether the partition is known, has replicas and each of them has a rack. Kafka turns
            rack-aware assignment off as long as one partition is not.
    """

    names: Sequence[TopicPartition]
    racks: tuple[str, ...]
    in_rack: BoolArray
    located: BoolArray
    _remote: dict[Ragged, IntArray] = field(default_factory=dict, repr=False)

    def remote(self, listed: Ragged) -> IntArray:
        """How many of the partitions that each row lists have no replica in each rack, shape (N, R); read-only.

        It is worked out once: tables stay while a group goes from rebalance to rebalance.
        """
        remote = self._remote.get(listed)
        if remote is None:
            remote = self._remote[listed] = listed.sum(~self.in_rack)
            remote.setflags(write=False)
        return remote


@dataclass(frozen=True, slots=True, eq=False)
class TaskTable:
    """The tasks in Kafka's order (T of them).

    Attributes:
        ids: sorted ids.
        subtopology: shape (T,).
        stateful: shape (T,); whether the task has a store that is logged.
        source: the partitions a task reads, rows of `PartitionTable`.
        changelog: the changelog partitions of its stores.
    """

    ids: tuple[TaskId, ...]
    subtopology: IntArray
    stateful: BoolArray
    source: Ragged
    changelog: Ragged

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True, eq=False)
class ClientTable:
    """The Kafka Streams clients in Kafka's order (C of them).

    Attributes:
        ids: sorted process ids.
        threads: shape (C,); stream threads.
        rack: shape (C,); column of `PartitionTable.in_rack`, or NO_RACK.
        tags: `client.tag.*` of each client.
    """

    ids: tuple[ProcessId, ...]
    threads: IntArray
    rack: IntArray
    tags: tuple[Mapping[str, str], ...]

    def __len__(self) -> int:
        return len(self.ids)
