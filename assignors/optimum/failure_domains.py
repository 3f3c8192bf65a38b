"""The failure domains of clients, which copies of a task should not share: racks, or values of the configured tags."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import NO_RACK, BoolArray, IntArray
from assignors.model.state import ApplicationState

NO_DOMAIN = NO_RACK
"""Domain of a client without rack or tag; it shares no domain with another client."""


def failure_domains(state: ApplicationState) -> IntArray:
    """Return the domain of each client for each key.

    The result has shape (K, C): number of the client's value for each tag of `rack.aware.assignment.tags`, or of its
    rack if no tag is configured; NO_DOMAIN if it has none. Keys with the same value for all clients are omitted.
    """
    keys = state.assignment_configs.rack_aware_assignment_tags
    if keys:
        rows = [_numbered([tags.get(key) for tags in state.clients.tags]) for key in sorted(set(keys))]
    else:
        rows = [state.clients.rack]
    distinct = [domain_of for domain_of in rows if len(np.unique(domain_of[domain_of != NO_DOMAIN])) > 1]
    return np.array(distinct, dtype=np.int64).reshape(len(distinct), len(state.clients))


def _numbered(values: list[str | None]) -> IntArray:
    number = {
        value: domain_of for domain_of, value in enumerate(sorted({value for value in values if value is not None}))
    }
    return np.array([NO_DOMAIN if value is None else number[value] for value in values], dtype=np.int64)


def count_colocations(domains: IntArray, held: BoolArray) -> int:
    """Return how many copies share a domain with an earlier copy of the same task, summed over keys.

    `domains`: result of `failure_domains`. `held`, shape (N, C): clients with a copy of each task in either role.
    """
    total = 0
    for domain_of in domains:
        for value in range(int(domain_of.max(initial=NO_DOMAIN)) + 1):
            total += int(np.maximum(held[:, domain_of == value].sum(axis=1) - 1, 0).sum())
    return total


def group_by_domains(domains: IntArray) -> IntArray:
    """Return a number for each client that it shares with the clients in the same domains.

    A client without domain gets its own number. If no two copies of a task share a domain, no two share a number.
    `domains`: result of `failure_domains`. The result has shape (C,): cell of each client.
    """
    num_clients = domains.shape[1]
    own = np.where((domains == NO_DOMAIN).all(axis=0), np.arange(num_clients), NO_DOMAIN)
    _, cell = np.unique(np.vstack([domains, own]), axis=1, return_inverse=True)
    return cell.reshape(-1).astype(np.int64)
