"""Kafka's ConstrainedPrioritySet: clients by (load, process id); the first that satisfies a condition is removed.

Loads are read at each comparison and change while clients are in the set. The heap is then temporarily out of order,
which can decide the next client. So Java's heap is reproduced, and so is the order of the hash set from which skipped
clients are inserted again. Functions from `enter_all` on are kernels (`assignors.compilation`).

Source: KIP-441, `ConstrainedPrioritySet`.
"""

from __future__ import annotations

from typing import NamedTuple

from assignors.compilation import Kernels, Vector
from assignors.java.hash_order import DEFAULT_CAPACITY, MIN_TREEIFY_CAPACITY, bucket, process_hash, table_capacity
from assignors.java.priority_queue import Heap, is_less, new_heap, offer, poll, remove
from assignors.tasks.task_placement import TaskPlacement

NO_CLIENT = -1


class PrioritySet(NamedTuple):
    """The set, changed in place; `passed`, `hashes_passed`, `ordered` and `bins` are scratch."""

    heap: Heap
    hashes: Vector
    """[client] hash of its process id"""
    inside: Vector
    """[client] 1 if it is in the set"""
    wanted: Vector
    """[client] 1 if it satisfies the condition of the next `take`"""
    drained: Vector
    """[1] 1 if skipping all clients once more changes nothing"""
    passed: Vector
    hashes_passed: Vector
    ordered: Vector
    bins: Vector


def empty_set(kernels: Kernels, placement: TaskPlacement) -> PrioritySet:
    """Return an empty set for all clients with their loads; `enter_all` fills it."""
    num_clients = len(placement.threads)
    loads = [placement.assigned_load(client) for client in range(num_clients)]
    zeros = kernels.zeros
    return PrioritySet(
        heap=new_heap(kernels, loads, list(range(num_clients))),
        hashes=kernels.vector([process_hash(client) for client in placement.state.clients.ids]),
        inside=zeros(num_clients),
        wanted=zeros(num_clients),
        drained=zeros(1),
        passed=zeros(num_clients),
        hashes_passed=zeros(num_clients),
        ordered=zeros(num_clients),
        bins=zeros(max(4 * num_clients, MIN_TREEIFY_CAPACITY) + 1),
    )


def enter_all(clients: PrioritySet) -> None:
    """Insert all clients into an empty set."""
    for client in range(len(clients.inside)):
        enter(clients, client)


def take(clients: PrioritySet) -> int:
    """Remove and return the first client that satisfies the condition.

    Clients before it are removed and inserted again, which changes the heap. If all came out in the order of their
    keys, the resulting heap depends only on the keys, so repeating this with unchanged keys is skipped.

    Returns:
        The client, or NO_CLIENT.
    """
    if clients.drained[0] == 1 and not is_any_inside(clients):
        return NO_CLIENT
    heap = clients.heap
    num_passed = 0
    ascending = 1
    taken = NO_CLIENT
    while taken == NO_CLIENT and heap.size[0] > 0:
        client = poll(heap)
        if clients.wanted[client] == 1:
            taken = client
            clients.inside[client] = 0
        else:
            if num_passed > 0 and is_less(heap, client, clients.passed[num_passed - 1]):
                ascending = 0
            clients.passed[num_passed] = client
            num_passed += 1
    insert_passed(clients, num_passed)
    clients.drained[0] = ascending if taken == NO_CLIENT else 0
    return taken


def is_any_inside(clients: PrioritySet) -> bool:
    """Return whether a client that satisfies the condition is in the set."""
    for client in range(len(clients.wanted)):  # noqa: SIM110
        if clients.wanted[client] == 1 and clients.inside[client] == 1:
            return True
    return False


def insert_passed(clients: PrioritySet, number: int) -> None:
    """Insert the skipped clients again, in the order of a hash set that is filled with them."""
    bins = clients.bins
    for position in range(number):
        clients.hashes_passed[position] = clients.hashes[clients.passed[position]]
    capacity = table_capacity(clients.hashes_passed, number, DEFAULT_CAPACITY, bins)
    for slot in range(capacity + 1):
        bins[slot] = 0
    for position in range(number):
        bins[bucket(clients.hashes_passed[position], capacity) + 1] += 1
    for slot in range(capacity):
        bins[slot + 1] += bins[slot]
    for position in range(number):
        slot = bucket(clients.hashes_passed[position], capacity)
        clients.ordered[bins[slot]] = clients.passed[position]
        bins[slot] += 1
    for position in range(number):
        offer(clients.heap, clients.ordered[position])


def update_two(clients: PrioritySet, client: int, load: float, other: int, other_load: float) -> None:
    """Update the loads of two clients and insert them again, one after the other."""
    clients.heap.major[client] = load
    clients.heap.major[other] = other_load
    enter(clients, client)
    enter(clients, other)
    clients.drained[0] = 0


def enter(clients: PrioritySet, client: int) -> None:
    """Insert a client; remove it first if it is in the set."""
    if clients.inside[client] == 1:
        remove(clients.heap, client)
    clients.inside[client] = 1
    offer(clients.heap, client)
