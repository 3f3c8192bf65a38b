"""`assignor-sim record`: store what scenarios come to, for `verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.failures import told_to_the_user


def record(
    scenarios: Annotated[
        list[Path], typer.Argument(help="Scenario files, or names of shipped scenarios.", metavar="SCENARIO…")
    ],
) -> None:
    """Run scenarios and store their results beside them, as NAME.expected.json.

    Example: [bold]assignor-sim record scenarios/*.yaml[/bold]
    """
    from assignor_sim.comparison import compare
    from assignor_sim.scenario_files import find
    from assignors.errors import AssignorError
    from reports.stored import stored, write_stored
    from scenarios.load import ScenarioError, load

    with told_to_the_user(ScenarioError, AssignorError, OSError):
        for name in scenarios:
            file = find(name)
            target = file.with_suffix(".expected.json")
            text = write_stored(stored(compare(load(file)).tables))
            changed = not target.exists() or target.read_text(encoding="utf-8") != text
            if changed:
                part = target.with_name(f".{target.name}.part")
                part.write_text(text, encoding="utf-8")
                part.replace(target)
            print(f"{target}: {'stored' if changed else 'unchanged'}")
