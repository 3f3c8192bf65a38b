"""Racks of clients that the user states, because they cannot be observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TypeVar

from scenarios.kafka.observation.observation import Observation, ObservationError, ObservedConsumer, ObservedProcess
from scenarios.language.errors import format_list

Client = TypeVar("Client", ObservedProcess, ObservedConsumer)

StatedRacks = Sequence[tuple[str, str | None]]
"""Patterns (`*` and `?`) of client ids and process ids, with a rack or None for no rack; the first match applies."""


def matching_racks(process: ObservedProcess, racks: StatedRacks) -> list[str | None]:
    """Return the racks of all patterns that match a process, in the order of the patterns."""
    return [rack for pattern, rack in racks if _matches(process, pattern)]


def check_stated_racks(
    observation: Observation, racks: StatedRacks, newcomers: Sequence[ObservedProcess | ObservedConsumer] = ()
) -> None:
    """Reject patterns that match no client of an observed group.

    `newcomers`: clients that join later. Raises ObservationError if a pattern matches no client; the message names the
    clients.
    """
    members = observation.consumers.members if observation.consumers is not None else ()
    clients = (*observation.processes, *members, *newcomers)
    names = sorted({one.client_id if isinstance(one, ObservedProcess) else _name(one) for one in clients})
    for pattern, rack in racks if names else ():
        if not any(
            _matches(one, pattern) if isinstance(one, ObservedProcess) else matches_consumer(one, pattern)
            for one in clients
        ):
            listed = format_list("clients", names)
            raise ObservationError(f"--rack '{pattern}={rack or ''}': no client matches '{pattern}' ({listed})")


def with_stated_racks(
    processes: Sequence[ObservedProcess], racks: StatedRacks
) -> tuple[tuple[ObservedProcess, ...], list[str]]:
    """Set the racks of processes that report none; Kafka does not know these racks.

    Returns the processes, and sentences on racks that were not reported or are ignored.
    """
    stated = [(process, process.client_id, next(iter(matching_racks(process, racks)), None)) for process in processes]
    return _located(stated)


def with_stated_consumer_racks(
    members: Sequence[ObservedConsumer], racks: StatedRacks
) -> tuple[tuple[ObservedConsumer, ...], list[str]]:
    """Set the racks of members of a consumer group that report none; Kafka does not know these racks.

    Patterns are those of client ids, hosts, instance ids and member ids. Returns the members, and sentences on racks
    that were not reported or are ignored.
    """
    stated = [
        (
            member,
            _name(member),
            next((rack for pattern, rack in racks if matches_consumer(member, pattern)), None),
        )
        for member in members
    ]
    return _located(stated)


def _located(stated: Sequence[tuple[Client, str, str | None]]) -> tuple[tuple[Client, ...], list[str]]:
    """Return clients with their racks, and sentences on racks; each client is given with its name and stated rack."""
    located: list[Client] = []
    unreported: list[str] = []
    contradicted: list[str] = []
    for client, name, rack in stated:
        if rack is None or rack == client.rack:
            located.append(client)
        elif client.rack is not None:
            located.append(client)
            contradicted.append(f"{name} ({client.rack})")
        else:
            located.append(replace(client, rack=rack, announces_rack=False))
            unreported.append(name)
    return tuple(located), _sentences(unreported, contradicted)


def matches_consumer(member: ObservedConsumer, pattern: str) -> bool:
    """Return whether a pattern is that of a member of a consumer group."""
    ids = (member.client_id, member.host, member.instance_id or "", member.member_id)
    return any(fnmatchcase(text, pattern) for text in ids)


def _sentences(unreported: Sequence[str], contradicted: Sequence[str]) -> list[str]:
    sentences = []
    if unreported:
        sentences.append(
            "Clients without client.rack are in the racks given with --rack, which Kafka does not know (client_rack: "
            f"false): {', '.join(dict.fromkeys(unreported))}."
        )
    if contradicted:
        names = ", ".join(dict.fromkeys(contradicted))
        sentences.append(f"--rack is ignored for clients that report client.rack: {names}.")
    return sentences


def _name(member: ObservedConsumer) -> str:
    return member.instance_id or member.client_id


def _matches(process: ObservedProcess, pattern: str) -> bool:
    return fnmatchcase(process.client_id, pattern) or fnmatchcase(process.process_id, pattern)
