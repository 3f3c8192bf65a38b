"""The manifest of a sweep and the summary of an aggregate, as pydantic models."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from reports.analysis.metrics import METRIC

Count = Annotated[int, Field(ge=0, le=2**53)]


def _metric(name: str) -> str:
    if name not in METRIC:
        raise ValueError("unknown metric")
    return name


class _SweepPart(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class SweepScenario(_SweepPart):
    """The scenario of a sweep."""

    name: str
    text: str = ""
    sha256: str = ""
    imports: dict[str, str] = {}


class SweepFactorRecord(_SweepPart):
    """A factor of a sweep."""

    name: str
    paths: list[str]
    kind: Annotated[str, Field(pattern="^(number|text)$")] = "text"
    unit: str | None = None


class SweepManifest(_SweepPart):
    """The manifest of a sweep directory; fields with a default may be missing in those of earlier releases."""

    name: str
    text: str = ""
    scenario: SweepScenario
    factors: list[SweepFactorRecord]
    changes: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = []
    assignors: list[str] = []
    seeds: list[Annotated[int, Field(ge=0, le=2**63 - 1)]]
    baseline: str
    runs: Count = 0
    command: str = ""
    versions: dict[str, str] = {}


class _SummaryFactor(_SweepPart):
    name: str


class _SweepSummary(_SweepPart):
    sweep: str
    baseline: str
    assignors: list[str]
    factors: list[_SummaryFactor]
    settings: Count
    seeds: Count
    runs: Count


class _Best(_SweepPart):
    objective: Annotated[str, AfterValidator(_metric)]
    setting: Count
    assignor: str
    others_equal: Count


class _ScenarioSummary(_SweepPart):
    scenario: str
    objectives: list[Annotated[str, AfterValidator(_metric)]]
    cells_considered: Count
    cells_on_front: Count
    best: list[_Best]


class _LeftOut(_SweepPart):
    what: str
    number: Count
    why: str


class AggregateSummary(_SweepPart):
    """The summary of an aggregate."""

    sweeps: list[_SweepSummary]
    scenarios: list[_ScenarioSummary]
    left_out: list[_LeftOut]
