"""The table of consumer assignors in docs/reference/parity.md is that of the stored runs, and all are identical."""

from __future__ import annotations

from assignors.consumers import registry
from assignors.kafka_releases import registered_release
from tools.kafka_consumer_oracle.__main__ import BEGIN, END, PAGE, markdown, merged, read_results


def run(problems: int, identical: int, release: str = "4.3.1") -> dict[str, object]:
    row = {"assignor": "sticky", "protocol": "classic", "compared": problems, "identical": identical, "refused": 0}
    return {"kafka": release, "problems": problems, "date": "2026-01-01", "command": "make", "assignors": [row]}


def test_page_shows_the_stored_runs() -> None:
    shown = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert shown == f"\n{markdown(read_results())}\n"


def test_all_stored_answers_are_identical() -> None:
    rows = [row for stored in read_results() for row in stored["assignors"]]
    assert rows
    assert all(row["identical"] == row["compared"] for row in rows)


def test_each_assignor_and_behavior_was_compared_on_ten_thousand_problems() -> None:
    compared = {
        (row["assignor"], row["protocol"], stored["kafka"]): row["compared"]
        for stored in sorted(read_results(), key=lambda stored: int(stored["problems"]))
        for row in stored["assignors"]
    }
    for info in registry.built_in():
        of_assignor = {
            release: number
            for (name, protocol, release), number in compared.items()
            if (name, protocol) == (info.name, info.protocol)
        }
        assert max(of_assignor.values()) >= 10_000
        assert {registered_release(release, info.releases) for release in of_assignor} == set(info.releases)
    assert compared["uniform", "consumer", "4.0.0"] >= 10_000


def test_larger_run_replaces_a_smaller_one_and_a_smaller_one_only_if_it_differs() -> None:
    stored = [run(100, 100)]
    assert merged(stored, [run(200, 200)]) == [run(200, 200)]
    assert merged(stored, [run(50, 50)]) == stored
    assert merged(stored, [run(50, 49)]) == [run(50, 49)]
    assert [kept["kafka"] for kept in merged(stored, [run(1, 1, "4.10.0"), run(1, 1, "3.8.1")])] == [
        "3.8.1",
        "4.3.1",
        "4.10.0",
    ]


def test_share_is_rounded_down() -> None:
    assert "| 99.99 % |" in markdown([run(100_000, 99_999)])
    assert "| 100 % |" in markdown([run(100_000, 100_000)])
