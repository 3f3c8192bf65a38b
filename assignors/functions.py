"""Functions as assignors, of tasks from a state or of a streams group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from assignors.errors import InvalidAssignmentError
from assignors.model.assignment import TaskAssignment
from assignors.model.group_spec import GroupSpec, MemberAssignment, TopologyDescriber
from assignors.model.state import ApplicationState


@dataclass(frozen=True, slots=True)
class FunctionAssignor:
    """A task assignor that calls a function.

    `function`: computes an assignment from a state; must be pure and deterministic.
    """

    function: Callable[[ApplicationState], TaskAssignment]

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Call the function.

        Raises InvalidAssignmentError if the function returns something else than a `TaskAssignment`.
        """
        assignment = self.function(state)
        if not isinstance(assignment, TaskAssignment):
            name = getattr(self.function, "__name__", repr(self.function))
            kind = type(assignment).__name__
            raise InvalidAssignmentError(f"{name} returned {kind} (expected: TaskAssignment)")
        return assignment


class AssignGroup(Protocol):
    """A function that computes the tasks of a streams group; its arguments have the names of KIP-1357.

    By these names, type checkers distinguish it from a function of one argument, such as a lambda.
    """

    def __call__(self, group_spec: GroupSpec, topology_describer: TopologyDescriber) -> Mapping[str, MemberAssignment]:
        """Return the tasks of each member."""


@dataclass(frozen=True, slots=True)
class StreamsGroupFunction:
    """An assignor of a streams group that calls a function.

    `function`: computes the tasks of all members from a group and a topology; must be pure and deterministic.
    """

    function: AssignGroup

    def assign(self, group_spec: GroupSpec, topology_describer: TopologyDescriber) -> Mapping[str, MemberAssignment]:
        """Call the function; return the tasks of each member."""
        return self.function(group_spec, topology_describer)
