"""What the logs in a folder of dumps say about an application: the topology that it prints, and its release."""

from __future__ import annotations

from dataclasses import replace

from scenarios.kafka.dumps.files import Dump, Dumps
from scenarios.kafka.formats.log_files import ClientLog
from scenarios.kafka.observation.logged_release import LoggedRelease
from scenarios.kafka.observation.observation import ObservationError


def with_printed_topology(dumps: Dumps, group: str) -> Dumps:
    """Return dumps with the topology that an application prints to its log, if they have no other.

    `group`: `application.id`. Raises ObservationError if logs print different topologies.
    """
    printed = [Dump(log.file, log.content.topologies) for log in _logs_of(dumps, group) if log.content.topologies]
    if dumps.topology is not None or not printed:
        return dumps
    last = [Dump(log.file, log.content[-1]) for log in printed]
    for other in last[1:]:
        if other.content.strip() != last[0].content.strip():
            raise ObservationError(
                f"{last[0].file} and {other.file} print different topologies; add the right one as a file"
            )
    remark = f"The topology is that which the application prints in {last[0].file}."
    if len({text.strip() for text in printed[0].content}) > 1:
        remark = f"{remark} It prints several different ones there; this is the last."
    return replace(dumps, topology=last[0], remarks=(*dumps.remarks, remark))


def logged_release(dumps: Dumps, group: str) -> LoggedRelease | None:
    """Return the release that the clients of a group have logged last; None if they logged none."""
    logged = [(log.content.version, log.file) for log in _logs_of(dumps, group) if log.content.version is not None]
    if not logged:
        return None
    version, file = max(logged, key=lambda item: item[0].at_ms or 0)
    others = {other.version for other, _ in logged} - {version.version}
    return LoggedRelease(version.version, file, tuple(sorted(others)))


def _logs_of(dumps: Dumps, group: str) -> list[Dump[ClientLog]]:
    """Return the logs that are not only of other groups."""
    return [log for log in dumps.client_logs if not log.content.groups or group in log.content.groups]
