"""Damaged output of Kafka's tools, read by every importer."""

from __future__ import annotations

import functools
import random
import re
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from scenarios.kafka.formats.broker_list import parse_broker_api_versions, parse_broker_list
from scenarios.kafka.formats.client_metrics import parse_samples
from scenarios.kafka.formats.groups import (
    parse_group_members,
    parse_group_states,
    parse_streams_members,
)
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.logs import parse_rebalances, read_client_log, split_log
from scenarios.kafka.formats.properties import parse_properties, parse_streams_properties
from scenarios.kafka.formats.reassignment import parse_reassignment, parse_topics_to_move
from scenarios.kafka.formats.topics import parse_partition_sizes, parse_topics
from scenarios.kafka.formats.topology import parse_topology
from tests.hostile.commands import command_failure
from tests.hostile.mutations import HOSTILE_TEXTS, changed_json, damaged_text
from tests.scenarios.kafka.dumps.test_observe import BROKERS, GROUP, SIZES, TOPICS, TOPOLOGY

_FORMATS: Final = Path(__file__).parents[1] / "scenarios" / "kafka" / "formats"
_BROKERS: Final = "id,rack,capacity,throughput\n1,az1,4 TB,200 MB/s\n2,az2,4 TB,200 MB/s\n3,,,\n"
_TOPICS_TO_MOVE: Final = '{"topics": [{"topic": "orders"}, {"topic": "payments"}], "version": 1}'
_STATES: Final = (
    "GROUP  COORDINATOR (ID)    ASSIGNMENT-STRATEGY  STATE   #MEMBERS\n"
    "shop   localhost:9092 (0)  range                Stable  4\n"
)
_PROPERTIES: Final = "application.id=shop\nnum.standby.replicas = 1\nclient.tag.zone: a\\\n b\n# comment\n"
_STREAMS_PROPERTIES: Final = (
    "spring.kafka.streams.application-id=shop\nspring.kafka.streams.properties[num.standby.replicas]=1\n"
    "%prod.kafka-streams.num.stream.threads=2\nksql.streams.state.dir=/data\n"
)
_COLLECTED: Final = (
    'shop-1  | 2026-11-23T08:00:00.123456789Z {"@timestamp": 1795420336.221, "message": "Kafka version: 3.9.1"}\n'
    '[pod/shop-0/shop] {"instant": {"epochSecond": 1, "nanoOfSecond": 2}, "msg": "   Sub-topology: 0\\n  -->"}\n'
    '{"log": "{\\"message\\": \\"[Consumer clientId=a, groupId=shop] x\\"}\\n", "time": "2026-11-23T08:00:00Z"}\n'
)

IMPORTERS: Final[Mapping[str, tuple[Callable[[str], object], tuple[str, ...]]]] = {
    "topic descriptions": (parse_topics, ("topics_*.txt",)),
    "broker API versions": (parse_broker_api_versions, ("brokers_*.txt",)),
    "broker lists": (parse_broker_list, (_BROKERS, "brokers_*.txt")),
    "group members": (parse_group_members, ("groups_*.txt",)),
    "group states": (parse_group_states, (_STATES,)),
    "streams group members": (parse_streams_members, ("streams_members*.txt",)),
    "log dirs": (parse_partition_sizes, ("log_dirs.txt",)),
    "leader logs": (parse_rebalances, ("leader_*.log",)),
    "collected logs": (lambda text: [read_client_log(log) for log in split_log(text)], (_COLLECTED, "leader_*.log")),
    "topologies": (parse_topology, ("topology_*.txt",)),
    "reassignments": (parse_reassignment, ("reassignment.txt",)),
    "topics to move": (parse_topics_to_move, (_TOPICS_TO_MOVE,)),
    "client properties": (parse_properties, (_PROPERTIES,)),
    "streams properties": (parse_streams_properties, (_STREAMS_PROPERTIES, _PROPERTIES)),
    "client metrics": (lambda text: list(parse_samples(text)), ("*.prom",)),
}
"""Every importer of a text: its parser, and valid texts or patterns of files with them."""


@functools.cache
def samples(importer: str) -> tuple[str, ...]:
    """Return valid texts of an importer."""
    texts = []
    for sample in IMPORTERS[importer][1]:
        if "\n" in sample or sample.startswith("{"):
            texts.append(sample)
            continue
        files = sorted((*_FORMATS.glob(f"dialects/{sample}"), *_FORMATS.glob(f"client_metrics/{sample}")))
        assert files, sample
        texts += [file.read_text(encoding="utf-8") for file in files]
    return tuple(texts)


def importer_failure(rng: random.Random, importer: str) -> str | None:
    """Damage a valid text and parse it; return what is wrong, or None."""
    parse, text = IMPORTERS[importer][0], rng.choice(samples(importer))
    match rng.randrange(4):
        case 0:
            text = _damaged_header(rng, text)
        case 1 if text.lstrip().startswith("{"):
            text = changed_json(rng, text)
        case _:
            text = damaged_text(rng, text)
    try:
        parse(text)
    except FormatError as error:
        lines = text.count("\n") + 1
        is_located = error.line is None or 1 <= error.line <= lines
        return None if is_located and str(error) else f"{importer}: line {error.line} of {lines}: {error}"
    except Exception as error:
        return f"{importer}: {text[:300]!r}\n{traceback.format_exc()}{error!r}"
    return None


def _damaged_header(rng: random.Random, text: str) -> str:
    """Return a text in which a cell of its first line with text is renamed, removed, doubled or swapped."""
    blank = text[: len(text) - len(text.lstrip("\n"))]
    header, line_end, rest = text.lstrip("\n").partition("\n")
    cells = re.split(r"([\s,:]+)", header)
    first, second = (2 * rng.randrange((len(cells) + 1) // 2) for _ in range(2))
    match rng.randrange(4):
        case 0:
            cells[first] = rng.choice((*HOSTILE_TEXTS, cells[first].lower(), "X" * len(cells[first])))
        case 1:
            cells[first : first + 2] = []
        case 2:
            cells[first] = cells[second]
        case _:
            cells[first], cells[second] = cells[second], cells[first]
    return blank + "".join(cells) + line_end + rest


def import_failure(rng: random.Random, folder: Path) -> str | None:
    """Damage one file of a folder of dumps and import the folder; return what is wrong, or None."""
    dumps = {"topics": TOPICS, "brokers": BROKERS, "sizes": SIZES, "topology": TOPOLOGY, "group": GROUP}
    damaged = rng.choice(sorted(dumps))
    dumps[damaged] = damaged_text(rng, dumps[damaged])
    source = folder / "dumps"
    source.mkdir(exist_ok=True)
    for name, text in dumps.items():
        (source / name).write_text(text, encoding="utf-8")
    options = ("--config", "num.standby.replicas=0", "--rack", "*1111=az1", "--rack", "*=az2")
    failure = command_failure("", "import", "--group", "shop", "--from", source, *options, "-o", folder / "shop.yaml")
    return None if failure is None else f"{damaged}: {dumps[damaged][:300]!r}\n{failure}"
