"""Reasons in the logs of clients for which they join their group again.

Source: `AbstractCoordinator.requestRejoin` and `maybeLeaveGroup` (since Kafka 3.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from scenarios.kafka.formats.leader_log import find_time_ms
from scenarios.kafka.naming import process_client_id

_REASON = re.compile(
    r"\[Consumer (?:instanceId=\S+, )?clientId=([^,\]]+), groupId=([^\]]*)\] "
    r"(Request joining group due to: |Member \S+ sending LeaveGroup request(?: to coordinator .* due to )?)(.*)"
)
_WITHOUT_CAUSE = ("group is already rebalancing", "need to re-join with the given member-id", "rebalance failed due to")
"""Reasons that follow from a rebalance which another one caused."""


@dataclass(frozen=True, slots=True)
class JoinReason:
    """Why a client joined again, or left.

    Attributes:
        at_ms: Time since 1970, read as UTC.
        client_id: Client id that the threads of the process share.
        leaves: Whether it left the group.
        reason: The reason, as logged.
    """

    at_ms: int
    client_id: str
    leaves: bool
    reason: str


def parse_join_reasons(text: str, group: str) -> Iterator[JoinReason]:
    """Yield the reasons that caused rebalances of a group, in the order of the log."""
    for line in text.split("\n"):
        if "group" not in line and "Group" not in line:
            continue
        match = _REASON.search(line)
        at_ms = find_time_ms(line) if match else None
        if match is None or at_ms is None or match[2] != group:
            continue
        leaves = match[3].startswith("Member")
        reason = match[4].strip()
        if leaves or not reason.startswith(_WITHOUT_CAUSE):
            yield JoinReason(at_ms, process_client_id(match[1]), leaves, reason)
