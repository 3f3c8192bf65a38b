"""JUnit tests of the sequences that a search found, for assignors of group coordinators in Java."""

from __future__ import annotations

from collections.abc import Sequence

from assignors import registry
from assignors.jvm.assignor import MakeCoordinatorAssignor
from assignors.model.sequence import UNCHANGED_ROUNDS
from assignors.registry import AssignorLike
from assignors.tasks.streams_group_sticky import has_public_interfaces
from reports.analysis.review.sequences import FoundSequence
from reports.render.junit_sequence import has_junit_test, junit_class, junit_test


def junit_target(assignor: AssignorLike) -> tuple[str, bool] | None:
    """Return the class of an assignor of group coordinators, and whether it has the interfaces of KIP-1357.

    None if it is another assignor, or is not in Java. Raises AssignorError if it is unknown.
    """
    info = registry.resolve(assignor).info
    if isinstance(info.make, MakeCoordinatorAssignor):
        return info.make.java.name, info.make.java.has_public_interfaces
    if info.in_streams_groups and info.identical:
        return info.qualified_class, has_public_interfaces(info.release or info.releases[-1])
    return None


def junit_tests(assignor: AssignorLike, violations: Sequence[FoundSequence], origin: str) -> dict[str, str]:
    """Return a JUnit test for each violated invariant by file name; none if the assignor cannot have one.

    `origin`: the command that found the violations.
    """
    target = junit_target(assignor)
    if target is None:
        return {}
    tests = {}
    for found in filter(has_junit_test, violations):
        origin_of = f"{origin}, sequence {found.number}"
        text = junit_test(found, target[0], origin_of, has_api=target[1], unchanged_rounds=UNCHANGED_ROUNDS)
        tests[f"{junit_class(found)}.java"] = text
    return tests
