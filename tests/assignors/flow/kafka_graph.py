"""A direct implementation of Kafka's rack-aware graphs and search: the reference for the fast kernels.

Edges are in sorted dictionaries, each pass scans all edges, the search has no early exit, and the dummy node, the
source and the sink are nodes like all others.
Source: ``Graph``, ``MinTrafficGraphConstructor``, ``BalanceSubtopologyGraphConstructor`` of Kafka Streams 4.0-dev.
"""

import math
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise

DUMMY, SOURCE = -2, -1


@dataclass(slots=True)
class Edge:
    """One direction of an edge; `forward` edges carry flow, their counterparts only undo it."""

    cost: int
    residual: int
    flow: int
    forward: bool
    counterpart: "Edge | None" = None

    def push(self, amount: int) -> None:
        for edge, sign in ((self, 1), (self.counterpart, -1)):
            assert edge is not None
            edge.residual -= sign * amount
            if edge.forward:
                edge.flow += sign * amount


@dataclass(slots=True)
class ResidualGraph:
    """`edges[u][v]`; `scans` counts edge scans of cycle searches, `passes` and `cycles` the passes and cycles."""

    sink: int
    edges: dict[int, dict[int, Edge]] = field(default_factory=dict)
    cycles: list[list[int]] = field(default_factory=list)
    passes: int = 0
    scans: int = 0

    def join(self, start: int, end: int, capacity: int, cost: int, flow: int) -> None:
        forward = Edge(cost, capacity - flow, flow, True)
        backward = Edge(-cost, flow, 0, False, forward)
        forward.counterpart = backward
        self.edges.setdefault(start, {})[end] = forward
        self.edges.setdefault(end, {})[start] = backward

    def sort(self) -> None:
        self.edges = {node: dict(sorted(self.edges[node].items())) for node in sorted(self.edges)}

    def maximize_flow(self) -> int:
        """Push along breadth-first paths until there is none; return the flow."""
        while path := self.find_path():
            hops = [self.edges[start][end] for start, end in pairwise(path)]
            amount = min(edge.residual for edge in hops)
            for edge in hops:
                edge.push(amount)
        return sum(edge.flow for edge in self.edges[SOURCE].values())

    def find_path(self) -> list[int]:
        parents: dict[int, int | None] = {SOURCE: None}
        queue = deque([SOURCE])
        while queue:
            node = queue.popleft()
            for end, edge in self.edges[node].items():
                if end in parents or edge.residual <= 0:
                    continue
                parents[end] = node
                if end == self.sink:
                    return trace_back(end, parents)
                queue.append(end)
        return []

    def cancel_cycles(self) -> None:
        """Push around negative cycles, with a new search for each, until a search finds none."""
        self.edges = {DUMMY: {node: Edge(0, 1, 0, True) for node in self.edges}, **self.edges}
        while cycle := self.find_cycle():
            hops = [self.edges[start][end] for start, end in zip(cycle, cycle[1:] + cycle[:1], strict=True)]
            amount = min(edge.residual for edge in hops)
            for edge in hops:
                edge.push(amount)
            self.cycles.append(cycle)
        del self.edges[DUMMY]

    def find_cycle(self) -> list[int]:
        """Return the nodes of a cycle along its edges, by Bellman-Ford from the dummy node; empty if there is none."""
        parents: dict[int, int] = {}
        node: int | None = self.relax_all(parents)
        if node is None:
            return []
        seen: set[int] = set()
        while node not in seen:
            seen.add(node)
            node = parents[node]
        cycle = [node]
        while (above := parents[cycle[-1]]) != node:
            cycle.append(above)
        return cycle[::-1]

    def relax_all(self, parents: dict[int, int]) -> int | None:
        distances = {DUMMY: 0}
        count = len(self.edges)
        for number in range(count):
            self.passes += 1
            for start, ends in self.edges.items():
                for end, edge in ends.items():
                    self.scans += 1
                    if edge.residual == 0 or start not in distances:
                        continue
                    distance = distances[start] + edge.cost
                    if end not in distances or distances[end] > distance:
                        distances[end] = distance
                        parents[end] = start
                        if number == count - 1:
                            return end
        return None


def trace_back(end: int, parents: dict[int, int | None]) -> list[int]:
    path = [end]
    while (above := parents[path[-1]]) is not None:
        path.append(above)
    return path[::-1]


def build_min_traffic(costs: list[list[int]], owner: list[int]) -> ResidualGraph:
    """Return the graph of `min_traffic` with the current assignment as its flow."""
    tasks, clients = len(costs), len(costs[0])
    graph = ResidualGraph(sink=tasks + clients)
    for task in range(tasks):
        for client in range(clients):
            graph.join(task, tasks + client, 1, costs[task][client], int(owner[task] == client))
        graph.join(SOURCE, task, 1, 0, 1)
    for client in range(clients):
        graph.join(tasks + client, graph.sink, owner.count(client), 0, owner.count(client))
    graph.sort()
    return graph


def build_balance_subtopology(
    costs: list[list[int]], owner: list[int], group: list[int], num_groups: int
) -> ResidualGraph:
    """Return the graph of `balance_subtopology` without flow; `num_groups` includes subtopologies without tasks."""
    tasks, clients = len(costs), len(costs[0])
    graph = ResidualGraph(sink=tasks + clients * num_groups + clients)
    for number in range(num_groups):
        members = [task for task in range(tasks) if group[task] == number]
        for client in range(clients):
            first_stage, second_stage = tasks + clients * number + client, tasks + clients * num_groups + client
            for task in members:
                graph.join(task, first_stage, 1, costs[task][client], 0)
            if members:
                share = math.ceil(owner.count(client) * 1.0 / tasks * len(members))
                graph.join(first_stage, second_stage, share, 0, 0)
    for task in range(tasks):
        graph.join(SOURCE, task, 1, 0, 0)
    for client in range(clients):
        graph.join(tasks + clients * num_groups + client, graph.sink, owner.count(client), 0, 0)
    graph.sort()
    return graph


def read_owners(graph: ResidualGraph, tasks: int, clients: int, group: list[int]) -> list[int]:
    """Return the client that receives each task's flow."""
    owners = []
    for task in range(tasks):
        (stage,) = [end for end, edge in graph.edges[task].items() if edge.forward and edge.flow > 0]
        owners.append(stage - tasks - clients * group[task])
    return owners


def solve_min_traffic(costs: list[list[int]], owner: list[int]) -> tuple[list[int], ResidualGraph]:
    graph = build_min_traffic(costs, owner)
    graph.cancel_cycles()
    return read_owners(graph, len(costs), len(costs[0]), [0] * len(costs)), graph


def solve_balance_subtopology(
    costs: list[list[int]], owner: list[int], group: list[int], num_groups: int
) -> tuple[list[int], ResidualGraph]:
    graph = build_balance_subtopology(costs, owner, group, num_groups)
    assert graph.maximize_flow() == len(costs)
    graph.cancel_cycles()
    return read_owners(graph, len(costs), len(costs[0]), group), graph
