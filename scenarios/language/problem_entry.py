"""The section `problem`: the known problem that a scenario reproduces, and what fixes it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints

from scenarios.language.fields import ListEntry, Name
from scenarios.language.section import ScenarioSection


def _on_one_line(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return " ".join(text.split())


Sentences = Annotated[str, Field(max_length=2_000), AfterValidator(_on_one_line)]
"""One or more sentences; line ends are replaced by spaces."""

Ticket = Annotated[str, StringConstraints(pattern=r"^(KAFKA|KIP)-[1-9][0-9]{0,5}$")]


class FixEntry(ScenarioSection):
    """A change that fixes or mitigates the problem."""

    change: Sentences = Field(description="The change, in words.")
    changes: dict[Name, Any] = Field(
        default={}, alias="set", description="The same change in this scenario, by path as in --set."
    )
    assignor: Name | None = Field(
        default=None, description="Label of the assignor of this scenario that already has the change; not with set."
    )


class ProblemEntry(ScenarioSection):
    """A known problem that the scenario reproduces; it does not affect the simulation."""

    title: Annotated[Name, Field(max_length=60)] = Field(description="The problem in a few words.")
    symptom: Sentences = Field(description="What is observed in production.")
    cause: Sentences = Field(description="Why it happens.")
    tickets: list[ListEntry[Ticket]] = Field(default=[], description="Kafka issues and KIPs, such as KAFKA-10199.")
    shown_by: Name | None = Field(
        default=None, description="Label of the assignor that has the problem; default: the first."
    )
    metrics: Annotated[list[ListEntry[Name]], Field(min_length=1)] = Field(
        description="Keys of the metrics that show the problem, most important first; the fixes lower them."
    )
    fixes: Annotated[list[ListEntry[FixEntry]], Field(min_length=1)] = Field(
        description="Changes that fix or mitigate it, the recommended one first."
    )
    note: Sentences | None = Field(default=None, description="Side effects and limits of the fixes.")
