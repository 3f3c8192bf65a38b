"""The schema of clients that Kubernetes manifests describe."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from scenarios.language.closing_entries import LeavesGroup
from scenarios.language.fields import Duration
from scenarios.language.paths import ScenarioPath
from scenarios.language.pod_entries import ReadyAfter, StartAfter, VolumeName
from scenarios.language.section import ScenarioSection

UNNAMED: Final = "(workload)"
"""The name of clients from a manifest until the manifest has been read."""

_CLIENTS: Final = "clients"


class PodsEntry(ScenarioSection):
    """What manifests do not say about pods, or what differs from them."""

    replicas: Annotated[int, Field(ge=0, le=10_000)] | None = Field(
        default=None, description="Number of pods at the start; default: that of the manifest."
    )
    start_after: StartAfter = 10_000
    ready_after: ReadyAfter = 20_000
    close: Duration = Field(
        default=0,
        description="Duration of KafkaStreams.close: the final commit, flushing and closing the stores. No task of the "
        "client runs during that time.",
    )
    leaves_group: LeavesGroup = None
    pre_stop: Duration | None = Field(
        default=None, description="Duration of the preStop hook; default: that of a hook that sleeps, else 0s."
    )
    volume: VolumeName | None = Field(
        default=None,
        description="Where the state directories are: zonal, local or none, as for rolling_update; default: zonal for "
        "a StatefulSet with volumeClaimTemplates, else none.",
    )


def name_workload(value: Any) -> Any:
    """Return the data of a client with a name if it comes from a manifest, which names it."""
    return {"name": UNNAMED, **value} if isinstance(value, dict) and "from" in value else value


def list_clients(root: dict[str, Any], *located: dict[ScenarioPath, Any]) -> dict[str, Any]:
    """Turn `clients: {from: …}` into a list of one entry, in place.

    `root`: the data of a scenario; `located`: values by path, which get the new paths, too. Returns the data as it was.
    """
    clients, before = root.get(_CLIENTS), dict(root)
    if not isinstance(clients, dict) or "from" not in clients:
        return before
    root[_CLIENTS] = [clients]
    for values in located:
        inside = {path: value for path, value in values.items() if path[:1] == (_CLIENTS,)}
        values |= {(_CLIENTS, 0, *path[1:]): value for path, value in inside.items()}
    return before
