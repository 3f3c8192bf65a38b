"""A preview of the broker's assignor after Kafka 4.4: the sticky assignor of 4.4 with the announced warm-ups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from assignors.java.hash_order import CollectionOrder
from assignors.model.assignment import AssignmentColumns, TaskAssignment
from assignors.model.columns import BoolArray
from assignors.model.state import ApplicationState
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from assignors.tasks.warmup_refinement import RefinedAssignment, refine


@dataclass(frozen=True, slots=True)
class StreamsGroupPreview:
    """The broker's assignor with the announced warm-ups of streams groups; not that of any release.

    Attributes:
        preview: must be true: what is announced may change until it is released.
        order: as in `StreamsGroupSticky`.
        members: as in `StreamsGroupSticky`.

    The target assignment is that of Kafka 4.4, for which warm-ups count as standbys (apache/kafka pull request 23314).
    `assignors.tasks.warmup_refinement` has the rules of the steps towards it. `assign` returns the first step;
    simulations take the other steps when a copy of a staged task has caught up.

    Raises:
        ValueError: `preview` is not set.
    """

    preview: bool = False
    order: CollectionOrder = CollectionOrder.PRODUCTION
    members: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.preview is not True:
            raise ValueError("a preview of an unreleased Kafka may change; set its parameter preview to true")

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Return the first step towards the target assignment; all previous standbys count as standbys.

        Returns:
            The assignment.

        Raises:
            TaskAssignorError: there are tasks, but no client with a thread.
        """
        none: BoolArray = np.zeros((len(state.tasks), len(state.clients)), dtype=np.bool_)
        return self.step(state, self.target(state), none).columns.to_assignment(state)

    def target(self, state: ApplicationState) -> AssignmentColumns:
        """Return the target assignment.

        Raises:
            TaskAssignorError: there are tasks, but no client with a thread.
        """
        assigned = StreamsGroupSticky(self.order, self.members).assign(state)
        return AssignmentColumns.of(state, assigned)

    def step(self, state: ApplicationState, target: AssignmentColumns, warmups: BoolArray) -> RefinedAssignment:
        """Return the next step towards a target; see `refine`."""
        return refine(state, target, warmups)
