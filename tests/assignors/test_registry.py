"""Assignors are found by name, path, class, instance or function; only `load` and `resolve` import code."""

from __future__ import annotations

import pickle
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assignors import registry
from assignors.built_in_assignors import AssignorInfo
from assignors.errors import InvalidAssignmentError, UnknownAssignorError
from assignors.java.hash_order import CollectionOrder
from assignors.jvm.assignor import JavaAssignor, JavaClass, MakeCoordinatorAssignor
from assignors.model.assignment import TaskAssignment
from assignors.model.state import ApplicationState
from assignors.model.traffic_rates import TrafficRates
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.optimal import Optimal
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from reports.analysis.release_differences import THREADS, measured_differences

EMPTY = ApplicationState.of([], [])


@dataclass(frozen=True)
class Nothing:
    """Assign no task."""

    size: int = 1

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return TaskAssignment(())


def assign_nothing(state: ApplicationState) -> TaskAssignment:
    """Assign no task."""
    return TaskAssignment(())


def test_built_in_assignor_is_found_by_name_and_alias() -> None:
    assert registry.find("ha") is registry.find("high_availability")
    assert isinstance(registry.make(registry.find("ha")), HighAvailability)


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownAssignorError, match=r"unknown assignor 'fair' .built in: high_availability"):
        registry.find("fair")


def test_unknown_parameter_is_named() -> None:
    with pytest.raises(UnknownAssignorError, match=r"cannot build assignor 'high_availability'.*speed"):
        registry.make(registry.find("ha"), {"speed": 3})


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_assignor.py").write_text(
        'class Theirs:\n    """All to one."""\n\n    def assign(self, state):\n        ...\n'
    )
    metadata = tmp_path / "their_assignor-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: their-assignor\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{registry.ENTRY_POINT_GROUP}]\ntheirs = their_assignor:Theirs\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "their_assignor", raising=False)


@pytest.mark.usefixtures("plugin")
def test_installed_entry_point_is_loaded_by_its_name() -> None:
    info = registry.load("theirs")
    assert (info.name, info.summary) == ("theirs", "All to one.")
    assert "theirs" in registry.installed()


@pytest.mark.usefixtures("plugin")
def test_find_never_imports_installed_code() -> None:
    with pytest.raises(UnknownAssignorError, match="name it on the command line: --assignor theirs"):
        registry.find("theirs")
    with pytest.raises(UnknownAssignorError, match="name it on the command line: --assignor theirs"):
        registry.resolve("theirs", may_import=False)
    assert "their_assignor" not in sys.modules


@pytest.mark.parametrize("name", ["Nothing", "assign_nothing"])
def test_import_path_names_a_class_or_a_function(name: str) -> None:
    path = f"{__name__}:{name}"
    resolved = registry.resolve(path)
    assert (resolved.info.name, resolved.info.summary, resolved.label) == (path, "Assign no task.", path)
    assert resolved.make().assign(EMPTY) == TaskAssignment(())


@pytest.mark.parametrize("path", ["no_such_module:Assignor", f"{__name__}:Missing"])
def test_failed_import_is_reported(path: str) -> None:
    with pytest.raises(UnknownAssignorError, match=f"cannot import assignor '{path}'"):
        registry.resolve(path)


@pytest.mark.parametrize("value", [f"{__name__}:EMPTY", 3, None, str])
def test_other_values_are_rejected(value: Any) -> None:
    with pytest.raises(UnknownAssignorError, match=r"is not an assignor .expected: a registered name"):
        registry.resolve(value)


def test_instance_of_built_in_assignor_resolves_to_its_name_and_parameters() -> None:
    resolved = registry.resolve(Optimal(slack=1))
    assert (resolved.info, dict(resolved.parameters)) == (registry.find("optimal"), {"slack": 1})
    assert resolved.label == "optimal (slack=1)"
    assert resolved.make() == Optimal(slack=1)
    assert registry.resolve(HighAvailability()) == registry.ResolvedAssignor(
        registry.find("ha"), {}, "high_availability"
    )


def test_rates_are_kept_but_not_in_the_label() -> None:
    rates = TrafficRates({})
    resolved = registry.resolve(Optimal(minimizes="bytes", rates=rates))  # type: ignore[arg-type]
    assert resolved.label == "optimal (minimizes=bytes)"
    assert resolved.parameters["rates"] is rates


def test_instance_of_another_class_is_used_unchanged() -> None:
    assignor = Nothing(size=2)
    resolved = registry.resolve(assignor)
    assert (resolved.info.name, resolved.label) == (f"{__name__}:Nothing", "Nothing (size=2)")
    assert resolved.make() is assignor


def test_class_is_built_without_parameters() -> None:
    assert registry.resolve(HighAvailability).info is registry.find("ha")
    resolved = registry.resolve(Nothing)
    assert (resolved.info.name, resolved.label) == (f"{__name__}:Nothing", "Nothing")
    assert resolved.make() == Nothing()


def test_function_is_an_assignor() -> None:
    resolved = registry.resolve(assign_nothing)
    assert (resolved.info.name, resolved.label) == (f"{__name__}:assign_nothing", "assign_nothing")
    assert resolved.make().assign(EMPTY) == TaskAssignment(())
    assert pickle.loads(pickle.dumps(resolved)).make() == resolved.make()
    assert registry.resolve(lambda state: TaskAssignment(())).label == "<lambda>"


def test_function_must_return_an_assignment() -> None:
    assignor = registry.resolve(lambda state: {}).make()  # type: ignore[arg-type,return-value]
    with pytest.raises(InvalidAssignmentError, match=r"<lambda> returned dict .expected: TaskAssignment"):
        assignor.assign(EMPTY)


def test_resolved_assignor_resolves_to_itself() -> None:
    resolved = registry.resolve("ha")
    assert registry.resolve(resolved) is resolved
    assert registry.resolve(resolved.info).info is resolved.info


def test_release_of_an_assignor_is_part_of_its_name() -> None:
    info = registry.find("streams_group_sticky@4.3")
    assert (info.name, info.kafka_version, info.in_streams_groups) == ("streams_group_sticky@4.3", "4.3", True)
    assert registry.make(info) == StreamsGroupSticky(release="4.3")
    assert registry.find(info.name) == registry.load(info.name) == info
    assert pickle.loads(pickle.dumps(info)) == info
    assert info.parameter_names == ("order", "members")


@pytest.mark.parametrize(
    "newest", [info for info in registry.built_in() if info.kafka_class], ids=lambda info: info.name
)
def test_every_assignor_of_kafka_can_be_named_with_a_release(newest: registry.AssignorInfo) -> None:
    assert registry.make(newest) == registry.make(registry.find(f"{newest.name}@{newest.releases[-1]}"))
    for name in (newest.name, *newest.aliases):
        for release in newest.releases:
            info = registry.find(f"{name}@{release}")
            assert (info.name, info.kafka_version) == (f"{newest.name}@{release}", release)
            assert (info.name_without_release, info.weights) == (newest.name, newest.weights)
            assert registry.resolve(info.name).label == info.name
            assert pickle.loads(pickle.dumps(info)) == info


def test_assignors_whose_answers_never_changed_are_the_same_in_all_releases() -> None:
    same = [info for info in registry.built_in() if info.releases and not info.differs_by_release]
    assert {info.name for info in same} == {
        name for name, history in measured_differences().assignors.items() if not history.pairs and name != THREADS
    }
    for info in same:
        assert all(info.at(release).make is info.make for release in info.releases)


def test_registered_releases_are_those_that_were_compared() -> None:
    for info in registry.built_in():
        if info.releases:
            assert measured_differences().assignors[info.name].releases == info.releases


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "streams_group_sticky@5.0",
            "unknown release '5.0' of streams_group_sticky (known: streams_group_sticky@4.2.1, "
            "streams_group_sticky@4.2, "
            "streams_group_sticky@4.3, streams_group_sticky@4.4)",
        ),
        ("ha@3.7", "unknown release '3.7' of high_availability (known: high_availability@3.8, high_availability@3.9, "),
        ("sticky@4.5", "unknown release '4.5' of legacy_sticky (known: legacy_sticky@3.8, "),
        ("optimal@4.3", "unknown assignor 'optimal@4.3': optimal is not Kafka's; omit the release"),
        ("fair@4.3", "unknown assignor 'fair@4.3'"),
    ],
)
def test_unknown_release_names_the_known_ones(name: str, message: str) -> None:
    with pytest.raises(UnknownAssignorError, match=re.escape(message)):
        registry.find(name)


def test_instance_of_a_release_has_its_name() -> None:
    resolved = registry.resolve(StreamsGroupSticky(release="4.2", members={"a": "b"}))
    assert resolved.info == registry.find("streams_group_sticky@4.2")
    assert dict(resolved.parameters) == {"members": {"a": "b"}}
    assert resolved.make() == StreamsGroupSticky(release="4.2", members={"a": "b"})


def test_release_is_not_a_parameter() -> None:
    with pytest.raises(
        UnknownAssignorError, match=r"the release is part of the name, as in streams_group_sticky@4\.2\.1"
    ):
        registry.make(registry.find("streams_group_sticky@4.4"), {"release": "4.3"})


def test_class_name_of_kafka_is_accepted_if_it_is_unique() -> None:
    assert registry.find("HighAvailabilityTaskAssignor") is registry.find("high_availability")
    with pytest.raises(UnknownAssignorError, match="did you mean 'high_availability'"):
        registry.find("high_avialability")


def test_fields_of_what_builds_an_assignor_are_not_its_parameters() -> None:
    """As of an assignor in Java: its builder knows the class, and takes the parameters."""
    java = JavaClass("java:mine", "org.example.Mine", "coordinator", (), "mine", is_released=False)
    info = AssignorInfo("java:mine", MakeCoordinatorAssignor(java))
    assert info.parameter_names is None
    assert registry.make(info, {"order": "sorted"}) == JavaAssignor(java, CollectionOrder.SORTED)
