"""pytest plug-in: scenarios as tests, with `pytest --assignor-scenarios DIR`.

Each scenario with expectations or stored results becomes a test of them, as `assignor-sim verify` does. Other tests can
use the fixtures `scenario`, for which they run once per scenario, and `assignor_sim`.

pytest imports this module wherever the package is installed, so it imports nothing else until an option is used.
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
    repeatable: dict[str, Any] = {"action": "append", "default": []}
    text = "Verify each scenario in DIR that has stored results. Repeatable."
    add("--assignor-scenarios", dest=_DIRECTORIES, metavar="DIR", help=text, **repeatable)
    text = "Store the results of the scenarios in DIR, in place of verifying them."
    add("--assignor-update", dest=_UPDATE, action="store_true", help=text)
    text = "Tolerance of a metric: METRIC=5%% or METRIC=3. Repeatable."
    add("--assignor-tolerance", dest=_TOLERANCES, metavar="METRIC=SIZE", help=text, **repeatable)
    text = "Compare metrics only, not the decisions of single rebalances."
    add("--assignor-metrics-only", dest=_METRICS_ONLY, action="store_true", help=text)
    text = "Assignor in place of the scenarios': a name, or package.module:Class. Repeatable."
    add("--assignor-name", dest=_ASSIGNORS, metavar="NAME", help=text, **repeatable)


def pytest_configure(config: pytest.Config) -> None:
    """Check the options, and make pytest collect the directories.

    Raises:
        pytest.UsageError: a directory does not exist, or a tolerance is invalid.
    """
    start = config.invocation_params.dir
    for directory in _directories(config):
        if not directory.is_dir():
            raise pytest.UsageError(f"--assignor-scenarios {directory}: no such directory")
        collected = [(start / argument.split("::")[0]).resolve() for argument in config.args]
        if not any(directory.is_relative_to(path) for path in collected):
            config.args.append(str(directory))
    if config.getoption(_DIRECTORIES) and config.getoption(_TOLERANCES):
        from reports.analysis.stored.verification import ToleranceError, parse_tolerances

        try:
            parse_tolerances(config.getoption(_TOLERANCES))
        except ToleranceError as error:
            raise pytest.UsageError(f"--assignor-{str(error).removeprefix('--')}") from None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Return a collector for a scenario file in one of the directories, None for any other file."""
    if file_path.suffix != ".yaml" or file_path.parent.resolve() not in _directories(parent.config):
        return None
    return ScenarioFile.from_parent(parent, path=file_path)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize tests that use the fixture `scenario` of this plug-in with the scenarios."""
    files = [file for directory in _directories(metafunc.config) for file in sorted(directory.glob("*.yaml"))]
    if files and _uses_own_fixture(metafunc):
        metafunc.parametrize("scenario", files, indirect=True, ids=[file.stem for file in files])


@pytest.fixture(scope="session")
def assignor_sim() -> ModuleType:
    """Return the Python API, as `import assignor_sim` does."""
    import assignor_sim

    return assignor_sim


@pytest.fixture
def scenario(request: pytest.FixtureRequest) -> Scenario:
    """Return each scenario of `--assignor-scenarios` in turn, or the file of an indirect parametrization."""
    from scenarios.load import load

    file: Path | None = getattr(request, "param", None)
    if file is None:
        pytest.skip("no scenarios: pytest --assignor-scenarios DIR")
    return load(request.path.parent / file)


class ScenarioFile(pytest.File):
    """Collector of a scenario file."""

    def collect(self) -> Iterable[pytest.Item]:
        """Yield the test of the scenario."""
        from assignor_sim.api.regression import may_state_expectations, stored_results_path
        from reports.analysis.stored.invariant_case import invariant_case_path

        is_stored = stored_results_path(self.path).exists() or self.config.getoption(_UPDATE)
        states_more = may_state_expectations(self.path) or invariant_case_path(self.path).exists()
        is_expected = not is_stored and states_more
        yield ScenarioItem.from_parent(self, name="as_expected" if is_expected else "as_stored")


class ScenarioItem(pytest.Item):
    """Test that verifies expectations and stored results of a scenario, or stores its results."""

    def runtest(self) -> None:
        """Verify or record.

        Raises:
            NotAsStoredError: a result differs, or the scenario cannot be simulated.
        """
        from assignor_sim.api import regression
        from reports.analysis.stored.verification import VerificationStatus, parse_tolerances
        from reports.render.verification import as_text

        option = self.config.getoption
        if option(_UPDATE):
            self.user_properties.append(("assignor_sim", regression.record(self.path, option(_ASSIGNORS))))
            return
        verification = regression.verify_file(
            self.path,
            parse_tolerances(option(_TOLERANCES)),
            metrics_only=option(_METRICS_ONLY),
            assignors=option(_ASSIGNORS),
        )
        if verification.status is VerificationStatus.NOT_STORED:
            pytest.skip(
                f"no expectations and no stored results: assignor-sim record {self.path.name}, "
                "or pytest --assignor-update"
            )
        if not verification.passes:
            raise NotAsStoredError(as_text(verification))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the message without a traceback if the scenario is invalid or its results differ."""
        from assignors.errors import AssignorError
        from scenarios.load import ScenarioError

        if isinstance(excinfo.value, NotAsStoredError | ScenarioError | AssignorError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file and the title of the test."""
        return self.path, None, f"scenario {self.path.stem}"


class NotAsStoredError(Exception):
    """The results of a scenario differ from the stored ones or from its expectations; the message says where."""


def _directories(config: pytest.Config) -> list[Path]:
    start = config.invocation_params.dir
    return [(start / directory).resolve() for directory in config.getoption(_DIRECTORIES)]


def _uses_own_fixture(metafunc: pytest.Metafunc) -> bool:
    """Return whether a test uses this plug-in's `scenario` without its own parametrization."""
    if "scenario" not in metafunc.fixturenames:
        return False
    if any("scenario" in str(mark.args[:1]) for mark in metafunc.definition.iter_markers("parametrize")):
        return False
    definitions = getattr(metafunc, "_arg2fixturedefs", {}).get("scenario", ())
    return bool(definitions) and getattr(definitions[-1].func, "__module__", None) == __name__
