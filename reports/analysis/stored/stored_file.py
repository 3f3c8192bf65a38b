"""A file of stored results, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Figure = Annotated[float, Field(ge=-1e300, le=1e300)]


class _StoredFilePart(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Scenario(_StoredFilePart):
    name: str
    sha256: str
    imports: dict[str, str]


class _Round(_StoredFilePart):
    round: Annotated[int, Field(ge=0)]
    at_ms: int | None = None
    reason: str | None = None
    active_moves: int | None = None
    standby_moves: int | None = None
    withheld_tasks: int | None = None
    digest: str
    changes: dict[str, list[str | None]] | None


class _Run(_StoredFilePart):
    assignor: str
    seed: Annotated[int, Field(ge=0)]
    figures: dict[str, bool | int | Figure | str | None]
    rounds: list[_Round]


class StoredFile(_StoredFilePart):
    """A file of stored results, with current keys."""

    format: Literal[2]
    model: int
    versions: dict[str, str]
    scenario: _Scenario
    runs: list[_Run]
