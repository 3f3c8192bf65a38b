"""Writing and reading of stored results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reports.analysis.stored.results import (
    MAX_CHANGES,
    StoredResultsError,
    collect_results,
    placements,
    placements_by_round,
    read_stored,
    stored_rounds,
    write_stored,
)
from tests.reports import sample_runs
from tests.reports.sample_stored_results import ORIGIN, results, rounds

FIRST = {"0_0": "a b", "0_1": "b", "0_2": "- a"}
THEN = {"0_0": "b", "0_1": "b"}


def test_written_results_are_read_back() -> None:
    written = results(FIRST, THEN, cause='"</script> \u202e ünï 🦊')
    assert read_stored(write_stored(written), "file") == written
    assert write_stored(read_stored(write_stored(written), "file")) == write_stored(written)


def test_each_metric_and_round_has_its_own_line() -> None:
    first, second = (write_stored(results(FIRST, THEN, active_moves=moves)).splitlines() for moves in (4, 5))
    assert [line for line, counterpart in zip(first, second, strict=True) if line != counterpart] == [
        '  "active_moves": 4,'
    ]
    assert sum('"digest"' in line for line in first) == 2


def test_first_round_is_stored_completely_and_later_rounds_as_changes() -> None:
    first, second, third = rounds(FIRST, THEN, THEN)
    assert first["changes"] == {"0_0": ["a", "b"], "0_1": ["b"], "0_2": [None, "a"]}
    assert second["changes"] == {"0_0": ["b"], "0_2": []}
    assert third["changes"] == {}
    assert second["digest"] == third["digest"] != first["digest"]


def test_placements_are_restored_from_changes() -> None:
    assert [dict(placement or {}) for placement in placements_by_round(rounds(FIRST, THEN, FIRST))] == [
        {"0_0": ["a", "b"], "0_1": ["b"], "0_2": [None, "a"]},
        {"0_0": ["b"], "0_1": ["b"]},
        {"0_0": ["a", "b"], "0_1": ["b"], "0_2": [None, "a"]},
    ]


def test_large_run_is_stored_as_digests_only() -> None:
    tasks = {f"0_{number}": "a" for number in range(MAX_CHANGES)}
    whole, digests = rounds(tasks), rounds(tasks, {**tasks, "0_0": "b"})
    assert whole[0]["changes"] is not None
    assert [record["changes"] for record in digests] == [None, None]
    assert list(placements_by_round(digests)) == [None, None]
    assert digests[0]["digest"] == whole[0]["digest"] != digests[1]["digest"]


def test_order_of_rows_does_not_matter() -> None:
    copies = [
        {"round": 1, "task": task, "client": client, "role": role}
        for task, client, role in (("0_0", "c", "standby"), ("0_0", "b", "standby"), ("0_0", "a", "active"))
    ]
    assert placements(copies) == placements(copies[::-1]) == {"0_0": ["a", "b", "c"]}
    row = {**sample_runs.ROUND, "round": 1}
    assert list(stored_rounds([row], copies)) == list(stored_rounds([row], copies[::-1]))


def test_floats_are_stored_with_nine_digits() -> None:
    tables = sample_runs.tables(runs=[{"cross_rack_bytes": 123_456_789_123.4}])
    [run] = collect_results(tables, "rack_outage", ORIGIN).runs.values()
    assert run.figures["cross_rack_bytes"] == 123_456_789_000.0


def without(*path: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(write_stored(results(FIRST)))
    place: Any = data
    for key in path[:-1]:
        place = place[0][key] if isinstance(place, list) else place[key]
    del (place[0] if isinstance(place, list) else place)[path[-1]]
    return data


NEEDED = ("model", "versions", "scenario", "scenario.sha256", "runs", "runs.figures", "runs.rounds.digest")


@pytest.mark.parametrize("path", NEEDED)
def test_incomplete_results_are_rejected(path: str) -> None:
    with pytest.raises(StoredResultsError, match=r"^here\.json: not stored results of format 2"):
        read_stored(json.dumps(without(*path.split("."))), "here.json")


@pytest.mark.parametrize(
    "text", ["", "[]", '{"format": 1, "runs": []}', '{"format": 2}', '{"format": 2, "scenario": 5}']
)
def test_other_content_is_rejected(text: str) -> None:
    with pytest.raises(StoredResultsError, match=r"^here\.json: not stored results"):
        read_stored(text, "here.json")
