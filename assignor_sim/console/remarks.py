"""Warnings and notes of a scenario, on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor_sim.console.verbosity import VERBOSITY
from assignor_sim.console.wrapping import print_message

if TYPE_CHECKING:
    from scenarios.load import Scenario


def print_remark(kind: str, text: str) -> None:
    """Print a warning or note to standard error, unless the command is quiet."""
    if not VERBOSITY.quiet:
        print_message(f"{kind}: {text}")


def print_notes(scenario: Scenario, *, named: bool = False) -> None:
    """Print what was inferred from a scenario's files; `named` adds the name of the scenario."""
    name = f"{scenario.name}: " if named else ""
    for note in scenario.notes:
        print_remark("note", f"{name}{note}")


def print_warnings_and_notes(scenario: Scenario) -> None:
    """Print a scenario's warnings and notes."""
    for warning in scenario.warnings:
        print_remark("warning", warning)
    print_notes(scenario)
