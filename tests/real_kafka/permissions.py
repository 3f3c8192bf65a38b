"""Permissions (ACLs) of a user, granted and taken away on a real cluster."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from tests.real_kafka.reassigning import KafkaAdminClient

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.admin import (
        ACL,
        ACLFilter,
        ACLOperation,
        ACLPermissionType,
        ACLResourcePatternType,
        ResourcePattern,
        ResourcePatternFilter,
        ResourceType,
    )

PERMISSIONS = (
    "Cluster Describe",
    "Cluster DescribeConfigs",
    "Group Describe",
    "Group DescribeConfigs",
    "Topic Describe",
    "Topic DescribeConfigs",
)
"""Permissions of docs/reference/security.md, by resource and operation."""
_OPERATIONS = {"Describe": ACLOperation.DESCRIBE, "DescribeConfigs": ACLOperation.DESCRIBE_CONFIGS}
_SPREAD_S = 1.0
"""Time in which all brokers learn of a change."""


class Permissions:
    """Permissions of a user, as a context manager.

    Args:
        bootstrap_servers: addresses of a listener whose clients may change permissions.
        principal: the user, as in `User:import`.
        permissions: resource and operation of each, as in `PERMISSIONS`.
    """

    def __init__(self, bootstrap_servers: str, principal: str, permissions: Sequence[str]) -> None:
        self._principal = principal
        self._permissions = permissions
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers)

    def __enter__(self) -> Self:
        self._grant(self._permissions)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._admin.close()

    @contextmanager
    def without(self, permission: str) -> Iterator[None]:
        """Take a permission away until the block ends."""
        kind, name, operation = _parse(permission)
        pattern = ResourcePatternFilter(kind, name, ACLResourcePatternType.LITERAL)
        self._admin.delete_acls([ACLFilter(self._principal, "*", operation, ACLPermissionType.ANY, pattern)])
        time.sleep(_SPREAD_S)
        yield
        self._grant([permission])

    def _grant(self, permissions: Sequence[str]) -> None:
        acls = [
            ACL(self._principal, "*", operation, ACLPermissionType.ALLOW, ResourcePattern(kind, name))
            for kind, name, operation in map(_parse, permissions)
        ]
        assert not self._admin.create_acls(acls)["failed"]
        time.sleep(_SPREAD_S)


def _parse(permission: str) -> tuple[ResourceType, str, ACLOperation]:
    resource, operation = permission.split()
    name = "kafka-cluster" if resource == "Cluster" else "*"
    return ResourceType[resource.upper()], name, _OPERATIONS[operation]
