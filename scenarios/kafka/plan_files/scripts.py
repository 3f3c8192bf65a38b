"""Shell scripts that carry a batch out, or undo it, by Kafka's own tools under a throttle.

Source: `org.apache.kafka.tools.reassign.ReassignPartitionsCommand` (`executeAssignment` sets the throttle on brokers
and topics, `verifyAssignment` prints the state of each partition and clears the throttle once nothing is in progress)
and `org.apache.kafka.tools.LeaderElectionCommand`.
"""

from __future__ import annotations

from collections.abc import Sequence

from scenarios.kafka.plan_files.changes import ReplicaChange, moves_log_dir
from scenarios.language.units import format_duration

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

# One that was interrupted goes on.
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
    name: str, batch: str, changes: Sequence[ReplicaChange], reassignment: str, election: str, throttle_bytes_per_s: int
) -> str:
    """Write a script.

    Args:
        name: of the script itself.
        batch: what it does, in words: `Batch 1 of 4`.
        changes: what it carries out.
        reassignment: the file beside it with these changes; empty if there is none.
        election: the file beside it with the elections that follow; empty if there is none.
        throttle_bytes_per_s: the rate per broker, in and out.
    """
    throttles = f" --throttle {throttle_bytes_per_s}"
    if any(moves_log_dir(change) for change in changes):
        throttles += f" --replica-alter-log-dirs-throttle {throttle_bytes_per_s}"
    text = _PREAMBLE.format(about=_about(batch, changes, throttle_bytes_per_s), name=name)
    if reassignment:
        text += _REASSIGN.format(file=reassignment, throttles=throttles)
    if election:
        text += _ELECT.format(file=election)
    return text


def min_duration_ms(changes: Sequence[ReplicaChange], throttle_bytes_per_s: int) -> int | None:
    """Return a lower bound of the time that changes take, by what each broker receives; None if sizes are unknown."""
    received: dict[int, int] = {}
    for change in changes:
        if change.copied_bytes is None:
            return None
        getting = [broker for broker in change.new if broker not in change.old]
        for broker in getting:
            received[broker] = received.get(broker, 0) + change.copied_bytes // len(getting)
    return -(-max(received.values(), default=0) * 1000 // throttle_bytes_per_s)


def _about(batch: str, changes: Sequence[ReplicaChange], throttle_bytes_per_s: int) -> str:
    counted = f"{len(changes):,} partition{'s' if len(changes) != 1 else ''}"
    least = min_duration_ms(changes, throttle_bytes_per_s)
    if least is None:
        return f"{batch}: {counted}, {throttle_bytes_per_s:,} bytes/s per broker."
    copied = sum(change.copied_bytes or 0 for change in changes)
    took = format_duration(max(1000, round(least, -3)))
    return (
        f"{batch}: {counted}, {copied:,} bytes to copy; at {throttle_bytes_per_s:,} bytes/s per broker at least {took}."
    )
