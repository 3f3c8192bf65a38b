"""The manifest of the results of runs, as pydantic models."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _relative(path: str) -> str:
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or "\0" in path or not parts.name:
        raise ValueError("must be a path inside the result directory")
    return path


def _override(text: str) -> str:
    if "=" not in text:
        raise ValueError("must be PATH=VALUE")
    return text


Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]


class _ManifestPart(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class ScenarioRecord(_ManifestPart):
    """The scenario of the runs; fields with a default are missing in results of earlier releases."""

    name: str
    text: str = ""
    file: Annotated[str, AfterValidator(_relative)] | None = None
    sha256: str = ""
    imports: dict[str, str] = {}
    renamed: list[str] = []
    inferred: list[str] = []
    warnings: list[str] = []
    overrides: list[Annotated[str, AfterValidator(_override)]] = []


class GroupRecord(_ManifestPart):
    """The timeouts and members of the group of an assignor's runs."""

    session_timeout_ms: int = 0
    heartbeat_interval_ms: int = 0
    has_leave_config: bool = False
    static: list[str] = []
    of_consumers: bool = False


class AssignorRecord(_ManifestPart):
    """An assignor of the runs."""

    label: str
    assignor: str
    kafka_version: str | None = None
    parameters: dict[str, Any] = {}
    configs: dict[str, Any] = {}
    protocol: str = "classic"
    broker_release: str | None = None
    client_release: str | None = None
    group: GroupRecord | None = None
    ignored: list[str] = []
    refused: list[str] = []


class RunManifest(_ManifestPart):
    """The manifest of the results of runs."""

    kind: None = None
    scenario: ScenarioRecord
    assignors: Annotated[list[AssignorRecord], Field(min_length=1)]
    seeds: Annotated[list[Seed], Field(min_length=1)]
    command: str = ""
    model: int | None = None
    versions: dict[str, str] = {}
    proofs: dict[str, int | float] | None = None
