"""Scenarios as tests: `pytest --assignor-scenarios DIR`.

Each scenario with stored results becomes a test that runs it again and compares, as `assignor-sim verify` does. Tests
of one's own take the fixtures `scenario`, for which they run once for each scenario, and `assignor_sim`.

pytest imports this module wherever the package is installed, so it imports nothing else before it is asked to.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from scenarios.load import Scenario

_DIRECTORIES = "assignor_scenarios"
_UPDATE = "assignor_update"
_TOLERANCES = "assignor_tolerance"
_METRICS_ONLY = "assignor_metrics_only"
_ASSIGNORS = "assignor_name"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    add = parser.getgroup("assignor-sim", "scenarios as tests (assignor-sim)").addoption
    several: dict[str, Any] = {"action": "append", "default": []}
    what = "Verify each scenario in DIR that has stored results. May be repeated."
    add("--assignor-scenarios", dest=_DIRECTORIES, metavar="DIR", help=what, **several)
    what = "Store what the scenarios in DIR come to now, instead."
    add("--assignor-update", dest=_UPDATE, action="store_true", help=what)
    what = "How far a metric may be off: METRIC=5%% or METRIC=3. May be repeated."
    add("--assignor-tolerance", dest=_TOLERANCES, metavar="METRIC=SIZE", help=what, **several)
    what = "Compare metrics alone, not what the single rounds decided."
    add("--assignor-metrics-only", dest=_METRICS_ONLY, action="store_true", help=what)
    what = "Run this one, in place of those that the scenarios list: a name, or package.module:Class. May be repeated."
    add("--assignor-name", dest=_ASSIGNORS, metavar="NAME", help=what, **several)


def pytest_configure(config: pytest.Config) -> None:
    """See to it that pytest comes by the directories, whatever else it was told to collect."""
    from_where = config.invocation_params.dir
    for directory in _directories(config):
        if not directory.is_dir():
            raise pytest.UsageError(f"--assignor-scenarios {directory}: no such directory")
        told = [(from_where / argument.split("::")[0]).resolve() for argument in config.args]
        if not any(directory.is_relative_to(each) for each in told):
            config.args.append(str(directory))
    if config.getoption(_DIRECTORIES) and config.getoption(_TOLERANCES):
        from reports.analysis.stored.tolerance import ToleranceError, parse_tolerances

        try:
            parse_tolerances(config.getoption(_TOLERANCES))
        except ToleranceError as error:
            raise pytest.UsageError(f"--assignor-{str(error).removeprefix('--')}") from None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Take the scenario files that lie in the directories."""
    if file_path.suffix != ".yaml" or file_path.parent.resolve() not in _directories(parent.config):
        return None
    return ScenarioFile.from_parent(parent, path=file_path)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that take our fixture `scenario` once for each scenario."""
    files = [file for directory in _directories(metafunc.config) for file in sorted(directory.glob("*.yaml"))]
    if files and _takes_ours(metafunc):
        metafunc.parametrize("scenario", files, indirect=True, ids=[file.stem for file in files])


@pytest.fixture(scope="session")
def assignor_sim() -> ModuleType:
    """The front door of assignor-sim, as `import assignor_sim` gives it."""
    import assignor_sim

    return assignor_sim


@pytest.fixture
def scenario(request: pytest.FixtureRequest) -> Scenario:
    """Each scenario of --assignor-scenarios in turn, or the file that indirect parametrisation names."""
    from scenarios.load import load

    file: Path | None = getattr(request, "param", None)
    if file is None:
        pytest.skip("no scenarios: pytest --assignor-scenarios DIR")
    return load(request.path.parent / file)


class ScenarioFile(pytest.File):
    """A scenario file."""

    def collect(self) -> Iterable[pytest.Item]:
        """The one test of a scenario."""
        yield ScenarioItem.from_parent(self, name="as_stored")


class ScenarioItem(pytest.Item):
    """Runs a scenario again and compares with what is stored, or stores what it comes to."""

    def runtest(self) -> None:
        """Verify or record.

        Raises:
            NotAsStoredError: anything differs, or could not be run; has all that there is to say.
        """
        from assignor_sim.api import regression
        from reports.analysis.stored.tolerance import parse_tolerances
        from reports.analysis.stored.verification import VerificationStatus
        from reports.render.verification import as_text

        option = self.config.getoption
        if option(_UPDATE):
            self.user_properties.append(("assignor_sim", regression.record(self.path, option(_ASSIGNORS))))
            return
        done = regression.verify_file(
            self.path,
            parse_tolerances(option(_TOLERANCES)),
            metrics_only=option(_METRICS_ONLY),
            assignors=option(_ASSIGNORS),
        )
        if done.status is VerificationStatus.NOT_STORED:
            pytest.skip(f"nothing is stored: assignor-sim record {self.path.name}, or pytest --assignor-update")
        if done.status is not VerificationStatus.SAME:
            raise NotAsStoredError(as_text(done))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What the user did wrong, or what has changed, without a traceback."""
        from assignors.errors import AssignorError
        from scenarios.load import ScenarioError

        if isinstance(excinfo.value, NotAsStoredError | ScenarioError | AssignorError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it stands, and what it is called."""
        return self.path, None, f"scenario {self.path.stem}"


class NotAsStoredError(Exception):
    """A scenario does not come to what is stored; says what has changed."""


def _directories(config: pytest.Config) -> list[Path]:
    from_where = config.invocation_params.dir
    return [(from_where / each).resolve() for each in config.getoption(_DIRECTORIES)]


def _takes_ours(metafunc: pytest.Metafunc) -> bool:
    """Whether a test takes our `scenario`: not one of the project's own, nor one that it parametrises itself."""
    if "scenario" not in metafunc.fixturenames:
        return False
    if any("scenario" in str(mark.args[:1]) for mark in metafunc.definition.iter_markers("parametrize")):
        return False
    known = getattr(metafunc, "_arg2fixturedefs", {}).get("scenario", ())
    return bool(known) and getattr(known[-1].func, "__module__", None) == __name__
