"""The schema of `other_traffic`, what else produces and consumes, and of `price`, what traffic between racks costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from scenarios.language.fields import KafkaRelease, ListEntry, Name, NameList, ScenarioSection, TopicName, expands_to
from scenarios.language.releases import NEWEST
from simulator.world.world import Price

PRICES: Final[Mapping[str, Price]] = {
    # AWS charges 0.01 for egress from a zone and 0.01 for ingress to a zone.
    "aws": Price(
        "aws", 0.02, "2026-11, lastweekinaws.com/blog/aws-cross-az-data-transfer-costs-more-than-aws-says", 0.01
    ),
    "azure": Price("azure", 0.0, "2026-11, docs.azure.cn/en-us/availability-zones/az-overview"),
    "gcp": Price("gcp", 0.01, "2026-11, cloud.google.com/vpc/pricing"),
}
"""The known prices by provider."""


UsdPerGb = Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)]


class PairPriceEntry(ScenarioSection):
    """The price of traffic from some racks to others."""

    from_racks: NameList = Field(alias="from", description="Rack of the sender, or a list of racks.")
    to_racks: NameList = Field(alias="to", description="Rack of the receiver, or a list of racks.")
    both_ways: bool = Field(default=False, description="Whether the price is also that of the opposite direction.")
    usd_per_gb: UsdPerGb = Field(description="Price in US dollars.")
    received_usd_per_gb: UsdPerGb | None = Field(
        default=None,
        description="The part of usd_per_gb that the receiver pays; default: the same fraction as of price.usd_per_gb.",
    )


class PriceEntry(ScenarioSection):
    """The price of cross-rack traffic per gigabyte (10⁹ bytes)."""

    provider: Name = Field(description="Cloud provider; prices of aws, azure and gcp are built in.")
    usd_per_gb: UsdPerGb | None = Field(
        default=None, description="Price in US dollars; default: the provider's built-in price."
    )
    received_usd_per_gb: UsdPerGb | None = Field(
        default=None,
        description="The part of usd_per_gb that the provider charges to the receiver; default: as the provider does, "
        "or nothing.",
    )
    pairs: list[ListEntry[PairPriceEntry]] = Field(
        default=[], description="Other prices for some pairs of racks, as between regions."
    )


PriceField = Annotated[PriceEntry, expands_to("provider")]


CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
"""The values of a producer's `compression.type`."""


def _weights(value: Any) -> Any:
    """Return a list of racks as a mapping in which all have the same weight; a repeated rack counts each time."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(rack, str) for rack in value):
        return value
    return {rack: value.count(rack) for rack in value}


def _check_weights(racks: dict[str, float]) -> dict[str, float]:
    if not sum(racks.values()):
        raise ValueError("at least one rack needs a weight above 0")
    return racks


Weight = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]

RackWeights = Annotated[
    dict[Name, Weight],
    BeforeValidator(_weights),
    Field(min_length=1),
    AfterValidator(_check_weights),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
                {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}, "minProperties": 1},
            ],
            "examples": [["az1", "az2", "az3"], {"az1": 4, "az2": 2}],
        }
    ),
]
"""Racks with equal weights, or a weight for each, such as the number of processes in it."""

TopicShare = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


class ProducerConfigs(ScenarioSection):
    """The producer configs that the simulator uses."""

    rack_aware: bool = Field(
        default=False,
        alias="partitioner.rack.aware",
        description="Whether records without a key go to partitions whose leader is in the producer's rack (KIP-1123, "
        "Kafka 4.4).",
    )
    ignores_keys: bool = Field(
        default=False,
        alias="partitioner.ignore.keys",
        description="Whether records with a key are partitioned like those without.",
    )
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = Field(
        default="none", alias="compression.type", description="How it compresses batches."
    )


class OtherProducerEntry(ScenarioSection):
    """Processes that produce to topics that the application does not write."""

    name: Name = Field(description="Name in tables and figures.")
    topics: Annotated[list[TopicName], Field(min_length=1)] | None = Field(
        default=None,
        description="The topics; default: those that the application reads and does not write.",
    )
    share: TopicShare | None = Field(
        default=None,
        description="Its part of the bytes of each topic; default: what the other producers leave, in equal parts.",
    )
    racks: RackWeights = Field(
        description="Racks of its processes: a list for equal parts, or a mapping from each rack to its weight."
    )
    keyed: bool = Field(default=True, description="Whether its records have keys, which determine the partition.")
    kafka: KafkaRelease = Field(default=NEWEST, description="Kafka release of the producer.")
    configs: ProducerConfigs = Field(
        default_factory=ProducerConfigs, description="Producer configs, with Kafka's own keys."
    )


class OtherGroupEntry(ScenarioSection):
    """A consumer group besides the application."""

    name: Name = Field(description="The group.id.")
    topics: Annotated[list[TopicName], Field(min_length=1)] = Field(description="The topics that it reads.")
    racks: RackWeights = Field(
        description="Racks of its members: a list for equal parts, or a mapping from each rack to its weight."
    )
    client_rack: bool = Field(
        default=True, description="Whether its members have client.rack, so that they can read from followers."
    )
    read_share: Annotated[float, Field(gt=0, le=1_000, allow_inf_nan=False)] = Field(
        default=1.0, description="The bytes that it reads, as a multiple of what is produced."
    )


CompressionRatios = Annotated[
    dict[Literal["gzip", "snappy", "lz4", "zstd"], Annotated[float, Field(gt=0, le=1_000, allow_inf_nan=False)]],
    Field(min_length=1),
]


class OtherTrafficSection(ScenarioSection):
    """Producers and consumer groups of the cluster besides the application."""

    folder: Name | None = Field(
        default=None,
        alias="from",
        description="A folder written by assignor-sim ingest, with bytes in and out of topics: for producers and "
        "groups that the section does not list.",
    )
    racks: RackWeights | None = Field(
        default=None,
        description="Racks of the clients whose traffic is measured (the racks of the brokers, in equal parts).",
    )
    client_rack: bool = Field(default=True, description="Whether consumers whose traffic is measured have client.rack.")
    includes_application: bool = Field(
        default=True,
        description="Whether the application ran during the measurements, so that its own reads are part of them.",
    )
    producers: list[ListEntry[OtherProducerEntry]] = Field(
        default=[], description="Producers of topics that the application does not write."
    )
    groups: list[ListEntry[OtherGroupEntry]] = Field(default=[], description="Other consumer groups.")
    compression_ratios: CompressionRatios | None = Field(
        default=None,
        description="Uncompressed bytes per compressed byte of the records, by compression.type, as in {zstd: 4.2}.",
    )
