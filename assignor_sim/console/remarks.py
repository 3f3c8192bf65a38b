"""Warnings and notes of a scenario, on standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenarios.load import Scenario


def print_notes(scenario: Scenario, *, named: bool = False) -> None:
    """Print what was inferred from a scenario's files; `named` adds the name of the scenario."""
    name = f"{scenario.name}: " if named else ""
    for note in scenario.notes:
        print(f"note: {name}{note}", file=sys.stderr)


def print_warnings_and_notes(scenario: Scenario) -> None:
    """Print a scenario's warnings and notes."""
    for warning in scenario.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print_notes(scenario)
