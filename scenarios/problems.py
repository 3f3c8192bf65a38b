"""Assignment problems as JSON lines: application states, with the answers of real Kafka if they are recorded.

The schema is documented in `docs/reference/problems.md`; `scenarios.problem_answers` solves the problems.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final, TextIO

from pydantic import BaseModel, ConfigDict, Field

from assignors.java.hash_order import CollectionOrder
from assignors.model.columns import IntArray
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from assignors.model.ids import ProcessId, TaskId, TopicPartition
from assignors.model.state import ApplicationState, KafkaStreamsState, TaskInfo, TaskTopicPartition
from simulator.results.schema_checks import SchemaError, check_record, read_json

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

    Attributes:
        expected: the expected answer for collections sorted by id.
        expected_hash_order: the expected answer for collections in hash order, as in production, if different.
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


def read_problems(source: TextIO, name: str) -> Iterator[Problem]:
    """Yield the problems of a file, one per line; blank lines are skipped.

    Raises ProblemError if a line is not JSON, or not a problem.
    """
    for number, text in enumerate(source, start=1):
        if not text.strip():
            continue
        try:
            content = read_json(text)
            if isinstance(content, dict) and isinstance(content.get("problem"), dict):
                check_record(_ExpectedAnswers, content)
        except SchemaError as error:
            raise ProblemError(f"{name}:{number}: {error}") from None
        if isinstance(content, dict) and isinstance(content.get("problem"), dict):
            problem = Problem(number, content["problem"], content.get("expected"), content.get("expected_hash_order"))
        elif isinstance(content, dict):
            problem = Problem(number, content)
        else:
            raise ProblemError(
                f"{name}:{number}: expected a JSON object with a problem, found {type(content).__name__}"
            )
        required = ("assignor", "members", "topics") if problem.is_of_consumers else ("assignor", "tasks", "clients")
        missing = [key for key in required if key not in problem.problem]
        if missing:
            raise ProblemError(f"{name}:{number}: the problem has no {', '.join(missing)}")
        yield problem


class _ProblemModel(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


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
    return ApplicationState.of(
        tasks=[_parse_task(task, document.partition_racks) for task in document.tasks],
        clients=[_parse_client(client) for client in document.clients],
        configs=_parse_configs(document.configs),
    )


def problem_document(state: ApplicationState, id_: str, assignor: str) -> dict[str, Any]:
    """Return a state as a problem, from which `parse_problem` builds an equal state.

    `state`: the state. Threads of previous tasks are left out, since problems do not have them. Returns the problem as
    JSON; tasks and clients are in the order in which the caller of Kafka's assignors lists them.
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
        "clients": [_client_document(clients[row]) for row in _listed(client_order, len(clients))],
    }


def _listed(order: IntArray | None, count: int) -> list[int]:
    return list(range(count)) if order is None else order.tolist()


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
