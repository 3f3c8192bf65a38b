"""The schema of events in which a platform stops processes: rolling updates, node drains and spot interruptions."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from scenarios.language.closing_entries import PodClosingEvent
from scenarios.language.errors import format_value
from scenarios.language.fields import Duration, Name, NameList, PositiveInt
from scenarios.language.section import ScenarioSection

_PERCENTAGE: Final = re.compile(r"(\d{1,3})%")


def _parse_pods(value: Any) -> Any:
    """Return a number of pods as it is, and a percentage as the text of a percentage."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 1_000_000:
        return str(value)
    if isinstance(value, str) and (match := _PERCENTAGE.fullmatch(value)) and int(match[1]) <= 100:
        return value
    raise ValueError(f"{format_value(value)} is not a number of pods, such as 1, or a percentage, such as 25%")


PodCount = Annotated[
    str,
    BeforeValidator(_parse_pods),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 1_000_000},
                {"type": "string", "pattern": r"^\d{1,3}%$"},
            ],
            "examples": ["25%"],
        }
    ),
]
"""A number of pods, or a percentage of them."""


def resolve_pods(count: str, total: int, *, rounds_up: bool) -> int:
    """Return a number of pods, given all of them; Kubernetes rounds `maxSurge` up and `maxUnavailable` down."""
    match = _PERCENTAGE.fullmatch(count)
    if match is None:
        return int(count)
    share = int(match[1]) * total / 100
    return math.ceil(share) if rounds_up else math.floor(share)


StartAfter = Annotated[
    Duration,
    Field(
        description="Time until a new pod's process starts, counted from the end of the old one (in a Deployment: "
        "from the creation of the new pod): scheduling, image pull, start of the JVM."
    ),
]
ReadyAfter = Annotated[
    Duration, Field(description="Time from the start of a process until its pod is ready (with minReadySeconds).")
]
Replacements = Annotated[
    NameList | None,
    Field(
        description="Clients with starts: false that start instead, one for each stopped client, in their own racks. "
        "By default, a stopped client comes back in its rack."
    ),
]
VolumeName = Literal["zonal", "local", "none"]


class StoppedClients(ScenarioSection):
    """Clients that a platform stops."""

    clients: NameList = Field(description="Names of clients, or of entries that define several; pods by ordinal.")


class RollingUpdateEvent(PodClosingEvent, StoppedClients):
    """A rolling update of the pods of a StatefulSet or a Deployment."""

    kind: Literal["stateful_set", "deployment"] | None = Field(
        default=None,
        description="stateful_set: one pod after another, the last one first, each comes back with its name, rack and "
        "volume. deployment: new pods with new process ids and empty disks replace the old ones. Required, unless the "
        "clients come from a manifest, which says it, and volume, grace, max_surge and max_unavailable.",
    )
    volume: VolumeName | None = Field(
        default=None,
        description="Where a StatefulSet keeps the state directories: zonal (network disk of the zone, kept), local "
        "(disk of the node, kept) or none (lost). Default: zonal. Pods of a Deployment have none.",
    )
    max_surge: PodCount | None = Field(
        default=None,
        description="maxSurge of a Deployment: number or percentage (rounded up) of additional pods; default: 25%.",
    )
    max_unavailable: PodCount | None = Field(
        default=None,
        description="maxUnavailable of a Deployment: number or percentage (rounded down) of missing pods; default: "
        "25%.",
    )
    replacements: Replacements = None
    start_after: StartAfter = 10_000
    ready_after: ReadyAfter = 20_000


class NodeDrainEvent(PodClosingEvent):
    """A drain of the nodes on which clients run: their pods are evicted and start on other nodes."""

    clients: NameList | None = Field(
        default=None, description="The clients on the drained nodes, in order of eviction."
    )
    rack: Name | None = Field(default=None, description="Instead of clients: the zone, all of whose nodes are drained.")
    max_unavailable: PositiveInt | None = Field(
        default=None,
        description="PodDisruptionBudget: maximum number of evicted pods that are not ready; default: all.",
    )
    volume: VolumeName = Field(
        default="zonal",
        description="Where the state directories are: zonal (network disk: kept, pods start on other nodes of the "
        "zone), local (disk of the node: kept, pods wait until it is back) or none (lost).",
    )
    down: Duration | None = Field(
        default=None, description="Time until the nodes take pods again; by default they never do."
    )
    replacements: Replacements = None
    start_after: StartAfter = 10_000
    ready_after: ReadyAfter = 20_000


class SpotInterruptionEvent(PodClosingEvent, StoppedClients):
    """An interruption of the spot instances on which clients run."""

    notice: Duration = Field(
        default=120_000,
        description="Time from the notice until the instances stop: 2m on AWS, 30s on Google Cloud and Azure.",
    )
    reacts: bool = Field(
        default=True,
        description="Whether clients are stopped at the notice, as by a node termination handler; otherwise they are "
        "killed at its end.",
    )
    replace: Duration | None = Field(
        default=None, description="Time from the notice until the replacements start; by default there are none."
    )
    volume: VolumeName = Field(
        default="none",
        description="Where the state directories are: none (disk of the instance: lost) or zonal (network disk: kept).",
    )
    replacements: Replacements = None
