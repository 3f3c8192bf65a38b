"""Static members of a streams group on a real broker of Kafka 4.4, compared with a simulated run, event by event.

The simulated members have the same process ids and member ids, so that ties are broken equally.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

import assignor_sim as sim
from assignors.java.hash_order import string_hash
from assignors.model.assignment import AssignmentColumns
from assignors.model.state import ApplicationState
from tests.real_kafka.streams_group import PARTITIONS, SESSION_TIMEOUT_MS, by_subtopology, topology
from tests.real_kafka.streams_members.member import (
    FENCED_INSTANCE_ID,
    UNRELEASED_INSTANCE_ID,
    GroupDescription,
    HeartbeatError,
    StreamsMember,
    Tasks,
    describe,
    settle,
)
from tests.real_kafka.streams_members.protocol import ProtocolConnection

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

MINUTE_MS = 60_000
PROCESSES = {name: f"0000000{number}-1111-2222-3333-444444444444" for number, name in enumerate("abc", 1)}

SCENARIO = f"""
name: static-members
cluster:
  kafka: "4.4"
  brokers: {{count: 1, racks: [az1]}}
  configs:
    group.streams.heartbeat.interval.ms: 1000
    group.streams.min.heartbeat.interval.ms: 1000
    group.streams.session.timeout.ms: {SESSION_TIMEOUT_MS}
    group.streams.min.session.timeout.ms: {SESSION_TIMEOUT_MS}
    group.streams.initial.rebalance.delay.ms: 1000
    group.streams.assignment.interval.ms: 0
  topics:
    - {{name: input-0, partitions: {PARTITIONS["0"]}, bytes_per_s: 1 kB/s, size: 1 MB}}
    - {{name: input-1, partitions: {PARTITIONS["1"]}, bytes_per_s: 1 kB/s, size: 1 MB}}
application:
  id: static
  kafka: "4.4"
  starts: cold
  configs: {{group.protocol: streams, num.standby.replicas: 1}}
  subtopologies:
    - sources: [input-0]
      stores: [{{name: store, size: 1 MB, bytes_per_s: 1 kB/s, record_size: 100}}]
    - sources: [input-1]
clients:
  - {{name: a, process_id: {PROCESSES["a"]}, static_membership: true}}
  - {{name: b, process_id: {PROCESSES["b"]}, static_membership: true}}
  - {{name: c, process_id: {PROCESSES["c"]}, static_membership: true}}
events:
  - {{at: 1m, rolling_bounce: {{clients: a, down: 3s}}}}
  - {{at: 2m, crash: {{clients: b, down: 30s}}}}
  - {{at: 3m, rolling_bounce: {{clients: c, leaves_group: true, down: 30s}}}}
  - {{at: 4m, rolling_bounce: {{clients: b, down: 3s, disk: lost}}}}
  - {{at: 5m, leave: {{clients: a}}}}
assignors: [streams_group_sticky]
duration: 6m
"""

Targets = dict[str, tuple[Tasks, Tasks]]
Offsets = dict[str, Mapping[tuple[str, int], int]]
"""What members report, by process id: sums of changelog offsets by subtopology and partition."""


@dataclass
class Application:
    """The members of the real application, by client.

    Attributes:
        connection: connection to the coordinator.
        members: the members that are up.
        targets: the target assignments that followed an event, by process id.
    """

    connection: ProtocolConnection
    members: dict[str, StreamsMember] = field(default_factory=dict)
    targets: list[Targets] = field(default_factory=list)
    epoch: int = 0

    def start(self, client: str, process_id: str, *, number: int = 0) -> StreamsMember:
        """Return a new member of a client, which has not joined.

        Args:
            client: the client.
            process_id: its process id.
            number: 0 for the member id that the simulator generates, 1 for another one with the same hash code.
        """
        thread = ("StreamThread", "TUreamThread")[number]
        assert string_hash("St") == string_hash("TU")
        member_id = f"{process_id}-{thread}-1"
        return StreamsMember(
            self.connection,
            "static",
            topology("static"),
            member_id,
            process_id,
            instance_id=f"{client}-1",
            rack_id="az1",
        )

    def join(self, client: str, process_id: str, offsets: Offsets, *, number: int = 0) -> None:
        """Start a member that reports offsets, and let it join."""
        member = self.members[client] = self.start(client, process_id, number=number)
        member.offsets = offsets[process_id]
        member.join()

    def report(self, offsets: Offsets) -> None:
        """Let the members that are up report offsets."""
        for member in self.members.values():
            member.offsets = offsets[member.process_id]
            member.heartbeat()

    def settle(self, new_targets: int) -> GroupDescription:
        """Let the members reconcile after a number of new target assignments, and note the last one if there is any."""
        described = settle(list(self.members.values()), min_epoch=self.epoch + new_targets)
        assert described.epoch == described.assignment_epoch == self.epoch + new_targets
        self.epoch = described.epoch
        if new_targets:
            self.targets.append({described.process_ids[member]: tasks for member, tasks in described.target.items()})
        return described

    def heartbeat_until_epoch(self, epoch: int) -> None:
        """Let the members that are up heartbeat until a session has timed out, which bumps the epoch of the group."""
        deadline_s = time.monotonic() + 4 * SESSION_TIMEOUT_MS / 1000
        while describe(self.connection, "static").epoch < epoch:
            assert time.monotonic() < deadline_s
            for member in self.members.values():
                member.heartbeat()
            time.sleep(0.2)


@dataclass(frozen=True)
class Prediction:
    """A simulated rebalance.

    Attributes:
        target: the target assignment.
        offsets: what the members have reported.
    """

    target: Targets
    offsets: Offsets


def predictions() -> list[list[Prediction]]:
    """Return the rebalances of the simulated run between its events."""
    run = sim.run(sim.loads(SCENARIO), "streams_group_sticky", seed=1, capture=True)
    ends = [*range(MINUTE_MS, 6 * MINUTE_MS, MINUTE_MS), 6 * MINUTE_MS]
    return [
        [
            Prediction(_by_process(taken.state, taken.columns), _offsets(taken.state))
            for taken in run.trace.captured_rounds
            if start <= taken.round.requested_at_ms < end
        ]
        for start, end in pairwise([0, *ends])
    ]


def _offsets(state: ApplicationState) -> Offsets:
    by_client = state.thread_offsets or [[{}]] * len(
        state.clients.ids
    )  # No member has reported before the first rebalance.
    return {
        str(process): {(str(task.subtopology), task.partition): offset for task, offset in reported.items()}
        for process, [reported] in zip(state.clients.ids, by_client, strict=True)
    }


def _by_process(state: ApplicationState, columns: AssignmentColumns) -> Targets:
    return {
        str(process): (
            by_subtopology(state, columns.active == client),
            by_subtopology(state, columns.standby[:, client]),
        )
        for client, process in enumerate(state.clients.ids)
    }


@pytest.fixture(scope="module")
def application(connection: ProtocolConnection) -> Application:
    return Application(connection)


def test_static_members_behave_as_predicted(application: Application) -> None:
    first, bounced, crashed, left, moved, gone = predictions()
    assert [len(rebalances) for rebalances in (first, bounced, crashed, left, moved, gone)] == [1, 0, 2, 2, 1, 1]
    members, connection = application.members, application.connection

    for client, process in PROCESSES.items():
        application.join(client, process, first[0].offsets)
    started = settle(list(members.values()))
    application.epoch = started.epoch  # The creation of the changelog adds epochs.
    assert {started.process_ids[member]: tasks for member, tasks in started.target.items()} == first[0].target

    # A member that closes keeps its tasks; another one with its instance id gets them, without a new target.
    before = members.pop("a")
    before.leave(returns=True)
    assert before.id in describe(connection, "static").target
    application.join("a", PROCESSES["a"], first[0].offsets, number=1)
    application.settle(new_targets=0)
    assert (members["a"].active, members["a"].standby) == (before.active, before.standby)
    with pytest.raises(HeartbeatError) as fenced:
        before.heartbeat()
    assert fenced.value.code == FENCED_INSTANCE_ID

    # A killed member blocks its instance id until its session times out; then, its tasks move, and move back.
    killed = members.pop("b")
    with pytest.raises(HeartbeatError) as refused:
        application.start("b", PROCESSES["b"], number=1).join()
    assert refused.value.code == UNRELEASED_INSTANCE_ID
    epoch = application.epoch
    application.report(crashed[0].offsets)
    application.heartbeat_until_epoch(epoch + 1)
    assert killed.id not in application.settle(new_targets=1).target
    application.report(crashed[1].offsets)
    application.join("b", PROCESSES["b"], crashed[1].offsets)
    application.settle(new_targets=1)
    assert application.targets == [rebalance.target for rebalance in crashed]

    # A static member that leaves for good gives up its tasks at once.
    application.targets.clear()
    application.report(left[0].offsets | left[1].offsets)
    members.pop("c").leave()
    application.settle(new_targets=1)
    application.report(left[1].offsets)
    application.join("c", PROCESSES["c"], left[1].offsets)
    application.settle(new_targets=1)
    assert application.targets == [rebalance.target for rebalance in left]

    # A member that returns as another process, because its disk is lost, causes a new target.
    application.targets.clear()
    members.pop("b").leave(returns=True)
    [process] = moved[0].target.keys() - set(PROCESSES.values())
    application.report(moved[0].offsets)
    application.join("b", process, moved[0].offsets)
    application.settle(new_targets=1)
    assert application.targets == [rebalance.target for rebalance in moved]

    # A member that closes and does not return is removed when its session times out.
    application.targets.clear()
    closed = members.pop("a")
    closed.leave(returns=True)
    application.report(gone[0].offsets)
    application.heartbeat_until_epoch(application.epoch + 1)
    assert closed.id not in application.settle(new_targets=1).target
    assert application.targets == [rebalance.target for rebalance in gone]


def test_second_member_with_the_same_instance_id_is_refused(application: Application) -> None:
    [client, *_] = application.members
    twin = application.start(client, application.members[client].process_id, number=1)
    epoch = describe(application.connection, "static").epoch
    with pytest.raises(HeartbeatError) as refused:
        twin.join()
    assert refused.value.code == UNRELEASED_INSTANCE_ID
    members: Sequence[StreamsMember] = list(application.members.values())
    assert settle(members).epoch == epoch
