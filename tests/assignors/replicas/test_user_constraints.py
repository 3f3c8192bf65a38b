"""The user's constraints in the integer program, and the program as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations, product

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from assignors.replicas.plan import Plan, PlanRequest, PlanStatus
from assignors.replicas.planning import plan
from assignors.replicas.preferred_leader_ilp import PreferredLeaderIlp
from assignors.replicas.state import BrokerState, ClusterState
from assignors.replicas.user_constraints import ConstraintError, parse_constraints
from tests.assignors.replicas.clusters import ids, killerwhile, random_cluster

OPEN = {"min_replicas": 0, "max_replicas": 99, "min_leaders": 0, "max_leaders": 99, "min_rack_replicas": 0}
"""Limits that leave everything to the user's own constraints."""


def replicas_by_partition(state: ClusterState, answer: Plan) -> dict[str, list[int]]:
    assert answer.replicas is not None, answer.reason
    return {state.name(row): brokers for row, brokers in enumerate(ids(state, answer.replicas))}


def make_plan(state: ClusterState, *constraints: str, **limits: int) -> Plan:
    return plan(PreferredLeaderIlp(constraints=constraints, **limits), state, PlanRequest())


def test_leaders_of_a_topic_on_a_broker_can_be_limited() -> None:
    state = killerwhile()
    proposal = make_plan(state, "leaders(broker=7) = 0", min_leaders=0)
    assert proposal.status == PlanStatus.OPTIMAL
    assert all(brokers[0] != 7 for brokers in replicas_by_partition(state, proposal).values())
    assert proposal.value is not None
    assert proposal.value < 60


def test_replica_can_be_pinned_to_a_broker() -> None:
    state = killerwhile()
    proposal = make_plan(state, "replicas(partition=3, broker=19) = 1")
    assert proposal.status == PlanStatus.OPTIMAL
    assert 19 in replicas_by_partition(state, proposal)["x.y.z.t-3"]


def test_constraint_holds_for_every_member_of_its_group() -> None:
    state = random_cluster(3, num_brokers=6, partitions=(12, 6), skew=2.0)
    proposal = make_plan(state, "replicas(topic=topic-b) per broker <= 4", "leaders() per rack >= 5")
    assert proposal.status == PlanStatus.OPTIMAL
    placed = replicas_by_partition(state, proposal)
    of_b = [brokers for name, brokers in placed.items() if name.startswith("topic-b")]
    assert all(sum(broker in brokers for brokers in of_b) <= 4 for broker in range(6))
    for rack in ("az1", "az2", "az3"):
        assert sum(state.brokers[brokers[0]].rack == rack for brokers in placed.values()) >= 5


def test_sums_can_have_weights_and_compare_brokers() -> None:
    state = random_cluster(1, num_brokers=4, partitions=(8,), factor=2, racks=2)
    proposal = make_plan(state, "2 replicas(broker=0) - replicas(broker=1) <= 0", **OPEN)
    assert proposal.status == PlanStatus.OPTIMAL
    counts = [
        sum(broker in brokers for brokers in replicas_by_partition(state, proposal).values()) for broker in range(4)
    ]
    assert 2 * counts[0] <= counts[1]


def test_contradicting_constraints_are_named() -> None:
    proposal = make_plan(killerwhile(), "leaders(broker=3) >= 5", "replicas(broker=3) <= 2", **OPEN)
    assert proposal.status == PlanStatus.INFEASIBLE
    assert proposal.reason == "constraint 'leaders(broker=3) >= 5' cannot be met within the other limits"


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        ("replicas(topic=y) <= 1", r"constraint 'replicas\(topic=y\) <= 1': no topic y \(topics: x.y.z.t\)"),
        ("replicas(broker=77) <= 1", r"no broker 77 \(brokers: 0, 1, .* and 8 more\)"),
        ("replicas(rack=c) <= 1", r"no rack c \(racks: a, b\)"),
        ("replicas(partition=10) <= 1", r"no partition 10 \(partitions: 0 to 9\)"),
        ("replicas(rack=a, broker=1) <= 1", "no replica matches rack=a, broker=1"),
        ("replicas(broker=1) - replicas(broker=1) >= 1", "its terms cancel out"),
    ],
)
def test_unknown_names_are_rejected(constraint: str, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        make_plan(killerwhile(), constraint)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("replicas(broker=1)", "cannot parse ''"),
        ("copies(broker=1) <= 1", r"cannot parse 'copies\(broker=1\) <= 1'"),
        ("replicas(broker=1) < 1", "cannot parse '< 1'"),
        ("replicas(host=1) <= 1", "'host=1' is not a selector"),
        ("replicas(broker=1) per shelf <= 1", "cannot parse 'per shelf <= 1'"),
        ("replicas() leaders() <= 1", r"cannot parse 'leaders\(\) <= 1'"),
    ],
)
def test_invalid_constraint_is_rejected_with_its_position(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PreferredLeaderIlp(constraints=(text,))


def test_several_constraints_fit_in_one_text() -> None:
    assert len(parse_constraints("replicas(broker=1) <= 1; leaders() per broker <= 2;")) == 2
    assert PreferredLeaderIlp(constraints="replicas(broker=1) <= 1").constraints == ("replicas(broker=1) <= 1",)


# The program as text, read back


Row = tuple[Mapping[str, float], str, float]


def rows_of(text: str) -> Iterator[Row]:
    """Return the objective, as a row without a limit, and all constraints of a program as text."""
    body = "\n".join(line for line in text.split("bin\n")[0].splitlines() if not line.startswith("//"))
    for statement in filter(None, (part.strip() for part in body.split(";"))):
        match = re.fullmatch(r"(?:(max|\w+): )?(.*?)(?: (<=|>=|=) (-?[\d.]+))?", statement, re.DOTALL)
        assert match is not None, statement
        terms = re.findall(r"([+-]?) ?(?:([\d.]+) )?(t\w+)", match[2])
        assert re.sub(r"([+-]?) ?(?:([\d.]+) )?(t\w+)", "", match[2]).strip() == "", statement
        sums = {name: float(f"{sign}{size or 1}") for sign, size, name in terms}
        yield sums, match[3] or "max", float(match[4] or 0)


def holds(row: Row, chosen: set[str]) -> bool:
    sums, comparison, end = row
    total = sum(size for name, size in sums.items() if name in chosen)
    return {"<=": total <= end, ">=": total >= end, "=": total == end, "max": True}[comparison]


@st.composite
def small_problems(draw: st.DrawFn) -> tuple[ClusterState, tuple[str, ...]]:
    racks = draw(st.sampled_from([0, 2]))
    broker_states = [BrokerState(i, f"az{i % racks}" if racks else None) for i in range(3)]
    factor = draw(st.integers(1, 2))
    cells = {("t", p): draw(st.permutations(range(3)))[:factor] for p in range(draw(st.integers(1, 2)))}
    kinds = st.sampled_from(["replicas", "leaders", "followers"])
    selectors = st.sampled_from(["", "broker=0", "broker=2", "partition=0", "topic=t, broker=1"])
    made = [
        f"{draw(st.sampled_from(['', '2 ']))}{draw(kinds)}({draw(selectors)})"
        f"{draw(st.sampled_from(['', ' - replicas(broker=1)', ' + leaders(broker=0)']))}"
        f"{draw(st.sampled_from(['', ' per broker', ' per partition', ' per topic']))}"
        f" {draw(st.sampled_from(['<=', '>=', '=']))} {draw(st.integers(-1, 2))}"
        for _ in range(draw(st.integers(0, 2)))
    ]
    return ClusterState.of(broker_states, cells), tuple(made)


@settings(max_examples=120, deadline=None)
@given(small_problems())
def test_plan_is_the_best_solution_of_the_lp_text(
    problem: tuple[ClusterState, tuple[str, ...]],
) -> None:
    state, constraints = problem
    assignor = PreferredLeaderIlp(constraints=constraints, min_leaders=0, max_leaders=2, min_replicas=0, max_replicas=2)
    try:
        proposal = plan(assignor, state, PlanRequest())
    except ConstraintError:
        reject()
    rows = list(rows_of(assignor.lp_text(state, PlanRequest())))
    [objective] = [sums for sums, comparison, _ in rows if comparison == "max"]
    factor = int(state.replication_factor[0])
    ordered = [
        (leader, *rest)
        for leader in range(3)
        for rest in combinations([broker for broker in range(3) if broker != leader], factor - 1)
    ]
    values = []
    for placed in product(ordered, repeat=state.num_partitions):
        chosen = {f"t1b{broker}p{p}{'' if i else '_l'}" for p, row in enumerate(placed) for i, broker in enumerate(row)}
        if all(holds(row, chosen) for row in rows):
            values.append(sum(size for name, size in objective.items() if name in chosen))
    assert (proposal.status == PlanStatus.OPTIMAL) is bool(values), proposal.reason
    assert proposal.value == (max(values) if values else None)


@pytest.mark.parametrize(
    "state", [killerwhile(), random_cluster(2, num_brokers=5, partitions=(7, 4))], ids=["two", "three"]
)
def test_lp_text_has_every_constraint_of_the_documents(state: ClusterState) -> None:
    text = PreferredLeaderIlp(constraints=("leaders(broker=1) <= 3",)).lp_text(state, PlanRequest())
    titles = [line for line in text.splitlines() if line.startswith("// ")]
    assert "// A broker has at most one role per partition" in titles
    assert "// leaders(broker=1) <= 3" in titles
    rows = list(rows_of(text))
    num_cells = state.num_partitions * len(state.brokers)
    roles = [sums for sums, comparison, end in rows if comparison == "<=" and end == 1 and len(sums) == 2]
    assert len({min(sums) for sums in roles if {name.removesuffix("_l") for name in sums} == {min(sums)}}) == num_cells
    at_least = [sums for sums, comparison, _ in rows if comparison == ">="]
    assert sum(all(name.endswith("_l") for name in sums) for sums in at_least) == len(state.brokers)
    chosen = {
        f"t{state.topic[row] + 1}b{broker}p{state.partition[row]}{'' if place else '_l'}"
        for row, brokers in enumerate(ids(state, plan(PreferredLeaderIlp(), state, PlanRequest()).replicas))  # type: ignore[arg-type]
        for place, broker in enumerate(brokers)
    }
    assert [row for row in rows if not holds(row, chosen)] == []
