"""Shell scripts that execute a batch or roll it back with Kafka's own tools under a replication throttle.

Source: `org.apache.kafka.tools.reassign.ReassignPartitionsCommand` (`executeAssignment` sets the throttle on brokers
and topics; `verifyAssignment` prints the state of each partition and removes the throttle once all are complete) and
`org.apache.kafka.tools.LeaderElectionCommand`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from scenarios.kafka.plan_files.changes import ReplicaChange, moves_log_dir
from scenarios.language.units import format_duration
from simulator.plurals import counted

_PREAMBLE = """\
#!/bin/sh
# {about}
# Usage: BOOTSTRAP=host:9092 sh {name}
# Optional: COMMAND_CONFIG=client.properties (TLS, SASL), KAFKA_BIN=/opt/kafka/bin, INTERVAL=30 (seconds).
set -eu
: "${{BOOTSTRAP:?set it to host:port of a broker}}"
here=$(dirname "$0")

run() {{
  tool=${{KAFKA_BIN:+$KAFKA_BIN/}}$1 config=$2
  shift 2
  "$tool" --bootstrap-server "$BOOTSTRAP" ${{COMMAND_CONFIG:+"$config" "$COMMAND_CONFIG"}} "$@"
}}
"""

_REASSIGN = """
reassign() {{
  run kafka-reassign-partitions.sh --command-config --reassignment-json-file "$here/{file}" "$@"
}}

# Continue a reassignment that was interrupted.
case $(reassign --verify) in
  *"is still in progress"*) ;;
  *) reassign --execute{throttles} ;;
esac
while :; do
  state=$(reassign --verify)
  case $state in *"is still in progress"*) sleep "${{INTERVAL:-30}}" ;; *) break ;; esac
done
printf '%s\\n' "$state"
case $state in
  *"rather than"* | *"not found"* | *"cannot be found"* | *"being moved"*) exit 1 ;;
esac
"""

_ELECT = """
run kafka-leader-election.sh --admin.config --election-type preferred --path-to-json-file "$here/{file}"
"""


def script_text(
    name: str,
    action: str,
    changes: Sequence[ReplicaChange],
    reassignment: str,
    election: str,
    throttle_bytes_per_s: int,
) -> str:
    """Return a shell script.

    `action`: what the script does, such as `Execute batch 1 of 4`. `reassignment`: name of the reassignment file in the
    same folder; empty if there is none. `election`: name of the election file in the same folder; empty if there is
    none.
    """
    throttles = f" --throttle {throttle_bytes_per_s}"
    if any(moves_log_dir(change) for change in changes):
        throttles += f" --replica-alter-log-dirs-throttle {throttle_bytes_per_s}"
    text = _PREAMBLE.format(about=_summary(action, changes, throttle_bytes_per_s), name=name)
    if reassignment:
        text += _REASSIGN.format(file=reassignment, throttles=throttles)
    if election:
        text += _ELECT.format(file=election)
    return text


def min_duration_ms(changes: Sequence[ReplicaChange], throttle_bytes_per_s: int) -> int | None:
    """Return a lower bound of the time to copy changes, from what each broker sends and receives; None if unknown.

    Leaders send, and stay until all is copied.
    """
    sent, received = Counter[int](), Counter[int]()
    for change in changes:
        if change.copied_bytes is None:
            return None
        sent[change.leader] += change.copied_bytes
        received.update(dict.fromkeys(change.receivers, change.size_bytes or 0))
    return -(-max((*sent.values(), *received.values()), default=0) * 1000 // throttle_bytes_per_s)


def _summary(action: str, changes: Sequence[ReplicaChange], throttle_bytes_per_s: int) -> str:
    partitions = counted(len(changes), "partition")
    bound_ms = min_duration_ms(changes, throttle_bytes_per_s)
    if bound_ms is None:
        return f"{action}: {partitions}, {throttle_bytes_per_s:,} bytes/s per broker."
    copied_bytes = sum(change.copied_bytes or 0 for change in changes)
    duration = format_duration(max(1000, round(bound_ms, -3)))
    return (
        f"{action}: {partitions}, {copied_bytes:,} bytes to copy; at least {duration} at {throttle_bytes_per_s:,} "
        "bytes/s per broker."
    )
