"""Output of kafka-broker-api-versions.sh in all releases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scenarios.kafka.formats.broker_api_versions import parse_broker_api_versions
from scenarios.kafka.formats.lines import FormatError

DIALECTS = Path(__file__).with_name("dialects")
CAPTURED = Path(__file__).parents[4] / "scenarios" / "library" / "captured"


def _racks(path: Path) -> dict[int, str | None]:
    return {broker.id: broker.rack for broker in parse_broker_api_versions(path.read_text())}


def test_brokers_with_and_without_racks_and_with_errors_are_read() -> None:
    assert _racks(DIALECTS / "brokers_3_9.txt") == {0: None, 1: "az1", 12: "zone b, row (2)"}


def test_fencing_is_not_part_of_the_rack() -> None:
    assert _racks(DIALECTS / "brokers_4.txt") == {1: None, 2: "az2"}


def test_the_captured_output_is_read_whole() -> None:
    racks = {1: "az1", 2: "az2", 3: "az3", 4: "az1", 5: "az2", 6: "az3"}
    assert _racks(CAPTURED / "brokers.txt") == racks


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
def test_other_text_is_rejected_with_its_line(text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match="^" + re.escape(message)) as refused:
        parse_broker_api_versions(text)
    assert refused.value.line == line
