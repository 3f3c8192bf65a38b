"""Ids of tasks, processes and partitions, in Kafka's orders.

Source: `org.apache.kafka.streams.processor.TaskId`, `org.apache.kafka.streams.processor.assignment.ProcessId`,
`org.apache.kafka.common.TopicPartition`, `org.apache.kafka.common.Uuid`.
"""

from __future__ import annotations

import base64
import hashlib
import re
import uuid
from dataclasses import dataclass
from typing import NamedTuple

_TASK_ID = re.compile(r"(\d{1,9})_(\d{1,9})")
_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_SIGN_BIT = 1 << 63
_TWO_64 = 1 << 64


class TaskId(NamedTuple):
    """A task id: subtopology and partition; 2_0 sorts before 10_0, as in Kafka.

    Attributes:
        subtopology: number of the subtopology.
        partition: partition of the source topics.

    Examples:
        >>> str(TaskId.parse("0_3"))
        '0_3'
    """

    subtopology: int
    partition: int

    @classmethod
    def parse(cls, text: str) -> TaskId:
        """Parse a task id such as `0_3`.

        Returns:
            The task id.

        Raises:
            ValueError: the text is not two numbers joined by an underscore.
        """
        match = _TASK_ID.fullmatch(text)
        if match is None:
            raise ValueError(f"'{text}' is not a task id (expected SUBTOPOLOGY_PARTITION, as in 0_3)")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.subtopology}_{self.partition}"


class PartitionTask(TaskId):
    """A partition as the task of a consumer group; equal to the task id with the same numbers.

    Attributes:
        topic: name of the topic, whose number is `subtopology`.

    Examples:
        >>> str(PartitionTask(0, 3, "orders"))
        'orders-3'
    """

    topic: str

    def __new__(cls, subtopology: int, partition: int, topic: str) -> PartitionTask:
        """Return the task of a partition."""
        task = super().__new__(cls, subtopology, partition)
        task.topic = topic
        return task

    def __getnewargs__(self) -> tuple[int, int, str]:
        return self.subtopology, self.partition, self.topic

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def _signed(bits: int) -> int:
    return bits - _TWO_64 if bits & _SIGN_BIT else bits


@dataclass(frozen=True, slots=True, order=True)
class ProcessId:
    """The id of a Kafka Streams process: a UUID in the order of `java.util.UUID.compareTo`.

    Java compares the two halves as signed 64-bit numbers, so 80000000-… sorts before 00000000-….

    Attributes:
        most_significant_bits: upper half, signed.
        least_significant_bits: lower half, signed.

    Examples:
        >>> str(ProcessId.parse("00000000-0000-0000-0000-000000000001"))
        '00000000-0000-0000-0000-000000000001'
    """

    most_significant_bits: int
    least_significant_bits: int

    @classmethod
    def parse(cls, text: str) -> ProcessId:
        """Parse a UUID such as `00000000-0000-0000-0000-000000000001`.

        Returns:
            The process id.

        Raises:
            ValueError: the text is not a UUID.
        """
        try:
            return cls.of(uuid.UUID(text))
        except ValueError:
            raise ValueError(f"'{text}' is not a process id (expected a UUID)") from None

    @classmethod
    def of(cls, value: uuid.UUID) -> ProcessId:
        """Return the process id of a Python UUID."""
        return cls(_signed(value.int >> 64), _signed(value.int & (_TWO_64 - 1)))

    def __str__(self) -> str:
        high, low = self.most_significant_bits % _TWO_64, self.least_significant_bits % _TWO_64
        digits = f"{high:016x}{low:016x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


class TopicPartition(NamedTuple):
    """One partition of one topic.

    Attributes:
        topic: name of the topic.
        partition: number of the partition, from 0.

    Examples:
        >>> TopicPartition.parse("orders-3")
        TopicPartition(topic='orders', partition=3)
        >>> str(TopicPartition("orders", 3))
        'orders-3'
    """

    topic: str
    partition: int

    @classmethod
    def parse(cls, text: str) -> TopicPartition:
        """Parse a partition such as `orders-3`; the topic may contain dashes.

        Returns:
            The partition.

        Raises:
            ValueError: the text does not end in a dash and a number.
        """
        topic, dash, partition = text.rpartition("-")
        if not dash or not topic or not partition.isdecimal():
            raise ValueError(f"'{text}' is not a topic partition (expected TOPIC-PARTITION, as in orders-3)")
        return cls(topic, int(partition))

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True, order=True)
class TopicId:
    """The id of a topic: a UUID in the order of `org.apache.kafka.common.Uuid.compareTo`, of signed halves.

    Attributes:
        most_significant_bits: upper half, signed.
        least_significant_bits: lower half, signed.

    Examples:
        >>> str(TopicId.of(uuid.UUID(int=1)))
        'AAAAAAAAAAAAAAAAAAAAAQ'
    """

    most_significant_bits: int
    least_significant_bits: int

    @classmethod
    def of(cls, value: uuid.UUID) -> TopicId:
        """Return the topic id of a Python UUID."""
        return cls(_signed(value.int >> 64), _signed(value.int & (_TWO_64 - 1)))

    @classmethod
    def parse(cls, text: str) -> TopicId:
        """Parse a topic id as Kafka prints it: 16 bytes in URL-safe base64 without padding.

        Returns:
            The topic id.

        Raises:
            ValueError: the text is not a topic id.
        """
        if _TOPIC_ID.fullmatch(text) is None:
            raise ValueError(f"'{text}' is not a topic id (expected 22 characters of URL-safe base64)")
        return cls.of(uuid.UUID(bytes=base64.urlsafe_b64decode(text + "==")))

    @classmethod
    def of_name(cls, topic: str) -> TopicId:
        """Return an id that depends on the name only, for a topic whose id is unknown; Kafka's ids are random."""
        return cls.of(uuid.UUID(bytes=hashlib.blake2b(topic.encode("utf-8", "surrogatepass"), digest_size=16).digest()))

    def __str__(self) -> str:
        high, low = self.most_significant_bits % _TWO_64, self.least_significant_bits % _TWO_64
        return base64.urlsafe_b64encode(((high << 64) | low).to_bytes(16)).decode("ascii").rstrip("=")
