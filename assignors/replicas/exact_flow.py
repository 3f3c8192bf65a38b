"""Fewest moves to even replica and leader counts under rack constraints, with a proof.

The most even leaders for given replicas: a unit of flow is the leadership of a partition. It goes from the partition to
one of its replicas and on to a sink that requires even counts. To balance the leaders of each topic, it passes a node
for the broker and the topic.

First followers keep leader counts most even if any broker is down: the first follower of each of its partitions then
becomes leader. The followers of one broker's partitions do not affect those of another's, so the problem separates by
leader.

Tables have shape (P, W), as `NormalizedProblem.held`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from assignors.flow.min_cost import MAX_COST, Arcs, min_cost_flow
from assignors.model.columns import IntArray, is_among
from assignors.replicas.normalized_problem import NUM_TIE_BREAKERS, NormalizedProblem
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.replica_flow import (
    CountRange,
    ReplicaPlacement,
    TopicShares,
    convex_cost_arcs,
    new_pairs,
    place,
    replica_copy_costs,
    sink_demands,
    widening_ranges,
)
from assignors.replicas.state import NO_BROKER, ClusterState


@dataclass(frozen=True, slots=True, eq=False)
class LeaderAssignment:
    """The leader of each partition.

    Attributes:
        broker: shape (P,); indices in `NormalizedProblem.brokers`.
        changed: the number of partitions whose preferred leader changes.
    """

    broker: IntArray
    changed: int


def assign_leaders(problem: NormalizedProblem, replicas: IntArray, per_topic: bool = False) -> LeaderAssignment:
    """Find the most even leaders with the fewest changes of the preferred leader, `NormalizedProblem.held[:, 0]`.

    `problem`: the current replicas. `replicas`, shape (P, W): the planned replicas. `per_topic` says whether to balance
    the leaders of each topic before those of all topics. Returns the leaders, and the number of changes. Raises
    ValueError if a partition has no replica that may lead it.
    """
    if not (replicas != NO_BROKER).any(axis=1).all():
        raise ValueError("a partition has no replica on an allowed broker")
    held = np.bincount(replicas[replicas != NO_BROKER], minlength=problem.num_brokers)
    min_topic_cost = _ideal_topic_cost(problem) if per_topic else 0
    is_bound_exact = not per_topic
    for count_range in widening_ranges(problem.num_partitions, problem.num_brokers, int(held.min())):
        network = _LeaderNetwork(problem, replicas, per_topic, count_range)
        flows = min_cost_flow(network.arcs, network.supply)
        if flows is None:
            continue
        if network.topic_cost(flows) > min_topic_cost and not is_bound_exact:
            min_topic_cost, is_bound_exact = _LeaderNetwork(problem, replicas, per_topic, None).min_topic_cost(), True
        if network.topic_cost(flows) == min_topic_cost:
            return network.leaders(flows)
    raise ValueError("no feasible assignment of leaders exists")


def _ideal_topic_cost(problem: NormalizedProblem) -> int:
    """Return the unevenness of topic leaders (see `_LeaderNetwork.topic_cost`) if any broker may lead any partition."""
    low, more = np.divmod(np.bincount(problem.topic), problem.num_brokers)
    return int((problem.num_brokers * (low * (low - 1) // 2) + more * low).sum())


class _LeaderNetwork:
    """The flow network for one range of leader counts; without a range, leader counts are not limited."""

    def __init__(
        self, problem: NormalizedProblem, replicas: IntArray, per_topic: bool, count_range: CountRange | None
    ) -> None:
        self.problem, self.count_range = problem, count_range
        self.partition, position = np.nonzero(replicas != NO_BROKER)
        self.broker = replicas[self.partition, position]
        self.shares = TopicShares.of(problem, self.partition, self.broker) if per_topic else TopicShares.none()
        self.first_broker = problem.num_partitions + len(self.shares)
        self.num_nodes = self.first_broker + problem.num_brokers + 2
        cost, step, topic_step = self._costs()
        topic_cost = self.shares.arcs(problem.num_partitions, self.first_broker, topic_step)
        self.arcs = Arcs.joined(self._arcs_to_leaders(cost), topic_cost, self._arcs_to_sinks(step))
        self.supply = np.zeros(self.num_nodes, dtype=np.int64)
        self.supply[: problem.num_partitions] = 1
        self.supply[-2:] = sink_demands(problem.num_partitions, problem.num_brokers, count_range or CountRange(0, 1))

    def leaders(self, flows: IntArray) -> LeaderAssignment:
        """Return the leaders of a flow."""
        taken = flows[: len(self.broker)] > 0
        broker = np.empty(self.problem.num_partitions, dtype=np.int64)
        broker[self.partition[taken]] = self.broker[taken]
        return LeaderAssignment(broker, int((broker != self.problem.held[:, 0]).sum()))

    def topic_cost(self, flows: IntArray) -> int:
        """Return the unevenness of topic leaders; 0 if topics are not balanced."""
        return int((flows[len(self.broker) :][: len(self.shares.steps)] * self.shares.steps).sum())

    def min_topic_cost(self) -> int:
        """Return the lowest possible unevenness of topic leaders.

        Raises ValueError if no feasible assignment of leaders exists.
        """
        flows = min_cost_flow(self.arcs, self.supply)
        if flows is None:
            raise ValueError("no feasible assignment of leaders exists")
        return self.topic_cost(flows)

    def _arcs_to_leaders(self, cost: IntArray) -> Arcs:
        """Return arcs from partitions to their possible leaders, or to the leaders' nodes of the topics."""
        to_share = self.problem.num_partitions + self.shares.of_pair
        head = to_share if len(to_share) else self.first_broker + self.broker
        return Arcs(self.partition, head, np.ones(len(head), dtype=np.int64), cost)

    def _arcs_to_sinks(self, step: int) -> Arcs:
        brokers = self.first_broker + np.arange(self.problem.num_brokers)
        ones = np.ones(len(brokers), dtype=np.int64)
        if self.count_range is None:
            free = ones * self.problem.num_partitions
            return Arcs(brokers, np.full(len(brokers), self.num_nodes - 1), free, np.zeros(len(brokers), np.int64))
        return convex_cost_arcs(brokers, ones, self.count_range, (self.num_nodes - 2, self.num_nodes - 1), step)

    def _costs(self) -> tuple[IntArray, int, int]:
        """Return the costs of arcs from partitions, and the cost steps of brokers and of topics.

        Ties are only broken if the costs fit.
        """
        width = 0 if self.count_range is None else self.count_range.most - self.count_range.least
        for ties in (NUM_TIE_BREAKERS, 0):
            step, topic_step = self._steps(ties, width)
            if max(step * width, topic_step * int(self.shares.counts.max(initial=0))) * self.num_nodes < MAX_COST:
                break
        return self._change_costs(ties), step, topic_step

    def _steps(self, ties: int, width: int) -> tuple[int, int]:
        """Return a cost above all changes together, and one above all changes and the unevenness of brokers."""
        partitions = self.problem.num_partitions
        all_changes = (ties * partitions + 1 + ties) * partitions
        step = all_changes + 1 if width > 1 else 0
        return step, all_changes + step * width * partitions + 1

    def _change_costs(self, ties: int) -> IntArray:
        """Return the costs of arcs from partitions.

        If the preferred leader must change, the current leader is cheapest, then brokers that already hold a replica.
        """
        problem = self.problem
        changes = self.broker != problem.held[self.partition, 0]
        cost = np.where(changes, ties * problem.num_partitions + 1, 0)
        if ties:
            tie = 1 + problem.ties(self.partition, self.broker, ties // 2)
            has_data = (self.broker[:, None] == problem.held[self.partition]).any(axis=1)
            tie = np.where(self.broker == problem.leader[self.partition], 0, np.where(has_data, tie, ties))
            cost += np.where(changes, tie, 0)
        return cost


def keep_order(problem: NormalizedProblem, pairs: IntArray) -> IntArray:
    """Return the replicas in order: kept replicas keep their positions; added ones fill the gaps first, then the end.

    `pairs`: the wanted replicas, as sorted pairs (partition * brokers + broker).
    """
    width = int(problem.factors.max(initial=0))
    old = np.full((problem.num_partitions, max(width, problem.held.shape[1])), NO_BROKER, dtype=np.int64)
    old[:, : problem.held.shape[1]] = problem.held
    pair = np.arange(problem.num_partitions)[:, None] * problem.num_brokers + old
    is_kept = (old != NO_BROKER) & is_among(pair, pairs)
    table = np.where(is_kept, old, NO_BROKER)
    partition, broker = np.divmod(new_pairs(pairs, problem.held_pairs), problem.num_brokers)
    rank_in_partition = np.arange(len(partition)) - np.searchsorted(partition, partition)
    gaps_first = np.argsort(is_kept, axis=1, kind="stable")
    table[partition, gaps_first[partition, rank_in_partition]] = broker
    replicas_first = np.argsort(table == NO_BROKER, axis=1, kind="stable")
    return np.take_along_axis(table, replicas_first, axis=1)[:, :width]


def swap_to_position(table: IntArray, position: int, broker: IntArray) -> IntArray:
    """Swap the given broker of each partition with the broker at a position; NO_BROKER leaves a partition unchanged."""
    rows = np.flatnonzero(broker != NO_BROKER)
    if not len(rows):
        return table
    current_position = (table[rows] == broker[rows, None]).argmax(axis=1)
    changed = table.copy()
    changed[rows, current_position] = table[rows, position]
    changed[rows, position] = broker[rows]
    return changed


class _FollowerChoices(NamedTuple):
    """The possible first followers: one entry per follower of each partition with a choice, sorted by partition.

    Attributes:
        broker: the follower.
        pair: the number of the pair of leader and follower.
        level: by pair, the minimum number of partitions that the follower leads if the leader is down.
        cost: the cost of this follower as first follower.
        step: the cost of one more partition led by a broker; higher than the cost of all changes together.
    """

    partition: IntArray
    broker: IntArray
    pair: IntArray
    level: IntArray
    cost: IntArray
    step: int


def choose_first_followers(problem: NormalizedProblem, table: IntArray) -> IntArray:
    """Choose the first follower of each partition.

    `problem`: the current replicas. `table`, shape (P, W): the planned replicas, the leader first. Returns indices in
    `NormalizedProblem.brokers`, shape (P,); NO_BROKER for a partition without a choice.
    """
    chosen = np.full(len(table), NO_BROKER, dtype=np.int64)
    with_choice = np.flatnonzero((table != NO_BROKER).sum(axis=1) > 2)
    if not len(with_choice):
        return chosen
    choices = _follower_choices(problem, table, with_choice)
    is_contested = np.isin(choices.partition, choices.partition[np.bincount(choices.pair)[choices.pair] > 1])
    contested, others = np.flatnonzero(is_contested), np.flatnonzero(~is_contested)
    leader = table[choices.partition[contested], 0]
    ends = np.cumsum(np.bincount(leader, minlength=problem.num_brokers))
    of_leaders = np.split(contested[np.argsort(leader, kind="stable")], ends[:-1])
    for entries in of_leaders:
        if len(entries):
            taken = entries[_choose_by_flow(choices, entries)]
            chosen[choices.partition[taken]] = choices.broker[taken]
    taken = others[_choose_cheapest(choices, others)]
    chosen[choices.partition[taken]] = choices.broker[taken]
    return chosen


def _follower_choices(problem: NormalizedProblem, table: IntArray, with_choice: IntArray) -> _FollowerChoices:
    brokers = problem.num_brokers
    row, position = np.nonzero(table[with_choice, 1:] != NO_BROKER)
    partition = with_choice[row]
    broker = table[partition, position + 1]
    pairs, pair = np.unique(table[partition, 0] * brokers + broker, return_inverse=True)
    level = _forced_leads(table, brokers, pairs)
    cost_limit = MAX_COST // (len(row) * 3 * (int(level.max()) + len(row)))
    ties = (
        NUM_TIE_BREAKERS
        if (NUM_TIE_BREAKERS * len(with_choice) + NUM_TIE_BREAKERS + 1) * len(with_choice) < cost_limit
        else 0
    )
    tie = problem.ties(partition, broker, ties) if ties else np.zeros(len(row), dtype=np.int64)
    change = ties * len(with_choice) + 1
    return _FollowerChoices(
        partition, broker, pair, level, np.where(position > 0, change + tie, 0), (change + ties) * len(with_choice) + 1
    )


def _forced_leads(table: IntArray, brokers: int, pairs: IntArray) -> IntArray:
    """Return how many partitions each pair's follower certainly leads if the leader is down, above the minimum."""
    leaders = np.bincount(table[:, 0], minlength=brokers)
    is_forced = (table != NO_BROKER).sum(axis=1) == 2
    forced = np.sort(table[is_forced, 0] * brokers + table[is_forced, 1])
    inherited = np.searchsorted(forced, pairs, side="right") - np.searchsorted(forced, pairs, side="left")
    forced_counts: IntArray = leaders[pairs % brokers] - leaders.min() + inherited
    return forced_counts


def _choose_cheapest(choices: _FollowerChoices, entries: IntArray) -> IntArray:
    """Return the cheapest entry of each partition, if no two partitions share a pair of brokers."""
    partition = choices.partition[entries]
    cost = choices.cost[entries] + choices.step * choices.level[choices.pair[entries]]
    order = np.lexsort((cost, partition))
    first: IntArray = order[np.diff(partition[order], prepend=-1) != 0]
    return first


def _choose_by_flow(choices: _FollowerChoices, entries: IntArray) -> IntArray:
    """Return the entries that a min-cost flow from partitions through pairs to a sink selects.

    Raises ValueError if a partition has no follower.
    """
    _, row = np.unique(choices.partition[entries], return_inverse=True)
    pairs, pair, counts = np.unique(choices.pair[entries], return_inverse=True, return_counts=True)
    num_rows, ones = int(row.max()) + 1, np.ones(len(row), dtype=np.int64)
    sink = num_rows + len(pairs)
    rank_in_pair = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    level = np.repeat(choices.level[pairs], counts) + rank_in_pair
    to_pairs = Arcs(row, num_rows + pair, ones, choices.cost[entries])
    to_sink = Arcs(num_rows + np.repeat(np.arange(len(pairs)), counts), sink * ones, ones, choices.step * level)
    supply = np.zeros(sink + 1, dtype=np.int64)
    supply[:num_rows], supply[sink] = 1, -num_rows
    flows = min_cost_flow(Arcs.joined(to_pairs, to_sink), supply)
    if flows is None:
        raise ValueError("a partition has no follower")
    return np.flatnonzero(flows[: len(row)])


@dataclass(frozen=True, slots=True)
class ExactFlow:
    """The reference strategy: minimum-cost flows for replicas, for leaders, and for first followers.

    Attributes:
        keeps_replicas: whether to copy nothing and change only the order of replicas.
        per_topic_leaders: whether to balance the leaders of each topic before those of all topics together.
        spreads_failover: whether to choose first followers so that leaders stay even if a broker is down.
        weighs_bytes: whether to minimize bytes moved, not replicas moved; requires partition sizes.
        time_limit_s: the time limit of the proof, counted in arcs of solved flows and not by the clock, so that the
            plan does not depend on the machine. A plan is always returned.

    Guarantees: Replica counts of allowed brokers differ by at most 1, or are as even as racks allow. If the status is
    optimal, no plan with equally even counts moves less; otherwise none moves less than the bound. Leader counts are as
    even as the replicas allow, with the fewest changes; so are leader counts if a broker is down, given the leaders.
    The plan is idempotent and independent of the input order; a hash of names and ids breaks ties.
    Priority: Constraints, even replica counts, least movement, even leader counts (of topics first if requested),
    fewest leader changes, even leader counts if a broker is down, fewest changes of first followers. Among placements
    with the same movement: even replica counts per topic (up to 200,000 pairs of partitions and brokers), then kept
    leaders, then the hash. Kept replicas keep their positions.
    Complexity: Three flows over O(P·RF) arcs by cost scaling; that of replicas has few partitions if counting proves
    that the others may stay. Only few arcs to brokers without a replica of the partition are tried. The bound proves
    that no other arc would help, or else shortest paths in the residual graph do; arcs that might help are added until
    none does.
    Source: This project. The leader flow follows Pinterest ("Using graph algorithms to optimize Kafka operations, part
    2"), the flows of replicas and of first followers follow Appier, with even counts as demands and changes as costs in
    place of residue nodes. Frank and Murota's theorem shows that "even" is well defined (see `replica_flow`).
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        balances_replicas=True,
        is_rack_aware=True,
        balances_leaders=True,
        spreads_failover=True,
        raises_replication_factor=True,
        lowers_replication_factor=True,
        decommissions_brokers=True,
        is_idempotent=True,
        is_order_independent=True,
    )

    keeps_replicas: bool = False
    per_topic_leaders: bool = False
    spreads_failover: bool = True
    weighs_bytes: bool = False
    time_limit_s: float = 60.0

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas for every partition of the state."""
        if self.weighs_bytes and state.size_bytes is None:
            return Plan.without_replicas(PlanStatus.NOT_APPLICABLE, "requires partition sizes to weigh bytes")
        problem = NormalizedProblem.of(state, request)
        if self.keeps_replicas:
            return self._plan_leaders_only(problem)
        weight, unit = replica_copy_costs(problem, self.weighs_bytes)
        placement = place(problem, weight, self.time_limit_s)
        table, changed = self._with_leaders(problem, keep_order(problem, placement.pairs))
        value = placement.value * unit if weight is None else _copied_bytes(problem, placement)
        bound = placement.bound * unit
        return Plan(
            status=PlanStatus.OPTIMAL if value == bound else PlanStatus.FEASIBLE,
            replicas=problem.to_input_order(table),
            objective="bytes moved" if self.weighs_bytes else "replicas moved",
            value=value,
            bound=bound,
            notes=(_range_note(placement), f"{changed} preferred leaders change, the minimum for these replicas"),
        )

    def _plan_leaders_only(self, problem: NormalizedProblem) -> Plan:
        mismatched = np.flatnonzero((problem.held != NO_BROKER).sum(axis=1) != problem.factors)
        if len(mismatched):
            name, factor = problem.canonical.state.name(int(mismatched[0])), problem.factors[mismatched[0]]
            reason = f"{name}: keeps_replicas requires {factor} replicas on allowed brokers"
            return Plan.without_replicas(PlanStatus.INFEASIBLE, reason)
        held = problem.held[:, : int(problem.factors.max())]
        table, changed = self._with_leaders(problem, held)
        replicas = problem.to_input_order(table)
        return Plan(PlanStatus.OPTIMAL, replicas, objective="leaders changed", value=changed, bound=changed)

    def _with_leaders(self, problem: NormalizedProblem, replicas: IntArray) -> tuple[IntArray, int]:
        leaders = assign_leaders(problem, replicas, self.per_topic_leaders)
        replicas = swap_to_position(replicas, 0, leaders.broker)
        if self.spreads_failover:
            replicas = swap_to_position(replicas, 1, choose_first_followers(problem, replicas))
        return replicas, leaders.changed


def _range_note(placement: ReplicaPlacement) -> str:
    least, most = placement.count_range
    if most - least > 1:
        return f"{least} to {most} replicas per broker, the most even counts that racks allow"
    return f"{least} to {most} replicas per broker" if most > least else f"{least} replicas per broker"


def _copied_bytes(problem: NormalizedProblem, placement: ReplicaPlacement) -> int:
    sizes = problem.canonical.state.size_bytes
    partition = new_pairs(placement.pairs, problem.held_pairs) // problem.num_brokers
    return 0 if sizes is None else int(sizes[partition].sum())
