"""Every mistake is reported with file, line, path, the invalid value and valid alternatives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.scenarios.scenario_texts import SMALL, mistakes_in, replace_in_small, with_events

PROCESS_ID = "80000000-0000-0000-0000-000000000001"


class Case(NamedTuple):
    """A replacement in the small scenario, and the expected mistakes."""

    name: str
    before: str
    after: str
    mistakes: list[str]


def cases(file: str) -> Iterator[Case]:
    """Yield the cases of a file in this folder, one per block of lines.

    `#` is the name of the case, `-` the passage, `+` its replacement, and `!` an expected mistake without the file
    name; a final … matches any text.
    """
    for block in Path(__file__).with_name(file).read_text(encoding="utf-8").strip().split("\n\n"):
        parts: dict[str, list[str]] = {mark: [] for mark in "#-+!"}
        for line in block.split("\n"):
            parts[line[0]].append(line[2:])
        yield Case(parts["#"][0], "\n".join(parts["-"]), "\n".join(parts["+"]), parts["!"])


CASES = list(cases("mistakes.txt"))


def test_small_scenario_is_valid() -> None:
    assert mistakes_in(SMALL) == []


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_single_mistake_is_reported(case: Case) -> None:
    mistakes = mistakes_in(replace_in_small(case.before, case.after))
    for mistake, expected in zip(mistakes, case.mistakes, strict=True):
        if expected.endswith("…"):
            assert mistake.startswith(f"s.yaml:{expected[:-1]}")
        else:
            assert mistake == f"s.yaml:{expected}"


def test_case_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) > 70


def test_all_mistakes_are_reported_by_line() -> None:
    text = SMALL
    for case in CASES:
        if case.name in ("unknown section", "unknown config", "process id", "bad rate", "client already present"):
            text = text.replace(case.before, case.after)
    assert mistakes_in(text) == [
        "s.yaml:6: cluster.topics[0].bytes_per_s: '4 MB' is not a rate, such as 40 MB/s or 10 Mbit/s "
        "(a size or bits, then /s; a number without a unit is in bytes per second)",
        "s.yaml:10: application.configs.num.standby.replica: unknown or misplaced config "
        "(did you mean 'num.standby.replicas'?)",
        f"s.yaml:18: clients[1].process_id: 'abc' is not a process id (a UUID, such as {PROCESS_ID})",
        "s.yaml:20: events[0].scale_out.clients: already present at 30m: app-0, app-1, app-2",
        "s.yaml:22: speed: unknown key (did you mean 'seeds'?)",
    ]


def test_all_mistakes_of_one_entry_are_reported() -> None:
    text = replace_in_small("rack: az1, starts: false", "process_id: x, starts: maybe, threads: 0, tag: x")
    assert [mistake.split(": ")[1] for mistake in mistakes_in(text)] == [
        "clients[1].threads",
        "clients[1].starts",
        "clients[1].tag",
        "clients[1].process_id",
    ]


def test_invalid_value_causes_no_further_mistakes() -> None:
    text = replace_in_small("name: orders, partitions: 4", "name: orders, partitions: four").replace(
        "  - {at: 30m", "  - {at: 1h, replica_move: {topic: orders, partition: 3, replicas: [1]}}\n  - {at: 30m"
    )
    assert mistakes_in(text) == [
        "s.yaml:6: cluster.topics[0].partitions: expected a whole number, found the text 'four'"
    ]


def test_entry_without_a_name_causes_no_unknown_names() -> None:
    text = replace_in_small("{name: payments, partitions: 4}", "{partitions: 4}")
    assert mistakes_in(text) == ["s.yaml:7: cluster.topics[1].name: missing"]


def test_entries_after_an_invalid_one_keep_their_positions() -> None:
    text = replace_in_small(
        "  - {name: late, rack: az1, starts: false}", "  - 7\n  - {name: late, process_id: x, starts: false}"
    )
    assert mistakes_in(text) == [
        "s.yaml:18: clients[1]: expected a mapping, found the number 7",
        f"s.yaml:19: clients[2].process_id: 'x' is not a process id (a UUID, such as {PROCESS_ID})",
    ]


def test_other_sections_are_checked_despite_an_invalid_one() -> None:
    text = replace_in_small("  brokers: {count: 3, racks: [az1, az2, az3]}", "  brokers: 3").replace("30m", "30 m in")
    assert [mistake[: mistake.index(",")] for mistake in mistakes_in(text)] == [
        "s.yaml:3: cluster.brokers: expected a mapping or a list",
        "s.yaml:20: events[0].at: '30 m in' is not a duration",
    ]


def test_long_list_of_names_is_truncated() -> None:
    racks = ", ".join(f"r{i:02}" for i in range(30))
    text = with_events("{at: 1h, rack_outage: {rack: az9}}").replace("racks: [az1, az2, az3], threads", "threads")
    text = text.replace("{count: 3, racks: [az1, az2, az3]}\n", f"{{count: 30, racks: [{racks}]}}\n")
    text = text.replace(", rack: az1", "")
    listed = "(racks: r00, r01, r02, r03, r04, r05, r06, r07, r08, r09, r10, r11, … (30 in total))"
    assert mistakes_in(text) == [f"s.yaml:20: events[0].rack_outage.rack: unknown rack 'az9' {listed}"]


def test_long_or_unprintable_value_is_truncated_to_one_line() -> None:
    text = replace_in_small("threads: 2", 'threads: "' + "x" * 500 + '\\n\\e[31m"')
    assert mistakes_in(text) == [
        f"s.yaml:17: clients[0].threads: expected a whole number, found the text '{'x' * 60}…'"
    ]


def test_too_many_task_client_pairs_are_rejected() -> None:
    text = replace_in_small("payments, partitions: 4", "payments, partitions: 30000").replace(
        "count: 3, r", "count: 1500, r", 2
    )
    text = text.replace("{count: 1500, racks: [az1, az2, az3]}", "{count: 3, racks: [az1, az2, az3]}")
    assert mistakes_in(text) == [
        "s.yaml:1: 30,004 tasks on 1,501 clients are 45,036,004 pairs, more than the 40,000,000 that can be simulated"
    ]
