"""The schema of `hosts`: machines on which several clients run."""

from __future__ import annotations

from pydantic import Field

from scenarios.language.fields import Name, PositiveInt, RateLimit
from scenarios.language.section import ScenarioSection


class HostEntry(ScenarioSection):
    """A host (a machine or a node), or several identical ones named `<name>-0`, `<name>-1` and so on."""

    name: Name = Field(description="Name of the host, or common prefix of several.")
    count: PositiveInt | None = Field(default=None, description="Number of hosts; default: one.")
    restore: RateLimit = Field(
        description="Maximum restoration rate over all clients on the host, those of alongside included."
    )
