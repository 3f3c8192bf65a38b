"""The mistakes that an assignor can meet.

```
AssignorError                   everything below; never a fault of the program itself
├── UnknownAssignorError        no assignor goes by this name
├── InvalidAssignmentError      an assignor's answer breaks the contract (see assignment.validate)
└── KafkaError                  Kafka's own assignor answers this input with an exception
    ├── ConfigError             org.apache.kafka.common.config.ConfigException
    ├── IllegalStateError       java.lang.IllegalStateException
    ├── NoSuchElementError      java.util.NoSuchElementException
    ├── NullPointerError        java.lang.NullPointerException
    └── DivisionByZeroError     java.lang.ArithmeticException
```
"""

from __future__ import annotations

from typing import ClassVar


class AssignorError(Exception):
    """What an assignor, or whoever calls one, can be told."""


class UnknownAssignorError(AssignorError):
    """No assignor goes by the name that was asked for."""


class InvalidAssignmentError(AssignorError):
    """An assignor's answer is not an assignment of this application's tasks to these clients."""


class KafkaError(AssignorError):
    """Kafka's assignor would throw here; `java_class` names what."""

    java_class: ClassVar[str] = "java.lang.RuntimeException"

    def __str__(self) -> str:
        return f"{self.java_class}: {super().__str__()}"


class ConfigError(KafkaError):
    """A configuration value that Kafka refuses."""

    java_class = "org.apache.kafka.common.config.ConfigException"


class IllegalStateError(KafkaError):
    """An input that Kafka's assignor holds to be impossible."""

    java_class = "java.lang.IllegalStateException"


class NoSuchElementError(KafkaError):
    """The first of nothing was asked for."""

    java_class = "java.util.NoSuchElementException"


class NullPointerError(KafkaError):
    """What was looked for is not there, and Kafka's assignor goes on as if it were."""

    java_class = "java.lang.NullPointerException"


class DivisionByZeroError(KafkaError):
    """Tasks were to be shared among no threads at all."""

    java_class = "java.lang.ArithmeticException"
