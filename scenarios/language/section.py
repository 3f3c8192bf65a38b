"""The base class of the sections of a scenario."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class ScenarioSection(BaseModel):
    """A section of a scenario, which rejects unknown keys and values of other types."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


def config_keys(section: type[ScenarioSection]) -> frozenset[str]:
    """Return the keys of a section as a scenario writes them."""
    return frozenset(model_field.alias or name for name, model_field in section.model_fields.items())
