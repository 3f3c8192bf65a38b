"""`assignor-sim verify`: run scenarios again and compare with what was stored."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.failures import DIFFERENT, told_to_the_user


def verify(
    scenarios: Annotated[
        list[Path], typer.Argument(help="Scenario files, or names of shipped scenarios.", metavar="SCENARIO…")
    ],
) -> None:
    """Run scenarios again and compare with the results stored beside them.

    Exit code 0 if all is as it was, 1 if anything differs, 2 if a scenario is wrong or nothing is stored.

    Example: [bold]assignor-sim verify scenarios/*.yaml[/bold]
    """
    from assignor_sim.comparison import compare
    from assignor_sim.scenario_files import find
    from assignors.errors import AssignorError
    from reports.stored import StoredError, differences, read_stored, stored
    from scenarios.load import ScenarioError, load

    differs = False
    with told_to_the_user(ScenarioError, AssignorError, StoredError):
        for name in scenarios:
            file = find(name)
            expected = file.with_suffix(".expected.json")
            try:
                text = expected.read_text(encoding="utf-8")
            except OSError:
                raise StoredError(f"{expected}: nothing is stored; assignor-sim record {name}") from None
            changes = differences(read_stored(text, str(expected)), stored(compare(load(file)).tables))
            print(f"{file}: {'as stored' if not changes else f'{len(changes)} differences'}")
            for change in changes:
                print(f"  {change}")
            differs |= bool(changes)
    if differs:
        raise typer.Exit(DIFFERENT)
