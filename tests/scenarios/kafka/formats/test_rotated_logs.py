"""Logs that are cut anywhere have the rebalances of the whole log."""

from __future__ import annotations

import gzip
import random
import re
from pathlib import Path

import pytest

from scenarios.kafka.dumps.files import read_dumps
from scenarios.kafka.formats.logs import (
    LONGEST_REBALANCE_MS,
    RELEVANT_LINE,
    LoggedRebalance,
    find_bounds,
    join_rotated,
    move_heads,
    parse_rebalances,
)

THREAD = "shop-11111111-1111-1111-1111-111111111111-StreamThread-1-consumer"
LOG = (Path(__file__).with_name("dialects") / "leader_3_9.log").read_text().replace("[x]", f"[{THREAD}]")
LINES = LOG.splitlines()


def _content(rebalance: LoggedRebalance) -> tuple[object, ...]:
    """Return a rebalance without its line number."""
    return rebalance.at_ms, rebalance.leader, rebalance.clients, rebalance.stateful, rebalance.stable


WHOLE = [_content(rebalance) for rebalance in parse_rebalances(LOG)]


def _rebalances(texts: dict[str, str]) -> list[tuple[object, ...]]:
    moved = move_heads(texts).values()
    rebalances = [
        _content(rebalance) for text in moved if re.search("activeTasks", text) for rebalance in parse_rebalances(text)
    ]
    return sorted(rebalances, key=lambda content: str(content[0]))


@pytest.mark.parametrize("cut", range(1, len(LINES)))
def test_no_rebalance_is_lost_at_a_rotation(cut: int) -> None:
    parts = {"app.log.1.gz": "\n".join(LINES[:cut]), "app.log": "\n".join(LINES[cut:])}
    assert find_bounds(parts["app.log"]).first_ms is not None
    for order in (parts, dict(reversed(parts.items()))):
        assert _rebalances(order) == WHOLE


def test_rotations_at_random_lines_and_other_instances() -> None:
    rng = random.Random(3)
    other = LOG.replace("[shop-1", "[other-1").replace("[2026-02-01 10:", "[2026-02-01 11:")
    for _ in range(50):
        texts: dict[str, str] = {}
        for name, text in (("a", LOG), ("b", other)):
            lines = text.splitlines()
            # Each part has a line with a time, by which files are ordered.
            cuts = sorted(rng.sample([n for n in range(1, len(lines)) if lines[n].startswith("[2")], 3))
            parts = zip([0, *cuts], [*cuts, len(lines)], strict=True)
            texts |= {f"{name}-{number}": "\n".join(lines[start:end]) for number, (start, end) in enumerate(parts)}
        names = rng.sample(sorted(texts), len(texts))
        rebalances = _rebalances({name: texts[name] for name in names})
        assert rebalances == _rebalances({"a": LOG, "b": other})
        assert len(rebalances) == 4


def test_end_without_a_beginning_is_not_joined() -> None:
    start, end = "\n".join(LINES[:8]), "\n".join(LINES[8:])
    late = re.sub(r"10:(\d\d):", lambda match: f"11:{match[1]}:", end)
    foreign = end.replace("[shop-1", "[shop-9")
    bounds = {name: find_bounds(text) for name, text in {"start": start, "late": late, "foreign": foreign}.items()}
    assert join_rotated(bounds) == {}
    assert join_rotated({"start": find_bounds(start), "end": find_bounds(end)}) == {"end": "start"}
    assert LONGEST_REBALANCE_MS < 3_600_000


def test_import_reads_rotated_and_compressed_logs(tmp_path: Path) -> None:
    cut = next(number for number, line in enumerate(LINES) if "activeTasks" in line and "nodes: " in line) + 1
    with gzip.open(tmp_path / "app.log.1.gz", "wt") as file:
        file.write("\n".join(LINES[:cut]))
    (tmp_path / "app.log").write_text("\n".join(LINES[cut:]))
    with gzip.open(tmp_path / "topics.txt.gz", "wt") as file:
        file.write("Topic: orders\tPartitionCount: 1\tReplicationFactor: 1\tConfigs:\n")
    dumps = read_dumps(tmp_path)
    assert dumps.rebalances is not None
    assert [_content(rebalance) for rebalance in dumps.rebalances.content] == WHOLE
    assert dumps.ignored == ("topics.txt.gz",)
    assert re.search(RELEVANT_LINE, LINES[cut])
