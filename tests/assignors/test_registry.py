"""Assignors are found by name; only those who ask by name on purpose get code imported."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from assignors import registry
from assignors.errors import UnknownAssignorError
from assignors.tasks.high_availability import HighAvailability


def test_a_built_in_assignor_is_found_by_name_and_alias() -> None:
    assert registry.find("ha") is registry.find("high_availability")
    assert isinstance(registry.make(registry.find("ha")), HighAvailability)


def test_names_and_aliases_are_unique() -> None:
    names = [name for info in registry.built_in() for name in (info.name, *info.aliases)]
    assert len(names) == len(set(names))


def test_every_built_in_assignor_says_whose_answers_it_gives() -> None:
    for info in registry.built_in():
        assert info.summary
        assert bool(info.kafka_version) == bool(info.kafka_class)


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(UnknownAssignorError, match=r"'fair' is not a built-in assignor .built in: high_availability"):
        registry.find("fair")


def test_an_unknown_parameter_is_named() -> None:
    with pytest.raises(UnknownAssignorError, match="assignor 'high_availability' cannot be built"):
        registry.make(registry.find("ha"), {"speed": 3})


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_assignor.py").write_text(
        'class Theirs:\n    """All to one."""\n\n    def assign(self, state):\n        ...\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    entry = EntryPoint("theirs", "their_assignor:Theirs", registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda **chosen: EntryPoints([entry]).select(**chosen))
    monkeypatch.delitem(sys.modules, "their_assignor", raising=False)


@pytest.mark.usefixtures("plugin")
def test_an_installed_entry_point_is_loaded_by_its_name() -> None:
    info = registry.load("theirs")
    assert (info.name, info.summary) == ("theirs", "All to one.")
    assert "theirs" in registry.installed()


@pytest.mark.usefixtures("plugin")
def test_finding_never_imports_what_is_installed() -> None:
    with pytest.raises(UnknownAssignorError, match="say so on the command line: --assignor theirs"):
        registry.find("theirs")
    assert "their_assignor" not in sys.modules
