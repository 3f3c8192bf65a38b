"""The kernels equal reference implementations, on more random placements than in `tests/assignors/tasks`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assignors.compilation import CHOICE, COMPILED, PLAIN, Kernels
from tests.assignors.tasks.kernel_checks import (
    check_exchange_within_subtopologies,
    check_least_loaded_standbys,
    check_movement,
    check_standby_exchange,
)
from tests.counts import few_or

pytestmark = pytest.mark.answers


@pytest.fixture(params=[PLAIN, COMPILED], ids=["plain", "compiled"], autouse=True)
def kernels(request: pytest.FixtureRequest) -> Iterator[Kernels]:
    kernels: Kernels = request.param
    with CHOICE.always(kernels):
        yield kernels


def test_tasks_move_to_caught_up_clients_as_in_the_reference() -> None:
    check_movement(1, few_or(1500, 300))


def test_standbys_go_to_the_least_loaded_clients() -> None:
    check_least_loaded_standbys(2, few_or(500, 150))


@pytest.mark.parametrize("keeps_tags", [False, True])
def test_standby_exchange_equals_solving_every_pair(keeps_tags: bool) -> None:
    check_standby_exchange(3, few_or(800, 160), keeps_tags=keeps_tags)


def test_standby_exchange_within_subtopologies_equals_solving_every_pair() -> None:
    check_exchange_within_subtopologies(4, few_or(150, 40))
