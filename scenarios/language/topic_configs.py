"""Parse topic configs in Kafka's notation, as `kafka-topics.sh --describe` prints them and scenarios set them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from assignors.replicas.retention import parse_retention
from assignors.replicas.state import TopicRetention

_MIN_INSYNC: Final = "min.insync.replicas"
_UNCLEAN: Final = "unclean.leader.election.enable"
_BOOLEANS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The parsed configs of a topic; None where the brokers' default applies."""

    retention: TopicRetention
    min_insync_replicas: int | None
    unclean_leader_election: bool | None


def parse_topic_configs(configs: Mapping[str, str]) -> TopicSettings:
    """Parse the configs that the simulator uses, and ignore all others.

    Returns retention, `min.insync.replicas` and `unclean.leader.election.enable`. Raises ValueError if Kafka does not
    accept a value.
    """
    min_insync, unclean = configs.get(_MIN_INSYNC), configs.get(_UNCLEAN)
    if min_insync is not None and not re.fullmatch(r"[1-9]\d{0,8}", min_insync):
        raise ValueError(f"{_MIN_INSYNC}={min_insync} is not a positive integer")
    if unclean is not None and unclean.lower() not in _BOOLEANS:
        raise ValueError(f"{_UNCLEAN}={unclean} is neither true nor false")
    return TopicSettings(
        parse_retention(configs),
        None if min_insync is None else int(min_insync),
        None if unclean is None else _BOOLEANS[unclean.lower()],
    )
