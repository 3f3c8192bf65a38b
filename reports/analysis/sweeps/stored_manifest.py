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


class StoppedLook(_SweepPart):
    """The pairs that stopped at a look."""

    seeds: Count
    stopped_pairs: Count


class SweepStops(_SweepPart):
    """What a finished sweep with `--until-significant` did not run."""

    pairs: Count
    cells: Count
    runs: Count
    shared_seeds: Count
    looks: list[StoppedLook]
    baseline_setting: Count | None = None


class SweepStopRule(_SweepPart):
    """When the seeds of a pair stop."""

    metrics: list[Annotated[str, AfterValidator(_metric)]]
    looks: Annotated[list[Count], Field(min_length=1)]


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
    until_significant: SweepStopRule | None = None
    stopped: SweepStops | None = None


class _SummaryFactor(_SweepPart):
    name: str


class _SweepStopSummary(SweepStops):
    metrics: list[Annotated[str, AfterValidator(_metric)]]


class _SweepSummary(_SweepPart):
    sweep: str
    baseline: str
    assignors: list[str]
    factors: list[_SummaryFactor]
    settings: Count
    seeds: Count
    runs: Count
    stopped: _SweepStopSummary | None = None


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
