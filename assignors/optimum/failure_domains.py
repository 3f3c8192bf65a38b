"""Where the copies of a task should be apart: clients by rack, or by the values of the tags that are configured."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.model.state import ApplicationState

NO_DOMAIN = -1
"""Stands for a client without rack or tag: it is never in one place with another."""


def places(state: ApplicationState) -> IntArray:
    """Where each client is, by each key.

    Returns:
        Shape (K, C); the number of the client's tag value by each tag of `rack.aware.assignment.tags`, or of its rack
        if none is configured; NO_VALUE where it has none. Keys by which all clients are in one place are left out.
    """
    keys = state.assignment_configs.rack_aware_assignment_tags
    if keys:
        rows = [_numbered([tags.get(key) for tags in state.clients.tags]) for key in sorted(set(keys))]
    else:
        rows = [state.clients.rack]
    kept = [row for row in rows if len(np.unique(row[row != NO_DOMAIN])) > 1]
    return np.array(kept, dtype=np.int64).reshape(len(kept), len(state.clients))


def _numbered(values: list[str | None]) -> IntArray:
    number = {value: row for row, value in enumerate(sorted({value for value in values if value is not None}))}
    return np.array([NO_DOMAIN if value is None else number[value] for value in values], dtype=np.int64)


def repeats(where: IntArray, held: BoolArray) -> int:
    """How many copies are where a copy of the same task is already, by each key.

    Args:
        where: as of `places`.
        held: shape (N, C); which clients have which task in either role.
    """
    total = 0
    for row in where:
        for value in range(int(row.max(initial=NO_DOMAIN)) + 1):
            total += int(np.maximum(held[:, row == value].sum(axis=1) - 1, 0).sum())
    return total


def cells(where: IntArray) -> IntArray:
    """Number clients so that those of one number are in one place by every key; those in no place are on their own.

    If no two copies of a task are in one place, no two are in one cell.
    """
    num_clients = where.shape[1]
    own = np.where((where == NO_DOMAIN).all(axis=0), np.arange(num_clients), NO_DOMAIN)
    _, cell = np.unique(np.vstack([where, own]), axis=1, return_inverse=True)
    return cell.reshape(-1).astype(np.int64)
