"""Assignment problems of consumer groups as JSON, and their answers; see `docs/reference/problems.md`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from assignors.model.consumer_group import (
    NO_GENERATION,
    ConsumerAssignment,
    ConsumerGroupState,
    ConsumerMember,
    ConsumerTopic,
    SubscriptionType,
)
from assignors.model.ids import TopicId, TopicPartition
from simulator.results.schema_checks import check_record

Json = Mapping[str, Any]

MAX_PARTITIONS = 1_000_000
"""Maximum number of partitions of a topic: Kafka allows more, but assignors take a step for each."""

_Generation = Annotated[int, Field(ge=NO_GENERATION, le=2**31 - 1)]


class _ConsumerProblemModel(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _ConsumerMember(_ConsumerProblemModel):
    id: str
    topics: list[str] = []
    instance: str | None = None
    rack: str | None = None
    owned: list[str] = []
    generation: _Generation = NO_GENERATION
    user_data_generation: _Generation | None = None


class _Topic(_ConsumerProblemModel):
    name: str
    partitions: Annotated[int, Field(ge=0, le=MAX_PARTITIONS)]
    id: str | None = None
    racks: list[list[str | None]] = []


class _ConsumerProblem(_ConsumerProblemModel):
    assignor: str
    protocol: Literal["classic", "consumer"] | None = None
    members: list[_ConsumerMember]
    topics: list[_Topic]
    subscription_type: Literal["homogeneous", "heterogeneous"] | None = None
    max_generation: _Generation = NO_GENERATION


def parse_consumer_problem(problem: Json) -> ConsumerGroupState:
    """Build the state of a problem; raise ValueError if the problem does not conform to the schema."""
    document = check_record(_ConsumerProblem, problem)
    return ConsumerGroupState.of(
        members=[
            ConsumerMember(
                member_id=member.id,
                topics=tuple(member.topics),
                instance_id=member.instance,
                rack=member.rack,
                owned=tuple(map(TopicPartition.parse, member.owned)),
                generation=member.generation,
                user_data_generation=member.user_data_generation,
            )
            for member in document.members
        ],
        topics=[
            ConsumerTopic(
                topic.name,
                topic.partitions,
                tuple(map(tuple, topic.racks)),
                None if topic.id is None else TopicId.parse(topic.id),
            )
            for topic in document.topics
        ],
        subscription_type=None if document.subscription_type is None else SubscriptionType(document.subscription_type),
        max_generation=document.max_generation,
    )


def consumer_problem_document(state: ConsumerGroupState, id_: str, assignor: str, protocol: str) -> dict[str, Any]:
    """Return a state as a problem, from which `parse_consumer_problem` builds an equal state."""

    def names(keys: Sequence[int]) -> list[str]:
        return [str(state.topic_partition(key)) for key in keys]

    members = []
    for number, member_id in enumerate(state.member_ids):
        optional = {
            "instance": state.instance_ids[number],
            "rack": state.racks[number],
            "owned": names(state.owned[number]) or None,
            "generation": state.generations[number] if state.generations[number] > NO_GENERATION else None,
            "user_data_generation": state.user_data_generations[number],
        }
        topics = [state.topics[topic].name for topic in state.subscriptions[number]]
        given = {key: value for key, value in optional.items() if value is not None}
        members.append({"id": member_id, "topics": topics, **given})
    document = {
        "id": id_,
        "assignor": assignor,
        "protocol": protocol,
        "members": members,
        "topics": [
            {
                "name": topic.name,
                "partitions": topic.partitions,
                "id": str(topic.id_or_default()),
                **({"racks": list(map(list, topic.racks))} if topic.racks else {}),
            }
            for topic in state.topics
        ],
        "subscription_type": str(state.subscription_type),
    }
    return document if state.max_generation == NO_GENERATION else {**document, "max_generation": state.max_generation}


def consumer_answer(state: ConsumerGroupState, assignment: ConsumerAssignment) -> dict[str, list[str]]:
    """Return the partitions of each member by member id, in Kafka's order."""
    return {member: list(map(str, keys)) for member, keys in assignment.by_member(state).items()}
