"""Write the software bill of materials (CycloneDX 1.6, JSON) of everything that requirements.lock installs.

`python -m tools.sbom out/sbom.json`; the same lock file gives the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_PIN = re.compile(r"(?P<name>[\w.-]+)==(?P<version>[^\s;\\]+)(?: ; (?P<marker>[^\\]+?))? \\$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Package:
    """A pinned package.

    Attributes:
        marker: for which Pythons and systems it is pinned; empty for all.
        hashes: SHA-256 of each of its files, of which one is installed.
        required_by: packages that need it, and the project itself.
    """

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    required_by: tuple[str, ...]

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def read_lock(text: str) -> Iterator[Package]:
    """Yield the packages of a lock file of `uv pip compile --generate-hashes`."""
    for entry in re.split(r"\n(?=[\w])", "\n" + text)[1:]:
        lines = entry.splitlines()
        pin = _PIN.match(lines[0])
        if pin is None:
            raise ValueError(f"requirements.lock: not a pin with hashes: {lines[0]}")
        comments = " ".join(line.strip() for line in lines if line.strip().startswith("#"))
        named = re.sub(r"#|\bvia\b|\([^)]*\)", " ", comments).split()
        if re.search(r"assignor-sim|pyproject", comments):
            named = [name for name in named if not name.startswith(("assignor-sim", "pyproject"))] + ["assignor-sim"]
        hashes = tuple(_HASH.findall(entry))
        yield Package(pin["name"], pin["version"], pin["marker"] or "", hashes, tuple(dict.fromkeys(named)))


def runtime_packages(packages: Mapping[str, Package], project: Mapping[str, Any]) -> set[str]:
    """Return the names of the packages that the project needs to run, in all of its extras."""
    texts = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    names = {re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", text)[0]).lower() for text in texts}
    while True:
        more = {package.name for package in packages.values() if names & set(package.required_by)} | names
        if more == names:
            return names
        names = more


def sbom(lock: str, pyproject: str) -> dict[str, Any]:
    """Return the bill of materials, JSON-serializable."""
    project = tomllib.loads(pyproject)["project"]
    packages = {f"{package.name}@{package.version}": package for package in read_lock(lock)}
    needed = runtime_packages(packages, project)
    root = f"pkg:pypi/{project['name']}@{project['version']}"
    depends_on: dict[str, set[str]] = {root: set(), **{package.purl: set() for package in packages.values()}}
    for package in packages.values():
        for name in package.required_by:
            for user in (other for other in packages.values() if other.name == name):
                depends_on[user.purl].add(package.purl)
            if name == project["name"]:
                depends_on[root].add(package.purl)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.UUID(sha256((lock + pyproject).encode()).hexdigest()[:32], version=4)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": project["name"],
                "version": project["version"],
                "licenses": [{"license": {"id": project["license"]}}],
                "purl": root,
            }
        },
        "components": [_component(package, package.name in needed) for package in packages.values()],
        "dependencies": [{"ref": ref, "dependsOn": sorted(used)} for ref, used in sorted(depends_on.items())],
    }


def _component(package: Package, is_needed: bool) -> dict[str, Any]:
    properties = [{"name": "assignor-sim:marker", "value": package.marker}] if package.marker else []
    return {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "scope": "required" if is_needed else "excluded",
        "hashes": [{"alg": "SHA-256", "content": content} for content in package.hashes],
        "purl": package.purl,
        **({"properties": properties} if properties else {}),
    }


def main() -> None:
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("requirements.lock", "pyproject.toml")]
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(sbom(texts[0], texts[1]), indent=2) + "\n", encoding="utf-8")
    print(f"{target}: {sum(1 for _ in read_lock(texts[0]))} packages")


if __name__ == "__main__":
    main()
