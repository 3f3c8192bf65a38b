"""The examples in docstrings run and print what they show."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from assignors import registry
from assignors.model import assignment, configs, ids, state

DOCUMENTED = (
    registry.resolve,
    assignment.TaskAssignment,
    assignment.validate_assignment,
    configs.AssignmentConfigs,
    ids.ProcessId,
    ids.TaskId,
    ids.TopicPartition,
    state.ApplicationState.of,
    state.TaskTopicPartition,
)


@pytest.mark.parametrize("module", [registry, assignment, configs, ids, state], ids=lambda module: module.__name__)
def test_examples_run(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("public", DOCUMENTED, ids=lambda public: public.__qualname__)
def test_public_names_have_an_example(public: object) -> None:
    assert ">>> " in (public.__doc__ or "")
