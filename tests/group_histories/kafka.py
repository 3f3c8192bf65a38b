"""The released coordinator: `bridge/src/replay` runs it on a virtual clock."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from assignors.kafka_releases import patch_of
from tools.artifacts import group_replay
from tools.java import ask_java, build_classpath


def logs_of_kafka(histories: Iterable[dict[str, Any]], release: str) -> list[dict[str, Any]]:
    """Return the logs of histories in the coordinator of a release, in their order."""
    text = "".join(f"{json.dumps(history)}\n" for history in histories)
    lines = ask_java(build_classpath(group_replay(patch_of(release))), "assignorsim.bridge.replay.Replay", text)
    return [json.loads(line) for line in lines]
