"""Write the names of the configs of Kafka Streams and its clients, from the released classes of every known release."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Final

from assignors.jvm.loading import Dependency
from assignors.kafka_releases import CLIENTS, RECORDED_3_9
from tools.java import ClusterError, find_executable, find_jars

RELEASES: Final = tuple(sorted({RECORDED_3_9, *CLIENTS.values()}))

FILE: Final = Path(__file__).parents[1] / "scenarios" / "language" / "client_configs.json"

_PROGRAM: Final = Path(__file__).with_name("ClientConfigs.java")
_LIMIT_S: Final = 120


def config_names(release: str) -> dict[str, list[str]]:
    """Return the names of the configs of a release by class: streams, consumer, producer, admin, topic.

    Raises ClusterError if a JAR or Java is missing, or the program fails.
    """
    jars = find_jars([Dependency(f"org.apache.kafka:kafka-streams:{release}")])
    command = [find_executable("java", "a JDK 17"), "-cp", ":".join(jars), str(_PROGRAM)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=_LIMIT_S)
    if done.returncode:
        raise ClusterError(f"{' '.join(command)}: {done.stderr.strip()}")
    return {kind: names for kind, *names in map(str.split, done.stdout.splitlines())}


def main() -> int:
    """Write the file; return 0."""
    names: dict[str, set[str]] = defaultdict(set)
    for release in RELEASES:
        for kind, listed in config_names(release).items():
            names[kind] |= set(listed)
    content = {"releases": list(RELEASES), **{kind: sorted(listed) for kind, listed in sorted(names.items())}}
    FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"{FILE}: {sum(map(len, names.values()))} configs of {', '.join(RELEASES)}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
