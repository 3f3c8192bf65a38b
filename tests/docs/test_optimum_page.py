"""The table of proofs in docs/explanation/optimum.md has every shipped scenario; two of them are proven again."""

from __future__ import annotations

from itertools import takewhile

import pytest

from scenarios.shipped import list_applications
from tools.proven_optima import MARK, PAGE, counts, proofs

pytestmark = pytest.mark.answers

REFRESH = "run `python -m tools.proven_optima`"


def shown() -> dict[str, str]:
    """Return the counts of each row of the table, by scenario."""
    lines = PAGE.read_text(encoding="utf-8").partition(MARK)[2].lstrip("\n").splitlines()
    rows = [line.strip("| ").partition(" | ") for line in takewhile(bool, lines)]
    return {name: cells for name, _, cells in rows[2:]}


def test_every_scenario_is_in_the_table_and_the_sums_are_right() -> None:
    rows = shown()
    total = rows.pop("all")
    assert list(rows) == [path.stem for path in list_applications()], REFRESH
    numbers = [[int(cell.replace(",", "")) for cell in cells.split(" | ")] for cells in rows.values()]
    assert total == " | ".join(f"{sum(column):,}" for column in zip(*numbers, strict=True)), REFRESH


@pytest.mark.parametrize("name", ["probing_never_ends", "stateful_imbalance"])
def test_rows_of_a_scenario_are_current(name: str) -> None:
    [scenario] = [path for path in list_applications() if path.stem == name]
    assert shown()[name] == counts(proofs(scenario)), REFRESH
