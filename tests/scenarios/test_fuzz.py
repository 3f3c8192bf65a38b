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

from scenarios.kafka.formats.broker_api_versions import parse_broker_api_versions
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.log_dirs import parse_partition_sizes
from scenarios.kafka.formats.reassignment import parse_reassignment
from scenarios.kafka.formats.topics import parse_topics
from scenarios.kafka.formats.topology import parse_topology
from scenarios.language.yaml_reader import read_yaml
from scenarios.load import ScenarioError, loads
from tests.scenarios.scenario_texts import FULL, RUNNING, SMALL

DIALECTS = Path(__file__).parent / "kafka" / "formats" / "dialects"
WHOLE: dict[str, Any] = read_yaml(FULL).value
FOUND: dict[str, Any] = read_yaml(RUNNING).value
WORDS = st.sampled_from(
    [*"{}[]:,-?*&!|>'\"%#\n\t ~=<", "a", "no", "1", "&a ", "*a ", "<<: ", "!!str ", "- ", ": ", "\n  "]
)


def _check_loading(text: str, *overrides: tuple[str, str]) -> None:
    try:
        scenario = loads(text, "s.yaml", overrides)
    except ScenarioError as error:
        mistakes = str(error).splitlines()
    else:
        mistakes = []
        for choice in scenario.assignors:
            scenario.world(scenario.seeds[0], choice.configs, choice.protocol)
    assert all(line.startswith(("s.yaml", "--set ")) for line in mistakes)


@given(st.text())
@example('"\\UFFFFFFFF"')
@example("? ")
@example("%YAML 9.9\n---\na")
def test_any_text_is_check_loading(text: str) -> None:
    _check_loading(text)


@given(st.lists(WORDS, max_size=40).map("".join))
def test_any_marks_of_yaml_are_check_loading(text: str) -> None:
    _check_loading(text)


@given(st.integers(0, len(SMALL)), st.integers(0, 30), st.lists(WORDS, max_size=4).map("".join))
def test_any_damage_to_a_scenario_is_check_loading(start: int, length: int, written: str) -> None:
    _check_loading(SMALL[:start] + written + SMALL[start + length :])


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, child in children for place in _places(child, (*path, key)))]


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
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*WHOLE, "name", "id"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def _changed_scenarios(draw: st.DrawFn) -> Any:
    """Draw a full or running scenario with up to three values replaced, removed or copied from elsewhere in it."""
    document = copy.deepcopy(draw(st.sampled_from((WHOLE, FOUND))))
    for _ in range(draw(st.integers(1, 3))):
        places = _places(document)
        path = draw(st.sampled_from(places))
        if not path:
            continue
        parent = document
        for part in path[:-1]:
            parent = parent[part]
        what = draw(st.sampled_from(["replace", "remove", "transplant"]))
        if what == "remove":
            del parent[path[-1]]
        elif what == "replace":
            parent[path[-1]] = draw(VALUES)
        else:
            other = document
            for part in draw(st.sampled_from(places)):
                other = other[part]
            parent[path[-1]] = copy.deepcopy(other)
    return document


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=300)
@given(_changed_scenarios())
def test_any_change_to_a_scenario_is_check_loading(document: Any) -> None:
    _check_loading(json.dumps(document))


@settings(deadline=None)
@given(
    st.sampled_from(["clients[0].count", "seeds", "clients[late]", "events[3]", "x.y", "cluster"])
    | st.text(max_size=12),
    st.text(max_size=8),
)
def test_any_override_is_check_loading(path: str, value: str) -> None:
    _check_loading(SMALL, (path, value))


@pytest.mark.parametrize(
    "reader", [parse_topics, parse_broker_api_versions, parse_partition_sizes, parse_topology, parse_reassignment]
)
@given(data=st.data())
def test_any_dump_is_check_loading(reader: Callable[[str], object], data: st.DataObject) -> None:
    dialect = data.draw(st.sampled_from(sorted(DIALECTS.glob("*.txt"))))
    text = dialect.read_bytes().decode()
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 30))
    written = data.draw(st.text(alphabet='0123456789 \t\n:,()[]{}"->abTopic', max_size=6))
    with contextlib.suppress(FormatError):
        reader(text[:start] + written + text[start + length :])
