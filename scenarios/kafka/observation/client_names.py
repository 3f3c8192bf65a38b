"""What a scenario calls the processes that were seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from scenarios.kafka.observation.observation import ObservedProcess

_LONGEST = 100
_DIGITS = 8


def client_names(processes: Sequence[ObservedProcess]) -> Mapping[str, str]:
    """A name for each process, by process id.

    By default, the client ids of Kafka Streams end in the process id: of that the first digits are enough to tell
    processes apart. Where names are the same nevertheless, they are numbered.
    """
    names = [_short(process) for process in processes]
    again = {name for name, count in Counter(names).items() if count > 1}
    counts: Counter[str] = Counter()
    given: dict[str, str] = {}
    for process, name in zip(processes, names, strict=True):
        counts[name] += 1
        given[process.process_id] = f"{name}-{counts[name]}" if name in again else name
    return given


def _short(process: ObservedProcess) -> str:
    client_id, process_id = process.client_id.strip(), process.process_id
    if client_id.endswith(process_id):
        client_id = client_id[: len(client_id) - len(process_id) + _DIGITS]
    return client_id[:_LONGEST] if client_id and client_id.isprintable() else process_id[:_DIGITS]
