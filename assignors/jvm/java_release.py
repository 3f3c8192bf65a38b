"""The release of Java, as `java -version` prints it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from typing import Final

OLDEST_JAVA: Final = 17

INSTALL_JAVA: Final = (
    "install a JDK 17 or newer (a JRE suffices for java: assignors): apt install default-jdk-headless (Debian, "
    "Ubuntu), brew install openjdk (macOS), winget install EclipseAdoptium.Temurin.21.JDK (Windows)"
)

# A program that only pretends to be Java may print thousands of digits, which Python does not convert.
_VERSION = re.compile(r'version "(?:1\.)?([0-9]{1,4})([^"0-9][^"]{0,40})?"')


def java_release(output: str) -> tuple[int, str] | None:
    """Return the release, such as 17, and the version without a leading `1.`, such as 17.0.15; None without one."""
    found = _VERSION.search(output)
    return None if found is None else (int(found[1]), f"{found[1]}{found[2] or ''}")


def java_executable(environment: Mapping[str, str]) -> str | None:
    """Return the path of Java: that of JAVA_HOME, or else the first on PATH; None without one."""
    home = environment.get("JAVA_HOME", "")
    return shutil.which("java", path=os.path.join(home, "bin") if home else environment.get("PATH", ""))


def missing_java(environment: Mapping[str, str]) -> str:
    """Return where there is no Java, and how to get it."""
    home = environment.get("JAVA_HOME", "")
    return f"JAVA_HOME={home} has no bin/java; correct or unset it" if home else f"no java on PATH; {INSTALL_JAVA}"
