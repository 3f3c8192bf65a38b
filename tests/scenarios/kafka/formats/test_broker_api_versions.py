"""Output of kafka-broker-api-versions.sh in all releases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scenarios.kafka.formats.broker_list import parse_broker_api_versions
from scenarios.kafka.formats.lines import FormatError

DIALECTS = Path(__file__).with_name("dialects")
CAPTURED = Path(__file__).parents[4] / "scenarios" / "library" / "captured"


def _racks(path: Path) -> dict[int, str | None]:
    return {broker.id: broker.rack for broker in parse_broker_api_versions(path.read_text())}


def test_brokers_with_and_without_racks_and_with_errors_are_read() -> None:
    assert _racks(DIALECTS / "brokers_3_9.txt") == {0: None, 1: "az1", 12: "zone b, row (2)"}


def test_fencing_is_not_part_of_the_rack() -> None:
    assert _racks(DIALECTS / "brokers_4.txt") == {1: None, 2: "az2"}


def test_captured_output_is_read_completely() -> None:
    racks = {1: "az1", 2: "az2", 3: "az3", 4: "az1", 5: "az2", 6: "az3"}
    assert _racks(CAPTURED / "brokers.txt") == racks


def test_release_follows_from_the_api_versions() -> None:
    captured = (CAPTURED / "brokers.txt").read_text()
    assert {broker.release for broker in parse_broker_api_versions(captured)} == {"4.3"}
    # An older tool does not know all versions and requests of a newer broker.
    newer = captured.replace("ApiVersions(18): 0 to 4 [usable: 4],", "ApiVersions(18): 0 to 5 [usable: 4],", 1)
    newer = newer.replace("\tHeartbeat(12)", "\tUNKNOWN(93): 0,\n\tHeartbeat(12)", 1)
    releases = {broker.id: broker.release for broker in parse_broker_api_versions(newer)}
    assert releases == {1: "4.3", 2: "4.4 or later", 3: "4.3", 4: "4.3", 5: "4.3", 6: "4.3"}


def test_release_is_unknown_without_all_api_versions() -> None:
    assert {broker.release for broker in parse_broker_api_versions(ONE)} == {None}


ONE = "localhost:9092 (id: 1 rack: az1) -> (\n\tProduce(0): 0 to 11 [usable: 11]\n)\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no brokers; expected the output of kafka-broker-api-versions.sh"),
        ("hello\n", None, "no brokers; expected the output of kafka-broker-api-versions.sh"),
        (ONE + ONE, 4, "duplicate broker 1 (first in line 1)"),
        (ONE.replace("id: 1", "id: -1"), 1, "-1 is not a broker id; the tool did not reach the broker"),
        ("localhost:9092 (id: x rack: az1) -> (\n", 1, "'localhost:9092 (id: x rack: az1) -> (' is not a broker"),
    ],
)
def test_malformed_text_is_rejected_with_its_line(text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match="^" + re.escape(message)) as raised:
        parse_broker_api_versions(text)
    assert raised.value.line == line
