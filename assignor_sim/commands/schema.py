"""`assignor-sim schema`: the JSON Schema of scenario files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console.exits import exit_on_error


def schema(
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write; - for standard output.")] = Path("-"),
) -> None:
    """Write the JSON Schema of scenario files, for completion and checks in editors.

    Example: [bold]assignor-sim schema -o scenario.schema.json[/bold]
    """
    from assignor_sim.text_files import write_text
    from scenarios.schema import format_json_schema

    with exit_on_error(OSError):
        write_text(output, format_json_schema())
