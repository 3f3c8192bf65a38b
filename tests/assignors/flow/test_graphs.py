"""The fast kernels against the reference search on random graphs, and against assignments of Kafka."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from assignors.compilation import CHOICE, COMPILED, PLAIN
from assignors.flow import graphs
from tests.assignors.flow.kafka_graph import solve_balance_subtopology, solve_min_traffic
from tests.counts import few_or

Graph = tuple[NDArray[np.int64], NDArray[np.intp], NDArray[np.intp]]

# A run of Kafka Streams 4.0-dev: racks of the source partitions of 90 stateful tasks in four subtopologies, clients on
# racks 0, 1 and 2 in turn, tasks assigned round-robin before, traffic cost 10, non-overlap cost 1; and the clients that
# Kafka chose.
KAFKA_CLIENTS = "0120120120"
KAFKA_TASKS = """
    0 0 2 1 0 1 0 2 2 2 1 1 1 1 0 2 1 2 0 1 1 1 2 2 2 0 1 0 2 1
    22 12 00 00 00 21 11 00 12 20 00 01 20 01 20 10 12 12 22 01 12 22 21 20 20
    0 0 2 1 2 1 1 2 0 1 1 1 0 0 2 2 2 1 0 0 1 2 1 0 0 1 2 1 0 0 2 0 2 1 2
"""
KAFKA_GROUPS = [30, 25, 20, 15]
KAFKA_MIN_TRAFFIC = "002731628811746545977125594084210365438906636387897523966878412344109852130127990573056249"
KAFKA_BALANCE = "002731658241443565670123897989510395468901230747897523696512012344706588739187094843656212"


@pytest.fixture(params=[PLAIN, COMPILED], ids=["plain", "compiled"])
def plain_and_compiled(request: pytest.FixtureRequest) -> Iterator[None]:
    with CHOICE.always(request.param):
        yield


@pytest.fixture
def plain() -> Iterator[None]:
    with CHOICE.always(PLAIN):
        yield


def draw_graphs(seed: int, number: int, tasks: int, clients: int, groups: int) -> Iterator[Graph]:
    """Yield graphs with up to `tasks` tasks, `clients` clients and `groups` groups, of several kinds in turn."""
    rng = np.random.default_rng(seed)
    for kind in range(number):
        size = int(rng.integers(1, tasks + 1)), int(rng.integers(1, clients + 1))
        costs = draw_costs(rng, kind % 6, *size)
        owner = np.arange(size[0]) % size[1] if kind % 3 else rng.integers(0, size[1], size[0])
        if kind % 7 == 0:
            owner = rng.integers(0, (size[1] + 1) // 2, size[0])
        if kind % 2:
            costs += 1
            costs[np.arange(size[0]), owner if kind % 4 == 1 else rng.integers(0, size[1], size[0])] -= 1
        yield costs, owner, np.sort(rng.integers(0, groups, size[0]))


def draw_costs(rng: np.random.Generator, kind: int, tasks: int, clients: int) -> NDArray[np.int64]:
    if kind == 0:
        return rng.integers(0, 3, (tasks, clients))
    if kind == 1:
        return rng.integers(0, 100, (tasks, clients))
    if kind == 2:
        return 10 * rng.integers(0, 3, (tasks, clients)) + rng.integers(0, 2, (tasks, clients))
    if kind == 3:
        return 10 * rng.integers(0, 2, (tasks, 3))[:, rng.integers(0, 3, clients)]
    if kind == 4:
        return rng.integers(-5, 6, (tasks, clients))
    return np.zeros((tasks, clients), dtype=np.int64)


def draw_rack_graphs(
    seed: int, number: int, tasks: int = 36, clients: int = 9
) -> Iterator[tuple[NDArray[np.intp], Graph]]:
    """Yield the rack of each client, and a graph with costs by rack and a cost of leaving the owner."""
    rng = np.random.default_rng(seed)
    for kind in range(number):
        size, racks = (int(rng.integers(1, tasks + 1)), int(rng.integers(1, clients + 1))), int(rng.integers(1, 5))
        rack, owner = rng.integers(0, racks, size[1]), rng.integers(0, size[1], size[0])
        leaving, traffic = kind % 4 - (kind % 11 == 0), rng.integers(0, 2 + kind % 3, (size[0], racks))
        costs = (10 if kind % 5 else 1) * traffic[:, rack] + leaving
        costs[np.arange(size[0]), owner] -= leaving
        yield rack, (costs, owner, np.sort(rng.integers(0, 4, size[0])))


def kafka_problem() -> Graph:
    tasks = KAFKA_TASKS.split()
    owner = np.arange(len(tasks)) % len(KAFKA_CLIENTS)
    costs = np.array([[10 * sum(rack != home for rack in task) + 1 for home in KAFKA_CLIENTS] for task in tasks])
    costs[np.arange(len(owner)), owner] -= 1
    return costs, owner, np.repeat(np.arange(len(KAFKA_GROUPS)), KAFKA_GROUPS)


@pytest.mark.usefixtures("plain_and_compiled")
def test_min_traffic_matches_recorded_kafka_assignment() -> None:
    costs, owner, _ = kafka_problem()
    assert "".join(map(str, graphs.min_traffic(costs, owner))) == KAFKA_MIN_TRAFFIC


@pytest.mark.usefixtures("plain_and_compiled")
def test_balance_subtopology_matches_recorded_kafka_assignment() -> None:
    assert "".join(map(str, graphs.balance_subtopology(*kafka_problem()))) == KAFKA_BALANCE


@pytest.mark.usefixtures("plain_and_compiled")
@pytest.mark.parametrize(("seed", "number", "tasks", "clients"), [(1, 300, 12, 5), (2, 120, 10, 2), (3, 24, 36, 7)])
def test_min_traffic_finds_the_cycles_of_the_reference_search(seed: int, number: int, tasks: int, clients: int) -> None:
    for costs, owner, _ in draw_graphs(seed, number, tasks, clients, 1):
        expected, searched = solve_min_traffic(costs.tolist(), owner.tolist())
        solution = graphs.solve_min_traffic(costs, owner)
        assert solution.owner.tolist() == expected
        assert solution.effort.cycles == len(searched.cycles)


@pytest.mark.usefixtures("plain_and_compiled")
def test_graphs_with_racks_find_the_cycles_of_the_reference_search() -> None:
    several_in_a_rack = 0
    for rack, (costs, owner, group) in draw_rack_graphs(11, few_or(200, 50)):
        several_in_a_rack += len(set(rack.tolist())) < len(rack)
        for (expected, searched), solution in (
            (solve_min_traffic(costs.tolist(), owner.tolist()), graphs.solve_min_traffic(costs, owner, rack)),
            (
                solve_balance_subtopology(costs.tolist(), owner.tolist(), group.tolist(), 4),
                graphs.solve_balance_subtopology(costs, owner, group, rack),
            ),
        ):
            assert solution.owner.tolist() == expected
            assert solution.effort.cycles == len(searched.cycles)
    assert several_in_a_rack > few_or(120, 30)


def test_large_graphs_with_racks_are_solved_as_without() -> None:
    with CHOICE.always(COMPILED):
        for rack, (costs, owner, group) in draw_rack_graphs(12, 40, tasks=600, clients=80):
            assert graphs.solve_min_traffic(costs, owner, rack).owner.tolist() == (
                graphs.solve_min_traffic(costs, owner).owner.tolist()
            )
            with_racks, without = (
                graphs.solve_balance_subtopology(costs, owner, group, racks) for racks in (rack, None)
            )
            assert with_racks.owner.tolist() == without.owner.tolist()
            assert with_racks.effort == without.effort


def test_different_costs_within_a_rack_are_rejected() -> None:
    with pytest.raises(ValueError, match="a task costs the same on all clients of a rack, except on its owner"):
        graphs.solve_min_traffic(np.array([[0, 1, 2]]), np.array([0]), np.array([0, 0, 0]))


@pytest.mark.usefixtures("plain_and_compiled")
@pytest.mark.parametrize(
    ("seed", "number", "tasks", "clients", "groups"),
    [(4, 300, 12, 5, 3), (5, 60, 10, 2, 3), (6, 60, 12, 4, 12), (7, 36, 36, 6, 4)],
)
def test_balance_subtopology_finds_the_cycles_of_the_reference_search(
    seed: int, number: int, tasks: int, clients: int, groups: int
) -> None:
    for costs, owner, group in draw_graphs(seed, number, tasks, clients, groups):
        expected, searched = solve_balance_subtopology(costs.tolist(), owner.tolist(), group.tolist(), groups)
        solution = graphs.solve_balance_subtopology(costs, owner, group)
        assert solution.owner.tolist() == expected
        assert solution.effort.cycles == len(searched.cycles)


def test_plain_and_compiled_kernels_agree_on_larger_graphs() -> None:
    owners = []
    for kernels in (PLAIN, COMPILED):
        with CHOICE.always(kernels):
            owners.append([graphs.balance_subtopology(*graph).tolist() for graph in draw_graphs(8, 12, 150, 10, 5)])
    assert owners[0] == owners[1]


@pytest.mark.usefixtures("plain")
def test_effort_counts_every_edge_scan_of_the_reference_search() -> None:
    for costs, owner, group in draw_graphs(9, 40, 12, 5, 4):
        for searched, effort in (
            (solve_min_traffic(costs.tolist(), owner.tolist())[1], graphs.solve_min_traffic(costs, owner).effort),
            (
                solve_balance_subtopology(costs.tolist(), owner.tolist(), group.tolist(), 4)[1],
                graphs.solve_balance_subtopology(costs, owner, group).effort,
            ),
        ):
            assert effort.passes == searched.passes
            assert effort.nodes == len(searched.edges) + 1
            # The last pass of a search that finds a cycle stops on the way.
            least = (effort.passes - effort.cycles) * effort.edges
            assert least <= searched.scans <= effort.passes * effort.edges


@pytest.mark.usefixtures("plain")
def test_every_client_keeps_its_number_of_tasks() -> None:
    for costs, owner, group in draw_graphs(10, 60, 30, 6, 4):
        for new_owner in (graphs.min_traffic(costs, owner), graphs.balance_subtopology(costs, owner, group)):
            assert np.bincount(new_owner, minlength=6).tolist() == np.bincount(owner, minlength=6).tolist()


@pytest.mark.usefixtures("plain")
def test_subtopologies_without_tasks_do_not_matter() -> None:
    for costs, owner, group in draw_graphs(11, 40, 12, 4, 3):
        spread = 4 * group + 1
        expected, _ = solve_balance_subtopology(costs.tolist(), owner.tolist(), spread.tolist(), 13)
        assert graphs.balance_subtopology(costs, owner, spread).tolist() == expected
        assert graphs.balance_subtopology(costs, owner, group).tolist() == expected


@pytest.mark.usefixtures("plain")
def test_history_grows_during_long_search() -> None:
    default = graphs.solve_balance_subtopology(*kafka_problem())
    short = graphs.solve_balance_subtopology(*kafka_problem(), history_rows=3)
    assert short.owner.tolist() == default.owner.tolist()
    assert short.effort == default.effort


@pytest.mark.usefixtures("plain_and_compiled")
def test_read_only_arrays_are_accepted_and_unchanged() -> None:
    costs, owner, group = kafka_problem()
    before = owner.tolist()
    for array in (costs, owner, group):
        array.flags.writeable = False
    assert "".join(map(str, graphs.min_traffic(costs, owner))) == KAFKA_MIN_TRAFFIC
    assert "".join(map(str, graphs.balance_subtopology(costs, owner, group))) == KAFKA_BALANCE
    assert owner.tolist() == before


@pytest.mark.usefixtures("plain_and_compiled")
def test_writable_arrays_are_unchanged() -> None:
    costs, owner, group = kafka_problem()
    graphs.min_traffic(costs, owner)
    graphs.balance_subtopology(costs, owner, group)
    for now, before in zip((costs, owner, group), kafka_problem(), strict=True):
        assert (now == before).all()


def test_no_tasks_need_no_search() -> None:
    nothing = np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    assert graphs.solve_min_traffic(*nothing[:2]).effort == graphs.FlowEffort(0, 0, 0, 0)
    assert graphs.balance_subtopology(*nothing).tolist() == []


@pytest.mark.parametrize("owner", [[0, 3], [-1, 0]])
def test_unknown_owner_is_rejected(owner: list[int]) -> None:
    with pytest.raises(ValueError, match="from 0 to 2"):
        graphs.min_traffic(np.ones((2, 3), dtype=np.int64), np.array(owner))


def test_missing_owner_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"not \(2, 3\) and \(1,\)"):
        graphs.min_traffic(np.ones((2, 3), dtype=np.int64), np.array([0]))


@pytest.mark.parametrize("group", [[1, 0], [0]])
def test_descending_groups_are_rejected(group: list[int]) -> None:
    with pytest.raises(ValueError, match="each of 2 tasks, in ascending order"):
        graphs.balance_subtopology(np.ones((2, 3), dtype=np.int64), np.array([0, 1]), np.array(group))


def test_shares_too_small_for_the_tasks_are_rejected() -> None:
    costs = np.ones((3, 2), dtype=np.int64)
    with pytest.raises(RuntimeError, match="only 2 of 3 tasks"):
        graphs.build_initial_flow(
            PLAIN, costs, graphs.rack_prices(costs, np.zeros(3, dtype=np.intp), None), [0, 0, 0], [3], [1, 1], [2, 1]
        )
