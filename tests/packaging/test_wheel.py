"""Contents of a wheel and of a source distribution: the packages with their data, and nothing else."""

import shutil
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path, PurePosixPath

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hatch_build import BRIDGE, NESTED_PACKAGES, NestingError, rewrite_imports

pytestmark = pytest.mark.answers

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = {"assignor_sim", *NESTED_PACKAGES}
NOT_SHIPPED = {"__pycache__", ".DS_Store"}


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return Parser().parsestr(archive.read(find_metadata(wheel, "METADATA")).decode("utf-8"))


def find_metadata(wheel: Path, name: str) -> str:
    distribution = "-".join(wheel.name.split("-")[:2])
    return f"{distribution}.dist-info/{name}"


def normalize(requirements: list[str]) -> set[tuple[str, str, str]]:
    """Return name, versions and marker of each requirement, in canonical spelling."""
    return {
        (canonicalize_name(parsed.name), str(parsed.specifier), str(parsed.marker or ""))
        for parsed in map(Requirement, requirements)
    }


def list_files(package: str) -> set[str]:
    """Return all files of a package in the checkout, as paths relative to its root."""
    files = (path.relative_to(ROOT) for path in (ROOT / package).rglob("*") if path.is_file())
    return {path.as_posix() for path in files if not NOT_SHIPPED & set(path.parts)}


def test_wheel_has_one_top_level_package(names: set[str]) -> None:
    folders = {PurePosixPath(name).parts[0] for name in names}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"assignor_sim"}


def test_wheel_has_every_file_of_the_packages(names: set[str]) -> None:
    nested = {f"assignor_sim/{file}" for package in NESTED_PACKAGES for file in list_files(package)}
    nested.add(f"assignor_sim/{BRIDGE.as_posix()}")
    assert {name for name in names if name.startswith("assignor_sim/")} == nested | list_files("assignor_sim")


def test_wheel_without_java_bridge_is_not_built(tmp_path: Path) -> None:
    for name in SOURCES:
        shutil.copy(ROOT / name, tmp_path / name)
    with pytest.raises(Exception, match=r"assignors/jvm/bridge\.jar is missing; run make bridge"):
        next(WheelBuilder(str(tmp_path)).build(directory=str(tmp_path), versions=["standard"]))


def test_wheel_is_typed(names: set[str]) -> None:
    assert "assignor_sim/py.typed" in names


def test_wheel_has_shipped_scenarios_and_schema(names: set[str]) -> None:
    assert "assignor_sim/scenarios/schema.json" in names
    library = "assignor_sim/scenarios/library/"
    assert [name for name in names if name.startswith(library) and name.endswith(".yaml")]


def test_only_imports_are_rewritten(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        nested = archive.read("assignor_sim/scenarios/run.py").decode().splitlines()
    plain = (ROOT / "scenarios" / "run.py").read_text(encoding="utf-8").splitlines()
    changed = [(before, after) for before, after in zip(plain, nested, strict=True) if before != after]
    assert changed
    for before, after in changed:
        assert after == before.replace("from ", "from assignor_sim.", 1)


def test_code_that_cannot_be_nested_is_rejected() -> None:
    for code in ("import reports.analysis", 'name = f"reports.{module}"'):
        with pytest.raises(NestingError, match="example"):
            rewrite_imports(code, "example.py", ROOT)


def test_strings_that_name_modules_are_rewritten() -> None:
    code = 'a = "scenarios.run"\nb = files("reports")\nc = "reports.unknown"\nd = "scenarios"\n'
    expected = (
        'a = "assignor_sim.scenarios.run"\nb = files("assignor_sim.reports")\nc = "reports.unknown"\nd = "scenarios"\n'
    )
    assert rewrite_imports(code, "example.py", ROOT) == expected


def test_wheel_has_command_and_license(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        entry_points = archive.read(find_metadata(wheel, "entry_points.txt")).decode("utf-8")
        license = archive.read(find_metadata(wheel, "licenses/LICENSE")).decode("utf-8")
    assert "[console_scripts]\nassignor-sim = assignor_sim.cli:main\n" in entry_points
    assert license == (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_wheel_requires_declared_dependencies_only(metadata: Message) -> None:
    extras = [
        f'{requirement}; extra == "{name}"'
        for name, requirements in PROJECT["optional-dependencies"].items()
        for requirement in requirements
    ]
    assert normalize(metadata.get_all("Requires-Dist", [])) == normalize([*PROJECT["dependencies"], *extras])


def test_wheel_cannot_be_published(metadata: Message) -> None:
    assert "Private :: Do Not Upload" in metadata.get_all("Classifier", [])


def test_source_distribution_has_no_tests_and_tools(tmp_path: Path) -> None:
    sdist = next(SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
    with tarfile.open(sdist) as archive:
        entries = {PurePosixPath(name).parts[1] for name in archive.getnames()}
    documents = {"CHANGELOG.md", "LICENSE", "README.md", "PKG-INFO", "pyproject.toml", ".gitignore", "hatch_build.py"}
    assert entries == PACKAGES | documents
