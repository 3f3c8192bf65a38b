"""Assignment problems of applications and consumer groups as JSON lines, and the answers of assignors to them.

The schema is documented in `docs/reference/problems.md`; problems may have recorded answers of real Kafka.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from inspect import signature
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from assignors import registry
from assignors.consumers.registry import find as find_consumer_assignor
from assignors.containment.contained import ContainedAssignor, assignor_name
from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.errors import AssignorError, ConfigError, CustomAssignorError, InvalidAssignmentError, KafkaError
from assignors.java.hash_order import CollectionOrder
from assignors.model.assignment import AssignmentColumns, TaskType
from assignors.model.columns import IntArray
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from assignors.model.consumer_group import (
    NO_GENERATION,
    ConsumerAssignment,
    ConsumerGroupState,
    ConsumerMember,
    ConsumerTopic,
    SubscriptionType,
)
from assignors.model.ids import ProcessId, TaskId, TopicId, TopicPartition
from assignors.model.state import UNKNOWN_THREAD, ApplicationState, KafkaStreamsState, TaskInfo, TaskTopicPartition
from assignors.tasks.rack_aware import rack_costs
from simulator.plurals import counted
from simulator.results.schema_checks import SchemaError, check_record, read_json

MAX_PARTITIONS = 1_000_000
"""Maximum number of partitions of a topic: Kafka allows more, but assignors take a step for each."""

_Generation = Annotated[int, Field(ge=NO_GENERATION, le=2**31 - 1)]


class _ProblemModel(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _ConsumerMember(_ProblemModel):
    id: str
    topics: list[str] = []
    instance: str | None = None
    rack: str | None = None
    owned: list[str] = []
    generation: _Generation = NO_GENERATION
    user_data_generation: _Generation | None = None


class _Topic(_ProblemModel):
    name: str
    partitions: Annotated[int, Field(ge=0, le=MAX_PARTITIONS)]
    id: str | None = None
    racks: list[list[str | None]] = []


class _ConsumerProblem(_ProblemModel):
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


Json = Mapping[str, Any]
Long = Annotated[int, Field(ge=-(2**63) + 1, le=2**63 - 1)]
Offset = Annotated[int, Field(ge=0, le=2**63 - 1)]
Int = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]

MAX_THREADS: Final = 1_000
"""Maximum number of threads of a client: assignors that distribute tasks to threads take a step for each of them."""


class ProblemError(ValueError):
    """A line that is not a valid problem."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One line of a problem file: the problem, and the expected answer if recorded.

    `expected`: for collections sorted by id. `expected_hash_order`: in hash order, as in production, if different.
    """

    line: int
    problem: Json
    expected: Json | None = None
    expected_hash_order: Json | None = None

    @property
    def id(self) -> str:
        """Return the id of the problem."""
        return str(self.problem.get("id", f"line {self.line}"))

    @property
    def is_of_consumers(self) -> bool:
        """Return whether it is a problem of a consumer group, which has members instead of clients."""
        return "members" in self.problem and "clients" not in self.problem

    @property
    def kind(self) -> tuple[str, str]:
        """Return the assignor and the rack-aware strategy of the problem, or the protocol of a consumer group."""
        if self.is_of_consumers:
            return str(self.problem["assignor"]), str(self.problem.get("protocol", ""))
        strategy = self.problem.get("configs", {}).get("rack_aware_assignment_strategy", "none")
        return str(self.problem["assignor"]), str(strategy)

    def expected_answer(self, order: CollectionOrder) -> Json | None:
        """Return the expected answer for collections in this order; most answers do not depend on it."""
        in_production = order == CollectionOrder.PRODUCTION and self.expected_hash_order is not None
        return self.expected_hash_order if in_production else self.expected


def read_problems(source: Iterable[str], name: str) -> Iterator[Problem]:
    """Yield the problems of a file, one per line; blank lines are skipped.

    Raises ProblemError if a line is not JSON, or not a problem.
    """
    for number, text in enumerate(source, start=1):
        if not text.strip():
            continue
        try:
            content = read_json(text)
            if not isinstance(content, dict):
                raise SchemaError(f"expected a JSON object with a problem, found {type(content).__name__}")
            problem = Problem(number, content)
            if isinstance(content.get("problem"), dict):
                check_record(_ExpectedAnswers, content)
                answers = content.get("expected"), content.get("expected_hash_order")
                problem = Problem(number, content["problem"], *answers)
        except SchemaError as error:
            raise ProblemError(f"{name}:{number}: {error}") from None
        required = ("assignor", "members", "topics") if problem.is_of_consumers else ("assignor", "tasks", "clients")
        missing = [key for key in required if key not in problem.problem]
        if missing:
            raise ProblemError(f"{name}:{number}: the problem has no {', '.join(missing)}")
        yield problem


class _ExpectedAnswer(_ProblemModel):
    """Fields that are compared; a missing one is not."""

    assignment: dict[str, dict[str, list[str]] | list[str]] | None = None
    probing_rebalance: bool = False
    active_cost: int | None = None
    stateless_cost: int | None = None
    standby_cost: int | None = None
    error: str | None = None


class _ExpectedAnswers(_ProblemModel):
    expected: _ExpectedAnswer | None = None
    expected_hash_order: _ExpectedAnswer | None = None


class _Configs(_ProblemModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    acceptable_recovery_lag: Long = 10_000
    max_warmup_replicas: Int = 2
    num_standby_replicas: Int = 0
    probing_rebalance_interval_ms: Long = 600_000
    rack_aware_assignment_tags: list[str] = []
    rack_aware_traffic_cost: Int | None = None
    rack_aware_non_overlap_cost: Int | None = None
    rack_aware_assignment_strategy: str = RackAwareStrategy.NONE.value


class _Task(_ProblemModel):
    id: str
    stateful: bool
    source_partitions: list[str] = []
    changelog_partitions: list[str] = []


class _Client(_ProblemModel):
    process_id: str
    rack: str | None = None
    threads: Annotated[int, Field(ge=1, le=MAX_THREADS)] = 1
    tags: dict[str, str] = {}
    previous_active: list[str] = []
    previous_standby: list[str] = []
    task_lags: dict[str, Long] = {}
    task_offsets: dict[str, Offset] = {}
    task_end_offsets: dict[str, Offset] = {}
    instance_id: str | None = None
    previous_threads: list[list[str]] = []


class _ProblemDocument(_ProblemModel):
    assignor: str
    kafka: str | None = None
    configs: _Configs = _Configs()
    tasks: list[_Task]
    partition_racks: dict[str, list[str | None] | None] = {}
    clients: list[_Client]


def parse_problem(problem: Json) -> ApplicationState:
    """Build the application state of a problem.

    Raises ConfigError if Kafka rejects a config value, and ValueError if the problem does not conform to the schema.
    """
    document = check_record(_ProblemDocument, problem)
    state = ApplicationState.of(
        tasks=[_parse_task(task, document.partition_racks) for task in document.tasks],
        clients=[_parse_client(client) for client in document.clients],
        configs=_parse_configs(document.configs),
    )
    if not any(client.previous_threads for client in document.clients):
        return state
    threads = np.full(state.lags.shape, UNKNOWN_THREAD, dtype=np.int64)
    for client in document.clients:
        column = state.row_of_client[ProcessId.parse(client.process_id)]
        if len(client.previous_threads) > client.threads:
            counts = f"{counted(client.threads, 'thread')}, but previous_threads has {len(client.previous_threads)}"
            raise ValueError(f"client {client.process_id} has {counts}")
        for thread, names in enumerate(client.previous_threads):
            rows = [state.row_of_task.get(TaskId.parse(name)) for name in names]
            threads[[row for row in rows if row is not None], column] = thread
    return replace(state, previous_thread=threads)


def problem_document(state: ApplicationState, id_: str, assignor: str) -> dict[str, Any]:
    """Return a state as a problem in JSON, from which `parse_problem` builds an equal state.

    Tasks and clients are in the order in which the caller of Kafka's assignors lists them. Left out is what problems do
    not have: what each thread reported, and a second copy of a task in a process.
    """
    tasks, clients = list(state.all_tasks.values()), list(state.kafka_streams_states.values())
    task_order, client_order = state.task_insertion_order, state.client_insertion_order
    racks = {
        str(partition.topic_partition): list(partition.rack_ids)
        for task in tasks
        for partition in task.topic_partitions
        if partition.rack_ids is not None
    }
    return {
        "id": id_,
        "assignor": assignor,
        "configs": {
            **asdict(state.assignment_configs),
            "rack_aware_assignment_tags": list(state.assignment_configs.rack_aware_assignment_tags),
            "rack_aware_assignment_strategy": str(state.assignment_configs.rack_aware_assignment_strategy),
        },
        "tasks": [_task_document(tasks[row]) for row in _listed(task_order, len(tasks))],
        "partition_racks": racks,
        "clients": [
            _client_document(clients[row]) | _previous_threads(state, row)
            for row in _listed(client_order, len(clients))
        ],
    }


def _listed(order: IntArray | None, count: int) -> list[int]:
    return list(range(count)) if order is None else order.tolist()


def _previous_threads(state: ApplicationState, column: int) -> dict[str, Any]:
    """Return the tasks that each thread of a client held; nothing if no thread of a task is known."""
    if state.previous_thread is None or (state.previous_thread == UNKNOWN_THREAD).all():
        return {}
    held = state.previous_thread[:, column]
    threads = range(int(state.clients.threads[column]))
    return {"previous_threads": [[str(state.tasks.ids[row]) for row in np.flatnonzero(held == one)] for one in threads]}


def _task_document(task: TaskInfo) -> dict[str, Any]:
    def names(partitions: Iterable[TaskTopicPartition]) -> list[str]:
        return [str(partition.topic_partition) for partition in partitions]

    return {
        "id": str(task.id),
        "stateful": task.is_stateful,
        "source_partitions": names(one for one in task.topic_partitions if one.is_source),
        "changelog_partitions": names(one for one in task.topic_partitions if one.is_changelog),
    }


def _client_document(client: KafkaStreamsState) -> dict[str, Any]:
    def by_task(values: Mapping[TaskId, int]) -> dict[str, int]:
        return {str(task): value for task, value in values.items()}

    return {
        "process_id": str(client.process_id),
        "rack": client.rack_id,
        "threads": client.num_processing_threads,
        "tags": dict(client.client_tags),
        "previous_active": list(map(str, client.previous_active_tasks)),
        "previous_standby": list(map(str, client.previous_standby_tasks)),
        "task_lags": by_task(client.task_lags),
        "task_offsets": by_task(client.task_offsets),
        "task_end_offsets": by_task(client.task_end_offsets),
        "instance_id": client.instance_id,
    }


def _parse_configs(configs: _Configs) -> AssignmentConfigs:
    return AssignmentConfigs(
        **{
            **configs.model_dump(),
            "rack_aware_assignment_tags": tuple(configs.rack_aware_assignment_tags),
            "rack_aware_assignment_strategy": RackAwareStrategy.parse(configs.rack_aware_assignment_strategy),
        }
    )


def _parse_task(task: _Task, racks: Mapping[str, list[str | None] | None]) -> TaskInfo:
    partitions = []
    for name in dict.fromkeys([*task.source_partitions, *task.changelog_partitions]):
        replicas = racks.get(name)
        partitions.append(
            TaskTopicPartition(
                TopicPartition.parse(name),
                is_source=name in task.source_partitions,
                is_changelog=name in task.changelog_partitions,
                rack_ids=None if replicas is None else tuple(replicas),
            )
        )
    return TaskInfo(TaskId.parse(task.id), task.stateful, tuple(partitions))


def _parse_client(client: _Client) -> KafkaStreamsState:
    return KafkaStreamsState(
        process_id=ProcessId.parse(client.process_id),
        num_processing_threads=client.threads,
        rack_id=client.rack,
        client_tags=client.tags,
        previous_active_tasks=tuple(map(TaskId.parse, client.previous_active)),
        previous_standby_tasks=tuple(map(TaskId.parse, client.previous_standby)),
        task_lags={TaskId.parse(task): lag for task, lag in client.task_lags.items()},
        task_offsets={TaskId.parse(task): offset for task, offset in client.task_offsets.items()},
        task_end_offsets={TaskId.parse(task): offset for task, offset in client.task_end_offsets.items()},
        instance_id=client.instance_id,
    )


_CLIENTS_WITHOUT_RELEASE: Final = "4.3"
"""Release of clients of a problem without `kafka`: up to this one, all give the same answers, so none was recorded."""

ProblemAnswer = dict[str, Any]


def solve_problem(
    problem: Problem,
    name: str,
    assignor: registry.AssignorInfo | None = None,
    order: CollectionOrder = CollectionOrder.PRODUCTION,
    limits: CallLimits = DEFAULT_LIMITS,
) -> ProblemAnswer:
    """Solve a problem with the assignor that it names, or with another one.

    `name`: the file name for messages. `order`: the order of collections, for assignors whose answers depend on it; the
    default also keeps the order in which the problem lists tasks and clients. `limits`: limits of a custom assignor.
    Returns the answer; `nanos` is the time of the assignor alone, and `error` holds a Kafka exception, or what went
    wrong with a custom assignor. Raises ProblemError if the problem does not conform to the schema, or its assignor is
    unknown.
    """
    if problem.is_of_consumers:
        return _solve_consumer_problem(problem, name, assignor)
    try:
        info = assignor or _named_assignor(problem.problem)
        parameters = signature(info.make).parameters if info.parameter_names is None else info.parameter_names
        strategy = registry.make_contained(info, {"order": order} if "order" in parameters else {}, limits)
        state = parse_problem(problem.problem)
    except ConfigError as error:
        return _error_answer(problem, error, 0)
    except (AssignorError, ValueError) as error:
        raise ProblemError(f"{name}:{problem.line}: {error}") from None
    started = time.perf_counter_ns()
    try:
        assignment = strategy.assign(state)
    except KafkaError as error:
        return _error_answer(problem, error, time.perf_counter_ns() - started)
    except (CustomAssignorError, InvalidAssignmentError) as error:
        named = CustomAssignorError(f"{assignor_name(strategy)}: {error}")
        return _error_answer(problem, named, time.perf_counter_ns() - started)
    nanos = time.perf_counter_ns() - started
    if isinstance(strategy, ContainedAssignor):
        nanos = strategy.nanos
    try:
        columns = AssignmentColumns.of(state, assignment)
    except InvalidAssignmentError as error:
        return _error_answer(problem, error, nanos)
    costs = rack_costs(state, columns, info.weights.configured(state.assignment_configs).traffic_cost)
    return {
        "id": problem.id,
        "assignment": {
            str(client.process_id): {
                "active": _names(client.tasks, TaskType.ACTIVE),
                "standby": _names(client.tasks, TaskType.STANDBY),
            }
            for client in assignment.assignment
        },
        "probing_rebalance": assignment.followup_rebalance_delay_ms is not None,
        "active_cost": costs.active,
        "stateless_cost": costs.stateless,
        "standby_cost": costs.standby,
        "nanos": nanos,
        "error": None,
    }


def _named_assignor(problem: Json) -> registry.AssignorInfo:
    """Return the assignor that a problem names, of its release."""
    info = registry.find(str(problem["assignor"]))
    stated = problem.get("kafka")
    release = None if stated is None else str(stated)  # The schema is checked later.
    return info.in_group(release, release or _CLIENTS_WITHOUT_RELEASE)


def _solve_consumer_problem(problem: Problem, name: str, assignor: registry.AssignorInfo | None) -> ProblemAnswer:
    try:
        if assignor is not None:
            raise ValueError(f"{assignor.name} assigns tasks, but this is a problem of a consumer group")
        state = parse_consumer_problem(problem.problem)
        strategy = find_consumer_assignor(str(problem.problem["assignor"]), problem.problem.get("protocol")).make()
    except (AssignorError, ValueError) as error:
        raise ProblemError(f"{name}:{problem.line}: {error}") from None
    started = time.perf_counter_ns()
    answer: ProblemAnswer = {"id": problem.id, "assignment": None, "withheld": {}, "nanos": 0, "error": None}
    try:
        assignment = strategy.assign(state)
    except KafkaError as error:
        return {**answer, "nanos": time.perf_counter_ns() - started, "error": str(error)}
    nanos = time.perf_counter_ns() - started
    withheld = {str(state.topic_partition(key)): state.member_ids[member] for key, member in assignment.withheld}
    return {**answer, "assignment": consumer_answer(state, assignment), "withheld": withheld, "nanos": nanos}


def _names(tasks: Mapping[TaskId, TaskType], role: TaskType) -> list[str]:
    return [str(task) for task in sorted(task for task, task_type in tasks.items() if task_type is role)]


def _error_answer(problem: Problem, error: AssignorError, nanos: int) -> ProblemAnswer:
    empty_fields = dict.fromkeys(("assignment", "active_cost", "stateless_cost", "standby_cost"))
    return {"id": problem.id, **empty_fields, "probing_rebalance": False, "nanos": nanos, "error": str(error)}


def answer_differences(expected: Json, given: Json) -> list[str]:
    """Return the fields in which an answer differs from the expected one; of errors, only the class is compared."""
    if expected.get("error") or given.get("error"):
        expected_class, given_class = _error_class(expected), _error_class(given)
        return [] if expected_class == given_class else [f"error: expected {expected_class}, got {given_class}"]
    fields = ("assignment", "probing_rebalance", "active_cost", "stateless_cost", "standby_cost")
    return [
        f"{field}: expected {expected[field]}, got {given.get(field)}"
        for field in fields
        if field in expected and expected[field] != given.get(field)
    ]


def _error_class(answer: Json) -> str | None:
    error = answer.get("error")
    return None if error is None else str(error).split(":", 1)[0]
