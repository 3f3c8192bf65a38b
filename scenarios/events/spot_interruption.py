"""An interruption of the spot instances on which clients run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field

from scenarios.events.pod_closing_event import (
    PodClosingEvent,
    Replacements,
    StoppedClients,
    find_replacements,
    report_kept_volume,
)
from scenarios.events.scenario_event import EventContext
from scenarios.kubernetes.workload import ResolvedWorkload
from scenarios.language.application_entries import VolumeName
from scenarios.language.fields import Duration
from scenarios.language.paths import ScenarioPath
from scenarios.language.units import format_duration
from scenarios.language.validation import SourceMap
from simulator.world.pod_events import MINIMUM_GRACE_MS, SpotInterruption, Volume


class SpotInterruptionEvent(PodClosingEvent, StoppedClients):
    """An interruption of the spot instances on which clients run."""

    example = "events:\n  - {at: 30m, spot_interruption: {clients: app-0, notice: 2m, replace: 3m}}\n"

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

    def resolve(self, context: EventContext) -> Iterator[SpotInterruption]:
        clients = context.find_clients(self.clients)
        successors = find_replacements(self.replacements, clients, context)
        if self.volume == "local":
            message = "a disk of the instance is lost with it; set volume to none, or to zonal for a network disk"
            context.report(message, "volume")
        elif self.replacements is not None and self.volume != "none":
            report_kept_volume(context)
        if self.reacts and self.pre_stop and self.pre_stop + MINIMUM_GRACE_MS > self.notice:
            end = f"{format_duration(self.notice)} after the notice"
            context.report(f"leaves no time to close before the instance stops ({end}); shorten it", "pre_stop")
        interruption = SpotInterruption(
            context.at_ms,
            clients,
            self.closing(),
            Volume(self.volume),
            successors,
            notice_ms=self.notice,
            reacts=self.reacts,
            replace_ms=self.replace,
        )
        if self.replace is None:
            if self.replacements is not None:
                context.report("set replace, the time until the replacements start", "replacements")
        elif self.replacements is None and self.replace < interruption.ends_after_ms:
            ends = format_duration(interruption.ends_after_ms)
            message = (
                f"{format_duration(self.replace)} is before the end of the interrupted client, at {ends}; set replace "
                f"to at least {ends}, or list other clients with starts: false under replacements"
            )
            context.report(message, "replace")
        yield interruption

    def grace_warnings(self) -> Iterator[tuple[str, str]]:
        """Warn about clients that are killed while they close, perhaps by the end of the notice."""
        closing, key = self.closing(), "grace"
        if not self.reacts:
            stated = [name for name in ("leaves_group", "pre_stop", "close", "grace") if name in self.model_fields_set]
            yield from ((name, "has no effect with reacts: false: the clients are killed") for name in stated)
            return
        if closing.grace_ms is None or self.notice < closing.grace_ms:
            key, closing = "notice", replace(closing, grace_ms=self.notice)
        yield from self.kill_warnings(closing, key)

    def known_of_kind(self, workload: ResolvedWorkload, path: ScenarioPath, source_map: SourceMap) -> Mapping[str, Any]:
        return {"volume": "zonal" if workload.volume is Volume.ZONAL else "none"}
