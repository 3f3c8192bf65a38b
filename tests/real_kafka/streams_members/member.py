"""Members of a streams group that send a heartbeat on demand, so that a test decides the order of everything."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.real_kafka.streams_members.protocol import DESCRIBE, HEARTBEAT, NO_ERROR, Json, ProtocolConnection
from tools.java import ClusterError

UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID = 111, 82
"""Error codes of `org.apache.kafka.common.protocol.Errors`."""

LOADING = (14, 15, 16)
"""Error codes of a coordinator that is not available yet; a client retries."""

LEAVES, RETURNS = -1, -2
"""Epochs of a member that leaves for good, and of a static member that leaves temporarily."""

OFFSET_FIELDS = ("taskOffsets", "taskEndOffsets")
SETTLE_TIMEOUT_S = 60
PAUSE_S = 0.05

Tasks = dict[str, frozenset[int]]


class HeartbeatError(ClusterError):
    """The coordinator refused a heartbeat.

    Attributes:
        code: error code of Kafka's protocol.
    """

    def __init__(self, member: str, code: int, message: str | None) -> None:
        super().__init__(f"heartbeat of {member}: error {code}: {message}")
        self.code = code


@dataclass(frozen=True, slots=True)
class MemberTopology:
    """The topology that members announce: one source topic for each subtopology.

    Attributes:
        sources: source topic by subtopology.
        changelogs: changelog topic of the subtopologies with state.
    """

    sources: Mapping[str, str]
    changelogs: Mapping[str, str]

    def message(self) -> Json:
        """Return the topology as part of a heartbeat."""
        return {
            "epoch": 0,
            "subtopologies": [
                {
                    "subtopologyId": subtopology,
                    "sourceTopics": [topic],
                    "sourceTopicRegex": [],
                    "stateChangelogTopics": [
                        {
                            "name": self.changelogs[subtopology],
                            "partitions": 0,
                            "replicationFactor": 1,
                            "topicConfigs": [],
                        }
                    ]
                    if subtopology in self.changelogs
                    else [],
                    "repartitionSinkTopics": [],
                    "repartitionSourceTopics": [],
                    "copartitionGroups": [],
                }
                for subtopology, topic in self.sources.items()
            ],
        }


@dataclass
class StreamsMember:
    """A stream thread of an application, as the coordinator sees it.

    Attributes:
        connection: connection to the coordinator.
        group: group id.
        topology: topology of the application.
        id: member id, which a member chooses by itself.
        process_id: process id of its client.
        instance_id: `group.instance.id`; None for a dynamic member.
        rack_id: `client.rack`.
        tags: `client.tag.*`.
        epoch: member epoch; 0 before it joins.
        active: its active tasks: partitions by subtopology.
        standby: its standbys.
        offsets: sums of changelog offsets that it reports with every heartbeat, by subtopology and partition; None to
            report none.
    """

    connection: ProtocolConnection
    group: str
    topology: MemberTopology
    id: str
    process_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    epoch: int = 0
    active: Tasks = field(default_factory=dict)
    standby: Tasks = field(default_factory=dict)
    offsets: Mapping[tuple[str, int], int] | None = None

    def join(self) -> None:
        """Join the group without tasks.

        Raises:
            HeartbeatError: the coordinator refuses it.
        """
        self.epoch, self.active, self.standby = 0, {}, {}
        self._send(
            {
                "rackId": self.rack_id,
                "rebalanceTimeoutMs": 60_000,
                "topology": self.topology.message(),
                "processId": self.process_id,
                "clientTags": [{"key": key, "value": value} for key, value in self.tags.items()],
            }
        )

    def heartbeat(self) -> None:
        """Report the current tasks, and take what the coordinator assigns.

        Raises:
            HeartbeatError: the coordinator refuses it.
        """
        self._send({})

    def leave(self, *, returns: bool = False) -> None:
        """Leave the group; a static member may leave temporarily.

        Raises:
            HeartbeatError: the coordinator refuses it.
        """
        self._request({"memberEpoch": RETURNS if returns else LEAVES})

    def _send(self, fields: Json) -> None:
        owned = {"activeTasks": _messages(self.active), "standbyTasks": _messages(self.standby), "warmupTasks": []}
        reported = {} if self.offsets is None else {name: _offsets(self.offsets) for name in OFFSET_FIELDS}
        response = self._request({"memberEpoch": self.epoch, **owned, **reported, **fields})
        self.epoch = response["memberEpoch"]
        if response["activeTasks"] is not None:
            self.active, self.standby = _tasks(response["activeTasks"]), _tasks(response["standbyTasks"])
            if response["warmupTasks"]:
                raise ClusterError(f"{self.id} got warm-ups, which Kafka 4.4 does not assign")

    def _request(self, fields: Json) -> Json:
        empty = ("rackId", "topology", "activeTasks", "standbyTasks", "warmupTasks", "processId", "userEndpoint")
        request = {
            **dict.fromkeys((*empty, "clientTags", *OFFSET_FIELDS)),
            "groupId": self.group,
            "memberId": self.id,
            "endpointInformationEpoch": -1,
            "instanceId": self.instance_id,
            "rebalanceTimeoutMs": -1,
            "shutdownApplication": False,
            **fields,
        }
        response = self.connection.send(HEARTBEAT, request)
        deadline_s = time.monotonic() + SETTLE_TIMEOUT_S
        while response["errorCode"] in LOADING and time.monotonic() < deadline_s:
            time.sleep(PAUSE_S)
            response = self.connection.send(HEARTBEAT, request)
        if response["errorCode"] != NO_ERROR:
            raise HeartbeatError(self.id, response["errorCode"], response.get("errorMessage"))
        return response


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """What a coordinator says about a group.

    Attributes:
        state: such as `Stable`.
        epoch: epoch of the group.
        assignment_epoch: epoch of the target assignment.
        assignor: name of the assignor.
        target: target assignment: active tasks and standbys by member id.
        instance_ids: `group.instance.id` by member id; None for a dynamic member.
        process_ids: process id by member id, in the order of the coordinator.
    """

    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    target: Mapping[str, tuple[Tasks, Tasks]]
    instance_ids: Mapping[str, str | None]
    process_ids: Mapping[str, str]


def describe(connection: ProtocolConnection, group: str) -> GroupDescription:
    """Describe a group, without a heartbeat.

    Raises:
        ClusterError: the coordinator does not know the group.
    """
    request = {"groupIds": [group], "includeAuthorizedOperations": False, "includeTopologyDescription": False}
    [described] = connection.send(DESCRIBE, request)["groups"]
    if described["errorCode"] != NO_ERROR:
        raise ClusterError(f"group {group}: error {described['errorCode']}: {described['errorMessage']}")
    members = described["members"]
    return GroupDescription(
        state=described["groupState"],
        epoch=described["groupEpoch"],
        assignment_epoch=described["assignmentEpoch"],
        assignor=described["assignorName"],
        target={
            member["memberId"]: (
                _tasks(member["targetAssignment"]["activeTasks"]),
                _tasks(member["targetAssignment"]["standbyTasks"]),
            )
            for member in members
        },
        instance_ids={member["memberId"]: member["instanceId"] for member in members},
        process_ids={member["memberId"]: member["processId"] for member in members},
    )


def settle(members: Sequence[StreamsMember], *, min_epoch: int = 1) -> GroupDescription:
    """Let members heartbeat in turn until the group is stable and every member has its target assignment.

    Args:
        members: the members that are up, at least one.
        min_epoch: minimum epoch of the target assignment, for a change that is still to be computed.

    Returns:
        The stable group.

    Raises:
        ClusterError: the group does not become stable.
    """
    connection, group = members[0].connection, members[0].group
    deadline_s = time.monotonic() + SETTLE_TIMEOUT_S
    while time.monotonic() < deadline_s:
        for member in members:
            member.heartbeat()
        described = describe(connection, group)
        has_target = all((member.active, member.standby) == described.target[member.id] for member in members)
        if described.state == "Stable" and described.assignment_epoch >= max(min_epoch, described.epoch) and has_target:
            return described
        time.sleep(PAUSE_S)
    raise ClusterError(f"group {group} did not become stable within {SETTLE_TIMEOUT_S} s: {described}")


def _changelogs(topic: str | None) -> list[Json]:
    if topic is None:
        return []
    return [{"name": topic, "partitions": 0, "replicationFactor": 1, "topicConfigs": []}]


def _tasks(messages: Iterable[Json]) -> Tasks:
    return {message["subtopologyId"]: frozenset(message["partitions"]) for message in messages if message["partitions"]}


def _messages(tasks: Tasks) -> list[Json]:
    return [{"subtopologyId": subtopology, "partitions": sorted(numbers)} for subtopology, numbers in tasks.items()]


def _offsets(offsets: Mapping[tuple[str, int], int]) -> list[Json]:
    return [
        {"subtopologyId": subtopology, "partition": partition, "offset": offset}
        for (subtopology, partition), offset in offsets.items()
    ]
