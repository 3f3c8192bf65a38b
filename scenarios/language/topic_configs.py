"""What the configs of a topic mean, as Kafka writes them: in `kafka-topics.sh --describe`, or stated in a scenario."""

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
    """The settings of a topic; None where the brokers' default applies."""

    retention: TopicRetention
    min_insync_replicas: int | None
    unclean_leader_election: bool | None


def parse_topic_configs(configs: Mapping[str, str]) -> TopicSettings:
    """Parse the configs that matter here; others are ignored.

    Raises:
        ValueError: a value is not one that Kafka accepts.
    """
    least, unclean = configs.get(_MIN_INSYNC), configs.get(_UNCLEAN)
    if least is not None and not re.fullmatch(r"[1-9]\d{0,8}", least):
        raise ValueError(f"{_MIN_INSYNC}={least} is not a number from 1")
    if unclean is not None and unclean.lower() not in _BOOLEANS:
        raise ValueError(f"{_UNCLEAN}={unclean} is neither true nor false")
    return TopicSettings(
        parse_retention(configs),
        None if least is None else int(least),
        None if unclean is None else _BOOLEANS[unclean.lower()],
    )
