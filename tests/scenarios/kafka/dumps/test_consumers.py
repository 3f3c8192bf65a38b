"""Import of consumer groups from recorded output of Kafka 4.3.1's tools."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scenarios.kafka.dumps.observe import DumpOptions, observe_dumps
from scenarios.kafka.observation.consumer_scenario_writer import (
    consumer_assumptions,
    consumer_scenario_text,
    consumer_warnings,
)
from scenarios.kafka.observation.observation import Observation, ObservationError
from scenarios.load import loads
from tests.scenarios.kafka.consumer_assignments import current_and_next

FOLDER = Path(__file__).parent / "consumer_groups"
NO_RACKS = [("*", None)]


def observed(group: str, folder: Path = FOLDER, **configs: str) -> Observation:
    given = {key.replace("_", "."): value for key, value in configs.items()}
    return observe_dumps(folder, group, DumpOptions(given, NO_RACKS)).observation


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copied: Path = shutil.copytree(FOLDER, tmp_path / "dumps")
    return copied


@pytest.mark.parametrize(
    ("group", "protocol", "assignor"),
    [
        ("billing", "classic", "cooperative-sticky"),
        ("default", "classic", "range"),
        ("audit", "consumer", "uniform"),
    ],
)
def test_protocol_assignor_and_members(group: str, protocol: str, assignor: str) -> None:
    observation = observed(group)
    assert observation.consumers is not None
    assert (observation.protocol, observation.consumers.assignor) == (protocol, assignor)
    assert len(observation.consumers.members) == 4
    assert observation.broker_release == "4.3"
    current, following = current_and_next(loads(consumer_scenario_text(observation)))
    assert None not in current.values()
    assert set(following) == set(current)


def test_stated_subscription_and_racks_complete_what_the_tools_do_not_print() -> None:
    text = consumer_scenario_text(observed("billing"))
    assert "does not print subscriptions" in " ".join(consumer_assumptions(observed("billing")))
    place = "clients[consumer-billing-1@127.0.0.1-2]"
    overrides = [
        (f"consumers[0].{place}.topics", "[orders]"),
        *((f"consumers[0].clients[{name}].rack", rack) for name, rack in _RACKS.items()),
    ]
    current, following = current_and_next(loads(text, overrides=overrides))
    assert current == following


_RACKS = {"consumer-billing-1@127.0.0.1-1": "az2", "consumer-billing-1@127.0.0.1-2": "az1"}


def test_subscriptions_follow_from_a_range_assignment() -> None:
    racks = [("consumer-default-1-472f*", "az2"), ("consumer-default-1-f7b4*", "az1"), ("*", None)]
    observation = observe_dumps(FOLDER, "default", DumpOptions({}, racks)).observation
    current, following = current_and_next(loads(consumer_scenario_text(observation)))
    assert current == following
    assert (
        "kafka-consumer-groups.sh does not print subscriptions: range would balance partitions over members with the "
        "same topics, so these are assumed to subscribe to fewer topics: consumer-default-1@127.0.0.1-2; correct the "
        "topics of the clients where that is wrong."
    ) in observation.assumptions


def test_protocol_without_epochs_is_that_of_the_member_ids(folder: Path) -> None:
    (folder / "members.txt").unlink()
    (folder / "offsets.txt").write_text(
        "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
        + "".join(f"audit orders {i} 5 5 0 KIaFJ6ShS66tr9mNSnHtAQ /10.0.0.1 web\n" for i in range(12))
    )
    observation = observed("audit", folder)
    assert (observation.protocol, observation.consumers and observation.consumers.assignor) == ("consumer", "uniform")
    assert consumer_warnings(observation) == ()


def test_members_that_still_use_the_classic_protocol_are_a_warning(folder: Path) -> None:
    (folder / "members.txt").write_text(
        "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS CURRENT-EPOCH CURRENT-ASSIGNMENT TARGET-EPOCH TARGET-ASSIGNMENT "
        "UPGRADED\naudit KIaFJ6ShS66tr9mNSnHtAQ /10.0.0.1 web 6 5 orders:0,1,2,3,4,5 5 orders:0,1,2,3,4,5 true\n"
        "audit 35rTofjDTQqvIYZdBVqOAA /10.0.0.2 web 6 5 orders:6,7,8,9,10,11 5 orders:6,7,8,9,10,11 false\n"
    )
    assert observed("audit", folder).warnings == (
        "The group is being migrated: 1 of 2 members still use the classic protocol, but are simulated with the "
        "consumer protocol.",
    )


EMPTY_STATE = """
GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                #MEMBERS
shop            localhost:20517  (3)                           Empty                0
"""


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            EMPTY_STATE,
            "group 'shop' has no members (state Empty in state.txt): save the output while its clients are running",
        ),
        ("", "members.txt has no member of 'shop' (groups: audit, billing, default)"),
    ],
)
@pytest.mark.parametrize("topology", ["", "Topologies:\n   Sub-topology: 0\n"])
def test_group_without_members(folder: Path, state: str, message: str, topology: str) -> None:
    (folder / "state.txt").write_text(state)
    if topology:
        (folder / "topology.txt").write_text(topology)
    with pytest.raises(ObservationError) as caught:
        observe_dumps(folder, "shop")
    assert str(caught.value) == message


def test_topology_of_an_application_beside_the_dumps_of_a_consumer_group(folder: Path) -> None:
    (folder / "topology.txt").write_text("Topologies:\n   Sub-topology: 0\n")
    assert observed("billing", folder).consumers is not None


def test_properties_are_those_of_the_group(folder: Path) -> None:
    (folder / "a.properties").write_text("bootstrap.servers=b:9092\ngroup.id=billing\nsession.timeout.ms=9000\n")
    observation = observed("billing", folder)
    assert observation.configs == {"bootstrap.servers": "b:9092", "session.timeout.ms": "9000"}
    assert not [text for text in consumer_assumptions(observation) if "omitted" in text]
    with pytest.raises(ObservationError) as caught:
        observed("default", folder)
    assert str(caught.value) == "a.properties belongs to group 'billing', not 'default'"


def test_assignor_of_the_configs_without_a_state(folder: Path) -> None:
    (folder / "state.txt").unlink()
    with pytest.raises(ObservationError) as caught:
        observed("default", folder)
    assert str(caught.value) == (
        "missing information on 'default':\n- assignor: output of kafka-consumer-groups.sh --describe --state, or "
        "--config partition.assignment.strategy=range"
    )
    stated = observed(
        "default", folder, partition_assignment_strategy="org.apache.kafka.clients.consumer.RoundRobinAssignor"
    )
    assert stated.consumers is not None
    assert stated.consumers.assignor == "roundrobin"
    of_coordinator = observed("audit", folder)
    assert of_coordinator.consumers is not None
    assert of_coordinator.consumers.assignor == "uniform"


def test_everything_that_is_missing_is_listed(folder: Path) -> None:
    for name in ("topics.txt", "state.txt"):
        (folder / name).unlink()
    with pytest.raises(ObservationError) as caught:
        observe_dumps(folder, "default")
    assert str(caught.value) == (
        "missing information on 'default':\n- replicas: output of kafka-topics.sh --describe\n"
        "- racks of consumer-default-1, default-d, web: --rack 'PATTERN=RACK', or --rack '*=' for no rack\n"
        "- assignor: output of kafka-consumer-groups.sh --describe --state, or --config "
        "partition.assignment.strategy=range"
    )


def test_rebalancing_group_has_neither_assignment_nor_assignor(folder: Path) -> None:
    (folder / "state.txt").write_text(
        EMPTY_STATE.replace("shop ", "web  ").replace("Empty                0", "PreparingRebalance   1")
    )
    (folder / "members.txt").write_text(
        "Warning: Consumer group 'web' is rebalancing.\n\n"
        "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\nweb web-1 /10.0.0.1 web 0 -\n"
    )
    with pytest.raises(ObservationError) as caught:
        observed("web", folder)
    assert str(caught.value) == (
        "missing information on 'web':\n- assignment: no member has a partition; describe the group when it is stable\n"
        "- assignor: none in state PreparingRebalance; describe the group when it is stable, or --config "
        "partition.assignment.strategy=range"
    )


def test_group_of_kafka_streams_still_needs_its_topology(folder: Path) -> None:
    states = (folder / "state.txt").read_text()
    (folder / "state.txt").write_text(states.replace("cooperative-sticky", "stream            "))
    with pytest.raises(ObservationError, match=r"output of Topology\.describe\(\)"):
        observed("billing", folder)


def test_unstable_group_is_an_assumption(folder: Path) -> None:
    states = (folder / "state.txt").read_text()
    (folder / "state.txt").write_text(states.replace("Stable     ", "Reconciling"))
    assert (
        "The group was in state Reconciling; its current assignment is used." in observed("audit", folder).assumptions
    )
