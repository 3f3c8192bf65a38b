"""Protocol messages that kafka-python lacks, and failed connections."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.kafka.live import connection
from scenarios.kafka.live.client_properties import client_settings
from scenarios.kafka.live.observe import observe_cluster
from scenarios.kafka.observation.observation import ObservationError

# Written by Kafka 4.3.1: MessageUtil.toByteBufferAccessor of a StreamsGroupDescribeResponseData with every field set
# and of a StreamsGroupDescribeRequestData, in version 0.
RESPONSE = bytes.fromhex(
    "00000005030000000461707007537461626c65000000090000000801000000020202300203696e02126170702d782d7265706172746974"
    "696f6e02106170702d732d6368616e67656c6f67000000040002020f636c65616e75702e706f6c69637908636f6d706163740000021261"
    "70702d792d7265706172746974696f6e0000000000000100000002096d656d6265722d31000000070b696e7374616e63652d3104617a31"
    "1c6170702d53747265616d5468726561642d312d636f6e73756d65720a2f31302e302e302e31000000020a70726f636573732d31010768"
    "6f73742d31fde80002057a6f6e6504617a31000202300000000100000002dfdc1c35000202300000000100000002dfdc1c970002023003"
    "00000000000000020002023002000000010002023002000000030000010101000100800000000000451647726f757020676f6e65206e6f"
    "7420666f756e642e05676f6e65010000000000000000ff01800000000000"
)
REQUEST = bytes.fromhex("02046170700000")
PASSWORD = "s3cr3t-of-alice"
ROOT = Path(__file__).parents[4]


def test_streams_group_response_of_kafka_is_decoded() -> None:
    response = connection.StreamsGroupDescribeResponse.decode(RESPONSE, version=0).to_dict(json=False)
    assert response["throttle_time_ms"] == 5
    group, missing = response["groups"]
    assert (missing["error_code"], missing["error_message"]) == (69, "Group gone not found.")
    assert missing["topology"] is None
    assert (group["group_id"], group["group_state"]) == ("app", "Stable")
    assert (group["group_epoch"], group["assignment_epoch"], group["authorized_operations"]) == (9, 8, -(2**31))
    [subtopology] = group["topology"]["subtopologies"]
    [changelog] = subtopology.pop("state_changelog_topics")
    [repartition] = subtopology.pop("repartition_source_topics")
    assert subtopology == {
        "subtopology_id": "0",
        "source_topics": ["in"],
        "repartition_sink_topics": ["app-x-repartition"],
    }
    assert (changelog["name"], changelog["partitions"], changelog["replication_factor"]) == ("app-s-changelog", 4, 2)
    assert changelog["topic_configs"] == [{"key": "cleanup.policy", "value": "compact"}]
    assert repartition["name"] == "app-y-repartition"
    [member] = group["members"]
    assert member["user_endpoint"] == {"host": "host-1", "port": 65_000}
    assert (member["instance_id"], member["rack_id"], member["process_id"]) == ("instance-1", "az1", "process-1")
    assert member["client_tags"] == [{"key": "zone", "value": "az1"}]
    assert member["task_offsets"] == [{"subtopology_id": "0", "partition": 1, "offset": 12_345_678_901}]
    assert member["task_end_offsets"] == [{"subtopology_id": "0", "partition": 1, "offset": 12_345_678_999}]
    assert member["assignment"] == {
        "active_tasks": [{"subtopology_id": "0", "partitions": [0, 2]}],
        "standby_tasks": [{"subtopology_id": "0", "partitions": [1]}],
        "warmup_tasks": [{"subtopology_id": "0", "partitions": [3]}],
    }
    assert member["is_classic"] is True


def test_streams_group_request_is_encoded_as_by_kafka() -> None:
    request = connection.StreamsGroupDescribeRequest(group_ids=["app"])
    assert request.encode(version=0) == REQUEST
    assert connection.StreamsGroupDescribeRequest.API_KEY == 89


CONNECT = """
import logging, socket
from scenarios.kafka.live.client_properties import client_settings
from scenarios.kafka.live.connection import connect
from scenarios.kafka.observation.observation import ObservationError

logging.basicConfig(level=logging.DEBUG)
jaas = 'PlainLoginModule required username="alice" password="s3cr3t-of-alice";'
properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}
with socket.socket() as bound:
    bound.bind(("127.0.0.1", 0))  # No process listens on this port, and no other can.
    for address in (f"localhost:{bound.getsockname()[1]}", "garbage::"):
        try:
            with connect(address, client_settings(properties), timeout_ms=200):
                pass
        except ObservationError as error:
            print(repr(error), error.__cause__)
"""


def test_failed_connection_is_reported_without_the_password() -> None:
    # In a separate process, because kafka-python leaves sockets open when it cannot connect.
    completed = subprocess.run(
        [sys.executable, "-c", CONNECT], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    refused, invalid = completed.stdout.splitlines()
    assert "cannot connect to localhost:" in refused
    assert "ECONNREFUSED" in refused
    assert "cannot connect to garbage::" in invalid
    assert PASSWORD not in completed.stdout + completed.stderr
    assert "kafka" not in completed.stderr


@pytest.mark.parametrize(("password", "expected"), [(PASSWORD, "no alice with ***"), ("", "no alice with ")])
def test_passwords_in_responses_are_masked(password: str, expected: str) -> None:
    jaas = f'PlainLoginModule required username="alice" password="{password}";'
    settings = client_settings(
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}
    )
    assert connection.mask_secrets(f"no alice with {password}", settings) == expected


def test_missing_address_is_rejected() -> None:
    with pytest.raises(ObservationError, match="no cluster given"):
        observe_cluster(" , ", "shop")
