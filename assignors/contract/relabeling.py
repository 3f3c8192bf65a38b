"""The same state with other process ids: mistakes that depend on ids are rare among states.

Guarantees: the clients keep their order, so that an assignor whose ties depend on the order only answers alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

import numpy as np

from assignors.contract.invariants import ContractViolation, MakeAssignor, check_complete, compute, violation_of
from assignors.errors import AssignorError
from assignors.model.ids import ProcessId
from assignors.model.state import ApplicationState


def relabeled(state: ApplicationState, rng: np.random.Generator) -> ApplicationState:
    """Return a state with random process ids, in the order of the former ones."""
    ids = sorted(ProcessId.of(UUID(bytes=rng.bytes(16), version=4)) for _ in state.clients.ids)
    return replace(state, clients=replace(state.clients, ids=tuple(ids)))


def check_relabeled(
    state: ApplicationState, make: MakeAssignor, rng: np.random.Generator, count: int
) -> Iterator[tuple[ApplicationState, ContractViolation]]:
    """Check that the assignments of some states with other process ids are valid and complete.

    `make`: builds the assignor; one instance answers all. Yields each state with a violation.
    """
    assignor = make()
    for _ in range(count):
        other = relabeled(state, rng)
        try:
            violations = list(check_complete(other, compute(other, assignor)))
        except AssignorError as error:
            violations = [violation_of(error)]
        yield from ((other, violation) for violation in violations)
