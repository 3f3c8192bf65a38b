"""The exceptions of assignors.

```
AssignorError                   base class
├── UnknownAssignorError        no assignor has this name, or it rejects its parameters
├── InvalidAssignmentError      an assignment violates the contract (see `validate_assignment`)
├── CustomAssignorError         an assignor that is not of this project failed, in any way
│   ├── ChangedStateError       it changed its input
│   └── NotDeterministicError   it gave different answers for the same state
└── KafkaError                  Kafka's own assignor throws for this input
    ├── ConfigError             org.apache.kafka.common.config.ConfigException
    ├── IllegalStateError       java.lang.IllegalStateException
    ├── NoSuchElementError      java.util.NoSuchElementException
    ├── NullPointerError        java.lang.NullPointerException
    ├── DivisionByZeroError     java.lang.ArithmeticException
    ├── PartitionAssignorError  org.apache.kafka.coordinator.group.api.assignor.PartitionAssignorException
    └── EndlessLoopError        none: Kafka's assignor never returns
```
"""

from __future__ import annotations

from typing import ClassVar


class AssignorError(Exception):
    """The base class of the exceptions of assignors."""


class UnknownAssignorError(AssignorError):
    """No assignor has the name, or it rejects its parameters."""


class InvalidAssignmentError(AssignorError):
    """An assignor did not return a valid assignment of the application's tasks to its clients."""


class CustomAssignorError(AssignorError):
    """A custom assignor raised an exception, exited, took too long, changed its input, or was not deterministic."""


class ChangedStateError(CustomAssignorError):
    """A custom assignor changed the state, which is read-only, or tried to."""


class NotDeterministicError(CustomAssignorError):
    """A custom assignor gave different answers for the same state."""


class KafkaError(AssignorError):
    """Kafka's own assignor throws for this input. `java_class`: class of Kafka's exception."""

    java_class: ClassVar[str] = "java.lang.RuntimeException"

    def __str__(self) -> str:
        return f"{self.java_class}: {super().__str__()}"


class ConfigError(KafkaError):
    """Kafka rejects the value of a config."""

    java_class = "org.apache.kafka.common.config.ConfigException"


class IllegalStateError(KafkaError):
    """Kafka's assignor detects an impossible input."""

    java_class = "java.lang.IllegalStateException"


class NoSuchElementError(KafkaError):
    """Kafka's assignor reads the first element of an empty collection."""

    java_class = "java.util.NoSuchElementException"


class NullPointerError(KafkaError):
    """Kafka's assignor dereferences null because it does not check that it found a client."""

    java_class = "java.lang.NullPointerException"


class DivisionByZeroError(KafkaError):
    """Kafka's assignor divides tasks by zero threads."""

    java_class = "java.lang.ArithmeticException"


class PartitionAssignorError(KafkaError):
    """The assignor of a group coordinator rejects its input."""

    java_class = "org.apache.kafka.coordinator.group.api.assignor.PartitionAssignorException"


class EndlessLoopError(KafkaError):
    """Kafka's own assignor never returns for this input."""

    java_class = "endless loop"
