"""The manifest of a plan folder, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from reports.analysis.plans.plan_row import CRITERIA, FIGURES

Amount = Annotated[float, Field(ge=-(2**63), le=2**63)]
Count = Annotated[int, Field(ge=0, le=2**53)]


class _PlanManifestPart(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class ClusterRecord(_PlanManifestPart):
    """The cluster of the plans."""

    source: str


class PlanManifest(_PlanManifestPart):
    """The manifest of a plan folder; its plans are validated as `PlanRecord` once old keys are renamed."""

    title: str
    asked: str
    remarks: list[str]
    cluster: ClusterRecord
    plans: Annotated[list[dict[str, Any]], Field(min_length=1)]


class _PlanRecord(_PlanManifestPart):
    strategy: str
    status: str | None
    reason: str | None
    aims: list[Annotated[str, Field(pattern=f"^({'|'.join(CRITERIA)})$")]]
    notes: list[str]
    objective: str | None
    value: Amount | None
    bound: Amount | None
    changes: Count | None
    elections: Count | None
    batches: Count | None
    folder: str | None


_FIGURE_FIELDS: dict[str, Any] = dict.fromkeys(FIGURES, (Amount | None, None))

PlanRecord = create_model("PlanRecord", __base__=_PlanRecord, **_FIGURE_FIELDS)
"""A plan in the manifest, as `reports.analysis.plans.plan_row.records` writes it."""
