"""Client names of a scenario for observed processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from scenarios.kafka.observation.observation import ObservedProcess

_MAX_LENGTH = 100
_UUID_DIGITS = 8


def client_names(processes: Sequence[ObservedProcess]) -> Mapping[str, str]:
    """Return a distinct name for each process, by process id.

    A name is the client id; a process id at its end, as by default, is shortened to its first digits. Names that would
    be equal are numbered.
    """
    names = [_base_name(process) for process in processes]
    duplicates = {name for name, count in Counter(names).items() if count > 1}
    counts: Counter[str] = Counter()
    name_of: dict[str, str] = {}
    for process, name in zip(processes, names, strict=True):
        counts[name] += 1
        name_of[process.process_id] = f"{name}-{counts[name]}" if name in duplicates else name
    return name_of


def _base_name(process: ObservedProcess) -> str:
    client_id, process_id = process.client_id.strip(), process.process_id
    if client_id.endswith(process_id):
        client_id = client_id[: len(client_id) - len(process_id) + _UUID_DIGITS]
    return client_id[:_MAX_LENGTH] if client_id and client_id.isprintable() else process_id[:_UUID_DIGITS]
