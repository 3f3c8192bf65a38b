"""Every text loads as a scenario or fails with a list of mistakes."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scenarios.kafka.formats.broker_list import parse_broker_api_versions
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.reassignment import parse_reassignment
from scenarios.kafka.formats.topics import parse_partition_sizes, parse_topics
from scenarios.kafka.formats.topology import parse_topology
from scenarios.language.yaml_reader import read_yaml
from scenarios.load import ScenarioError, loads
from tests.scenarios.scenario_texts import FULL, RUNNING, SMALL

DIALECTS = Path(__file__).parent / "kafka" / "formats" / "dialects"
FULL_DOCUMENT: dict[str, Any] = read_yaml(FULL).value
RUNNING_DOCUMENT: dict[str, Any] = read_yaml(RUNNING).value
WORDS = st.sampled_from(
    [*"{}[]:,-?*&!|>'\"%#\n\t ~=<", "a", "no", "1", "&a ", "*a ", "<<: ", "!!str ", "- ", ": ", "\n  "]
)


def check_loading(text: str, *overrides: tuple[str, str]) -> None:
    """Check that a text loads and builds its worlds, or is rejected with located mistakes."""
    try:
        scenario = loads(text, "s.yaml", overrides)
    except ScenarioError as error:
        mistakes = str(error).splitlines()
    else:
        mistakes = []
        for choice in scenario.assignors:
            scenario.world(scenario.seeds[0], choice)
    assert all(line.startswith(("s.yaml", "--set ")) for line in mistakes)


@given(st.text())
@example('"\\UFFFFFFFF"')
@example("? ")
@example("%YAML 9.9\n---\na")
def test_any_text_loads_or_is_rejected(text: str) -> None:
    check_loading(text)


@given(st.lists(WORDS, max_size=40).map("".join))
def test_any_yaml_punctuation_loads_or_is_rejected(text: str) -> None:
    check_loading(text)


@given(st.integers(0, len(SMALL)), st.integers(0, 30), st.lists(WORDS, max_size=4).map("".join))
def test_any_damaged_scenario_loads_or_is_rejected(start: int, length: int, inserted: str) -> None:
    check_loading(SMALL[:start] + inserted + SMALL[start + length :])


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(below for key, child in children for below in _paths(child, (*path, key)))]


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 9),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(
        [
            "az1",
            "orders",
            "app",
            "late",
            "by-customer",
            "3m",
            "1 GB",
            "2 MB/s",
            "totals",
            "none",
            "0_0",
            "9" * 5000,
            "2/h",
            "9/s",
        ]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*FULL_DOCUMENT, "name", "id"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def changed_scenarios(draw: st.DrawFn) -> Any:
    """Draw a full or running scenario with up to three values replaced, removed or copied from elsewhere in it."""
    document = copy.deepcopy(draw(st.sampled_from((FULL_DOCUMENT, RUNNING_DOCUMENT))))
    for _ in range(draw(st.integers(1, 3))):
        paths = _paths(document)
        path = draw(st.sampled_from(paths))
        if not path:
            continue
        parent = document
        for part in path[:-1]:
            parent = parent[part]
        action = draw(st.sampled_from(["replace", "remove", "copy"]))
        if action == "remove":
            del parent[path[-1]]
        elif action == "replace":
            parent[path[-1]] = draw(VALUES)
        else:
            copied = document
            for part in draw(st.sampled_from(paths)):
                copied = copied[part]
            parent[path[-1]] = copy.deepcopy(copied)
    return document


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
@given(changed_scenarios())
def test_any_changed_scenario_loads_or_is_rejected(document: Any) -> None:
    check_loading(json.dumps(document))


@settings(deadline=None)
@given(
    st.sampled_from(["clients[0].count", "seeds", "clients[late]", "events[3]", "x.y", "cluster"])
    | st.text(max_size=12),
    st.text(max_size=8),
)
def test_any_override_loads_or_is_rejected(path: str, value: str) -> None:
    check_loading(SMALL, (path, value))


@pytest.mark.parametrize(
    "parse", [parse_topics, parse_broker_api_versions, parse_partition_sizes, parse_topology, parse_reassignment]
)
@given(data=st.data())
def test_any_damaged_dump_is_parsed_or_rejected(parse: Callable[[str], object], data: st.DataObject) -> None:
    dialect = data.draw(st.sampled_from(sorted(DIALECTS.glob("*.txt"))))
    text = dialect.read_bytes().decode()
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 30))
    inserted = data.draw(st.text(alphabet='0123456789 \t\n:,()[]{}"->abTopic', max_size=6))
    with contextlib.suppress(FormatError):
        parse(text[:start] + inserted + text[start + length :])
