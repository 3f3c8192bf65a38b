"""The page with the results of comparisons: a row per assignor and release."""

from __future__ import annotations

import json
from pathlib import Path

from assignors import registry
from tools.kafka_oracle.compare import Tally
from tools.kafka_oracle.parity_page import (
    MARK,
    PAGE,
    markdown,
    merged,
    not_compared,
    read_results,
    summarize,
    write_page,
)

FEWEST_OF_BROKERS = 20_000
FEWEST_OF_CLIENTS = 1_000


def summary(kafka_version: str, agreed: int = 1200, problems: int = 1200) -> dict[str, object]:
    tallies = {
        ("ha", "none"): Tally(1000, {"sorted": 1000, "production": 1000}),
        ("ha", "min_traffic"): Tally(200, {"sorted": agreed - 1000, "production": 200}, refused=3, order_sensitive=4),
    }
    return summarize(kafka_version, 7, problems, "2030-01-02", tallies)


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("| `")]


def test_row_sums_strategies_of_an_assignor() -> None:
    text = markdown([summary("3.9.1", agreed=1199)])
    assert "| `high_availability` | 3.9.1 | 1,200 | 1,199 | 1,200 | 99.95 % | 3 | 4 |" in rows(text)
    assert text.splitlines()[-1] == "- Kafka 3.9.1, 2030-01-02: `make parity KAFKA=3.9.1 PROBLEMS=1200 SEED=7`"


def test_share_is_100_percent_only_if_every_answer_is_identical() -> None:
    many = Tally(100_000, {"sorted": 99_999, "production": 100_000})
    text = markdown([summarize("4.3.1", 1, 100_000, "2030-01-02", {("ha", "none"): many})])
    assert "| 99.99 % |" in text
    assert "| 100 % |" in markdown([summary("3.9.1")])
    assert summary("3.9.1")["identical"] is True
    assert summary("3.9.1", agreed=1199)["identical"] is False


def test_every_registered_release_has_a_row() -> None:
    """A patch belongs to a registered release."""
    text = markdown([summary("3.9.1")])
    assert "| `high_availability` | 3.8 | not compared | – | – | – | – | – |" in rows(text)
    assert not any(row.startswith("| `high_availability` | 3.9 |") for row in rows(text))
    assert ("streams_group_sticky", "4.4") in set(not_compared([summary("3.9.1")]))


def test_rows_are_sorted_by_assignor_then_by_version_as_a_number() -> None:
    of_assignor = [
        row.split(" | ")[1] for row in rows(markdown([summary("4.10.0"), summary("4.3.1")])) if "`high_av" in row
    ]
    assert of_assignor[-3:] == ["4.3.1", "4.4", "4.10.0"]


def test_larger_runs_and_runs_with_differences_replace_stored_ones() -> None:
    stored = [summary("3.9.1"), summary("4.0.2")]
    larger, smaller = summary("3.9.1", problems=1300), summary("4.0.2", problems=100)
    assert merged(stored, [larger, smaller]) == [larger, stored[1]]
    wrong = summary("4.0.2", agreed=1100, problems=100)
    assert merged(stored, [wrong])[1] == wrong
    of_brokers = {**summary("4.0.2"), "command": "python -m tools.kafka_group_oracle compare --kafka 4.0.2"}
    assert len(merged(stored, [of_brokers])) == 3


def test_page_keeps_its_text(tmp_path: Path) -> None:
    for version in ("4.3.1", "3.9.1"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "summary.json").write_text(json.dumps(summary(version)))
    page, results = tmp_path / "page.md", tmp_path / "results.json"
    page.write_text(f"# Words\n\n{MARK}\nold table\n")
    assert write_page(tmp_path, page, results) == 2
    assert page.read_text() == f"# Words\n\n{MARK}\n{markdown([summary('3.9.1'), summary('4.3.1')])}"
    assert write_page(tmp_path / "none", page, results) == 0
    assert page.read_text() == f"# Words\n\n{MARK}\n{markdown([summary('3.9.1'), summary('4.3.1')])}"


def test_committed_page_is_made_from_the_stored_runs() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.partition(MARK)[2] == f"\n{markdown(read_results())}"


def test_every_registered_release_was_compared_and_all_answers_are_identical() -> None:
    runs = read_results()
    assert list(not_compared(runs)) == []
    assert all(run["identical"] for run in runs)
    for run in runs:
        for name, row in run["assignors"].items():
            fewest = FEWEST_OF_BROKERS if registry.find(name).in_streams_groups else FEWEST_OF_CLIENTS
            assert row["compared"] >= fewest, (run["kafka"], name)
            assert row["agreed_sorted"] == row["agreed_production"] == row["compared"]
