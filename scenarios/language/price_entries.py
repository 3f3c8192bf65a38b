"""The schema of `price`: what traffic between racks costs."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from scenarios.language.fields import ListEntry, Name
from scenarios.language.section import ScenarioSection


def _expand_provider(value: Any) -> Any:
    return {"provider": value} if isinstance(value, str) else value


def _one_or_more(value: Any) -> Any:
    """Return a single rack as a list."""
    return [value] if isinstance(value, str) else value


RackNames = Annotated[
    list[Name],
    BeforeValidator(_one_or_more),
    Field(min_length=1),
    WithJsonSchema(
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]},
    ),
]
"""A rack, or several."""


class PairPriceEntry(ScenarioSection):
    """The price of traffic from some racks to others."""

    from_racks: RackNames = Field(alias="from", description="Rack of the sender, or a list of racks.")
    to_racks: RackNames = Field(alias="to", description="Rack of the receiver, or a list of racks.")
    both_ways: bool = Field(default=False, description="Whether the price is also that of the opposite direction.")
    usd_per_gb: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = Field(description="Price in US dollars.")
    received_usd_per_gb: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] | None = Field(
        default=None,
        description="The part of usd_per_gb that the receiver pays; default: the same fraction as of price.usd_per_gb.",
    )


class PriceEntry(ScenarioSection):
    """The price of cross-rack traffic per gigabyte (10⁹ bytes)."""

    provider: Name = Field(description="Cloud provider; prices of aws, azure and gcp are built in.")
    usd_per_gb: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] | None = Field(
        default=None, description="Price in US dollars; default: the provider's built-in price."
    )
    received_usd_per_gb: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] | None = Field(
        default=None,
        description="The part of usd_per_gb that the provider charges to the receiver; default: as the provider does, "
        "or nothing.",
    )
    pairs: list[ListEntry[PairPriceEntry]] = Field(
        default=[], description="Other prices for some pairs of racks, as between regions."
    )


PriceField = Annotated[PriceEntry, BeforeValidator(_expand_provider)]
