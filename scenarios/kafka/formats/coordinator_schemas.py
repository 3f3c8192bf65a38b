"""Schemas of the records of `__consumer_offsets` that describe groups: classic, of the consumer protocol, and streams.

Source: `GroupMetadataValue.json` (versions 0 to 4), `ConsumerGroup*.json` and `StreamsGroup*.json` of the group
coordinator, Kafka 4.4.0; earlier releases lack some of the tagged fields, and otherwise write the same. Only 4.0 writes
`ConsumerGroupPartitionMetadataValue`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scenarios.kafka.formats.message_schemas import FieldSchema as F
from scenarios.kafka.formats.message_schemas import MessageSchema

GROUP_METADATA: Final = 2
CONSUMER_GROUP: Final = 3
CONSUMER_PARTITIONS: Final = 4
CONSUMER_MEMBER: Final = 5
CONSUMER_TARGET: Final = 6
CONSUMER_TARGET_MEMBER: Final = 7
CONSUMER_CURRENT: Final = 8
CONSUMER_PATTERN: Final = 16
STREAMS_GROUP: Final = 17
STREAMS_MEMBER: Final = 19
STREAMS_TARGET: Final = 20
STREAMS_TARGET_MEMBER: Final = 21
STREAMS_CURRENT: Final = 22
STREAMS_TOPOLOGY: Final = 23
"""Types of records (`CoordinatorRecordType`): the first two bytes of a key."""

_CLASSIC_MEMBER = (
    F("memberId", "string"),
    F("groupInstanceId", "string", since=3, nullable_since=3),
    F("clientId", "string"),
    F("clientHost", "string"),
    F("rebalanceTimeout", "int32", since=1, default=-1),
    F("sessionTimeout", "int32"),
    F("subscription", "bytes"),
    F("assignment", "bytes"),
)
_KEY_VALUE = (F("key", "string"), F("value", "string"))
_TASKS = (F("subtopologyId", "string"), F("partitions", "int32", is_array=True))
_TASKS_WITH_EPOCHS = (*_TASKS, F("assignmentEpochs", "int32", is_array=True, nullable_since=0, tag=0))
_TOPIC = (
    F("name", "string"),
    F("partitions", "int32"),
    F("replicationFactor", "int16"),
    F("topicConfigs", _KEY_VALUE, is_array=True),
)
_COPARTITION_GROUP = (
    F("sourceTopics", "int16", is_array=True),
    F("sourceTopicRegex", "int16", is_array=True),
    F("repartitionSourceTopics", "int16", is_array=True),
)
_SUBTOPOLOGY = (
    F("subtopologyId", "string"),
    F("sourceTopics", "string", is_array=True),
    F("sourceTopicRegex", "string", is_array=True),
    F("stateChangelogTopics", _TOPIC, is_array=True),
    F("repartitionSinkTopics", "string", is_array=True),
    F("repartitionSourceTopics", _TOPIC, is_array=True),
    F("copartitionGroups", _COPARTITION_GROUP, is_array=True),
)
_TOPIC_PARTITIONS = (F("topicId", "uuid"), F("partitions", "int32", is_array=True))
_TOPIC_PARTITIONS_WITH_EPOCHS = (
    *_TOPIC_PARTITIONS,
    F("assignmentEpochs", "int32", is_array=True, nullable_since=0, tag=0),
)
_TOPIC_METADATA = (
    F("topicId", "uuid"),
    F("topicName", "string"),
    F("numPartitions", "int32"),
    F("partitionMetadata", (F("partition", "int32"), F("racks", "string", is_array=True)), is_array=True),
)
_CLASSIC_MEMBER_METADATA = (
    F("sessionTimeoutMs", "int32"),
    F("supportedProtocols", (F("name", "string"), F("metadata", "bytes")), is_array=True),
)
_GROUP_KEY = (F("groupId", "string"),)
_MEMBER_KEY = (F("groupId", "string"), F("memberId", "string"))

KEY_SCHEMAS: Final[Mapping[int, MessageSchema]] = {
    GROUP_METADATA: MessageSchema("GroupMetadataKey", (F("group", "string"),)),
    CONSUMER_GROUP: MessageSchema("ConsumerGroupMetadataKey", _GROUP_KEY),
    CONSUMER_PARTITIONS: MessageSchema("ConsumerGroupPartitionMetadataKey", _GROUP_KEY),
    CONSUMER_MEMBER: MessageSchema("ConsumerGroupMemberMetadataKey", _MEMBER_KEY),
    CONSUMER_TARGET: MessageSchema("ConsumerGroupTargetAssignmentMetadataKey", _GROUP_KEY),
    CONSUMER_TARGET_MEMBER: MessageSchema("ConsumerGroupTargetAssignmentMemberKey", _MEMBER_KEY),
    CONSUMER_CURRENT: MessageSchema("ConsumerGroupCurrentMemberAssignmentKey", _MEMBER_KEY),
    CONSUMER_PATTERN: MessageSchema(
        "ConsumerGroupRegularExpressionKey", (F("groupId", "string"), F("regularExpression", "string"))
    ),
    STREAMS_GROUP: MessageSchema("StreamsGroupMetadataKey", _GROUP_KEY),
    STREAMS_MEMBER: MessageSchema("StreamsGroupMemberMetadataKey", _MEMBER_KEY),
    STREAMS_TARGET: MessageSchema("StreamsGroupTargetAssignmentMetadataKey", _GROUP_KEY),
    STREAMS_TARGET_MEMBER: MessageSchema("StreamsGroupTargetAssignmentMemberKey", _MEMBER_KEY),
    STREAMS_CURRENT: MessageSchema("StreamsGroupCurrentMemberAssignmentKey", _MEMBER_KEY),
    STREAMS_TOPOLOGY: MessageSchema("StreamsGroupTopologyKey", _GROUP_KEY),
}
"""Key by type of record; keys of other types belong to other groups or to offsets."""

VALUE_SCHEMAS: Final[Mapping[int, MessageSchema]] = {
    GROUP_METADATA: MessageSchema(
        "GroupMetadataValue",
        (
            F("protocolType", "string"),
            F("generation", "int32"),
            F("protocol", "string", nullable_since=0),
            F("leader", "string", nullable_since=0),
            F("currentStateTimestamp", "int64", since=2, default=-1),
            F("members", _CLASSIC_MEMBER, is_array=True),
        ),
        versions=5,
        flexible_since=4,
    ),
    CONSUMER_GROUP: MessageSchema(
        "ConsumerGroupMetadataValue",
        (F("epoch", "int32"), F("metadataHash", "int64", tag=0, default=0)),
        flexible_since=0,
    ),
    CONSUMER_PARTITIONS: MessageSchema(
        "ConsumerGroupPartitionMetadataValue", (F("topics", _TOPIC_METADATA, is_array=True),), flexible_since=0
    ),
    CONSUMER_MEMBER: MessageSchema(
        "ConsumerGroupMemberMetadataValue",
        (
            F("instanceId", "string", nullable_since=0),
            F("rackId", "string", nullable_since=0),
            F("clientId", "string"),
            F("clientHost", "string"),
            F("subscribedTopicNames", "string", is_array=True),
            F("subscribedTopicRegex", "string", nullable_since=0),
            F("rebalanceTimeoutMs", "int32", default=-1),
            F("serverAssignor", "string", nullable_since=0),
            F("classicMemberMetadata", _CLASSIC_MEMBER_METADATA, nullable_since=0, tag=0),
        ),
        flexible_since=0,
    ),
    CONSUMER_TARGET: MessageSchema(
        "ConsumerGroupTargetAssignmentMetadataValue",
        (F("assignmentEpoch", "int32"), F("assignmentTimestamp", "int64", tag=0, default=0)),
        flexible_since=0,
    ),
    CONSUMER_TARGET_MEMBER: MessageSchema(
        "ConsumerGroupTargetAssignmentMemberValue",
        (F("topicPartitions", _TOPIC_PARTITIONS, is_array=True),),
        flexible_since=0,
    ),
    CONSUMER_CURRENT: MessageSchema(
        "ConsumerGroupCurrentMemberAssignmentValue",
        (
            F("memberEpoch", "int32"),
            F("previousMemberEpoch", "int32"),
            F("state", "int8"),
            F("assignedPartitions", _TOPIC_PARTITIONS_WITH_EPOCHS, is_array=True),
            F("partitionsPendingRevocation", _TOPIC_PARTITIONS_WITH_EPOCHS, is_array=True),
        ),
        flexible_since=0,
    ),
    CONSUMER_PATTERN: MessageSchema(
        "ConsumerGroupRegularExpressionValue",
        (F("topics", "string", is_array=True), F("version", "int64"), F("timestamp", "int64")),
        flexible_since=0,
    ),
    STREAMS_GROUP: MessageSchema(
        "StreamsGroupMetadataValue",
        (
            F("epoch", "int32"),
            F("metadataHash", "int64"),
            F("validatedTopologyEpoch", "int32", tag=0, default=-1),
            F("lastAssignmentConfigs", _KEY_VALUE, is_array=True, nullable_since=0, tag=1),
        ),
        flexible_since=0,
    ),
    STREAMS_MEMBER: MessageSchema(
        "StreamsGroupMemberMetadataValue",
        (
            F("instanceId", "string", nullable_since=0),
            F("rackId", "string", nullable_since=0),
            F("clientId", "string"),
            F("clientHost", "string"),
            F("rebalanceTimeoutMs", "int32"),
            F("topologyEpoch", "int32"),
            F("processId", "string"),
            F("userEndpoint", (F("host", "string"), F("port", "uint16")), nullable_since=0),
            F("clientTags", _KEY_VALUE, is_array=True),
        ),
        flexible_since=0,
    ),
    STREAMS_TARGET: MessageSchema(
        "StreamsGroupTargetAssignmentMetadataValue",
        (F("assignmentEpoch", "int32"), F("assignmentTimestamp", "int64", tag=0, default=0)),
        flexible_since=0,
    ),
    STREAMS_TARGET_MEMBER: MessageSchema(
        "StreamsGroupTargetAssignmentMemberValue",
        tuple(F(f"{role}Tasks", _TASKS, is_array=True) for role in ("active", "standby", "warmup")),
        flexible_since=0,
    ),
    STREAMS_CURRENT: MessageSchema(
        "StreamsGroupCurrentMemberAssignmentValue",
        (
            F("memberEpoch", "int32"),
            F("previousMemberEpoch", "int32"),
            F("state", "int8"),
            *(F(f"{role}Tasks", _TASKS_WITH_EPOCHS, is_array=True) for role in ("active", "standby", "warmup")),
            *(
                F(f"{role}TasksPendingRevocation", _TASKS_WITH_EPOCHS, is_array=True)
                for role in ("active", "standby", "warmup")
            ),
        ),
        flexible_since=0,
    ),
    STREAMS_TOPOLOGY: MessageSchema(
        "StreamsGroupTopologyValue",
        (F("epoch", "int32"), F("subtopologies", _SUBTOPOLOGY, is_array=True)),
        flexible_since=0,
    ),
}
