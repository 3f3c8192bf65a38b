"""A task assignor in Java as an assignor of this project."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.errors import AssignorError, CustomAssignorError, KafkaError, UnknownAssignorError
from assignors.java.hash_order import CollectionOrder
from assignors.jvm.call_times import record_call
from assignors.jvm.messages import StateEncoder, decode_group, encode_group
from assignors.jvm.process import LOCK, JavaError, java_process
from assignors.model.assignment import TaskAssignment
from assignors.model.group_spec import GroupSpec, MemberAssignment, TopologyDescriber
from assignors.model.state import ApplicationState
from assignors.tasks.group_spec_assignor import GroupSpecAssignor

_HIGH_AVAILABILITY = "org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor"


@dataclass(frozen=True, slots=True)
class JavaClass:
    """A class that was found, and its class path.

    Attributes:
        reference: how the user names it.
        name: its qualified name.
        interface: `streams` or `coordinator`.
        classes: absolute paths of jars and class folders.
        key: names this version of the class and its jars.
        is_released: whether it is Kafka's own, as released.
    """

    reference: str
    name: str
    interface: str
    classes: tuple[str, ...]
    key: str
    is_released: bool

    def load(self) -> None:
        """Load the class in the JVM of this process.

        Raises:
            UnknownAssignorError: it cannot be loaded, or is not an assignor.
        """
        try:
            with LOCK:
                java_process(DEFAULT_LIMITS).load(self.key, self.name, self.interface, self.classes)
        except JavaError as error:
            raise UnknownAssignorError(_load_problem(self.name, error)) from error
        except CustomAssignorError as error:
            raise UnknownAssignorError(f"{self.name}: {error}") from error

    def call(self, request: bytes, limits: CallLimits) -> Mapping[str, Any]:
        """Send a request to the JVM of this process.

        Returns:
            The answer.

        Raises:
            KafkaError: Kafka's own assignor throws for this input.
            CustomAssignorError: the assignor failed, in any way.
        """
        try:
            with LOCK:
                process = java_process(limits)
                process.load(self.key, self.name, self.interface, self.classes)
                started = time.perf_counter_ns()
                answer = process.answer(request, limits.timeout_s)
                record_call(self.reference, int(answer["nanos"]), time.perf_counter_ns() - started)
        except JavaError as error:
            raise self._failure(error) from error
        except UnknownAssignorError as error:
            raise CustomAssignorError(str(error)) from error
        return answer

    def _failure(self, error: JavaError) -> AssignorError:
        if self.is_released:
            for kafka_error in _subclasses(KafkaError):
                if kafka_error.java_class == error.java_class:
                    return kafka_error(error.message)
        place = f" ({error.location})" if error.location else ""
        return CustomAssignorError(f"raised {error}{place}")


@dataclass(frozen=True, slots=True)
class JavaAssignor:
    """A task assignor in Java; for streams groups, one that a group coordinator runs.

    Attributes:
        java: its class.
        order: for streams groups, as in `GroupSpecAssignor`.
        members: for streams groups, as in `GroupSpecAssignor`.
        limits: limits of each call, and of the heap.
    """

    java: JavaClass
    order: CollectionOrder = CollectionOrder.PRODUCTION
    members: Mapping[str, str] = field(default_factory=dict)
    limits: CallLimits = DEFAULT_LIMITS
    _encoder: StateEncoder = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_encoder", StateEncoder(self.java.key))

    @property
    def class_name(self) -> str:
        """Return the simple name of the class, for messages."""
        return self.java.name.rpartition(".")[2]

    @property
    def falls_back_without_lags(self) -> bool:
        """Return whether Kafka replaces the assignor by its fallback while lags are unknown."""
        return self.java.name == _HIGH_AVAILABILITY

    def with_limits(self, limits: CallLimits) -> JavaAssignor:
        """Return the same assignor with these limits."""
        return JavaAssignor(self.java, self.order, self.members, limits)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Ask the JVM.

        Returns:
            The assignment; of a class for streams groups, it is validated.

        Raises:
            AssignorError: see `JavaClass.call`, or the assignment is invalid.
        """
        if self.java.interface == "coordinator":
            return GroupSpecAssignor(_CoordinatorCall(self.java, self.limits), self.order, self.members).assign(state)
        return self._encoder.decode(state, self.java.call(self._encoder.encode(state), self.limits))


@dataclass(frozen=True, slots=True)
class _CoordinatorCall:
    """The assignor of a streams group (`StreamsGroupAssignor`)."""

    java: JavaClass
    limits: CallLimits

    def assign(self, group_spec: GroupSpec, topology_describer: TopologyDescriber) -> Mapping[str, MemberAssignment]:
        return decode_group(self.java.call(encode_group(self.java.key, group_spec, topology_describer), self.limits))


@dataclass(frozen=True, slots=True)
class MakeJavaAssignor:
    """Builds an assignor of clients; it has no parameters.

    Attributes:
        java: its class.
    """

    java: JavaClass

    def __call__(self) -> JavaAssignor:
        """Build the assignor."""
        return JavaAssignor(self.java)


@dataclass(frozen=True, slots=True)
class MakeCoordinatorAssignor:
    """Builds an assignor of a group coordinator.

    Attributes:
        java: its class.
    """

    java: JavaClass

    def __call__(
        self,
        order: CollectionOrder = CollectionOrder.PRODUCTION,
        members: Mapping[str, str] = MappingProxyType({}),
    ) -> JavaAssignor:
        """Build the assignor; the parameters are those of `GroupSpecAssignor`."""
        return JavaAssignor(self.java, CollectionOrder(order), dict(members))


def _load_problem(name: str, error: JavaError) -> str:
    if error.java_class == "java.lang.ClassNotFoundException" and error.message == name:
        return f"its jars have no class {name}"
    if error.java_class in ("java.lang.ClassNotFoundException", "java.lang.NoClassDefFoundError"):
        return f"its jars have no class {error.message.replace('/', '.')}, which {name} needs"
    if error.java_class == "java.lang.ClassCastException":
        return f"{name} is not an assignor: it {error.message}"
    if error.java_class == "java.lang.NoSuchMethodException":
        return f"{name} has no constructor without parameters"
    if error.java_class == "java.lang.InstantiationException":
        return f"{name} is abstract"
    if error.java_class == "java.lang.UnsupportedClassVersionError":
        return f"{name} was compiled for a newer Java: {error.message}"
    return f"{name} raised {error}{f' ({error.location})' if error.location else ''}"


def _subclasses(base: type[KafkaError]) -> list[type[KafkaError]]:
    return [found for child in base.__subclasses__() for found in (child, *_subclasses(child))]
