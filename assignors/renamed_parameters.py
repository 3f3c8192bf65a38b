"""Parameters of assignors that were renamed: scenarios and stored results may use the old names until release 0.3.0."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

REMOVED_IN: Final = "0.3.0"
"""The release that no longer accepts the old names."""

RENAMED_PARAMETERS: Final[Mapping[str, str]] = MappingProxyType({"minimises": "minimizes"})
"""Old names of parameters and their current ones."""


class RenamedParametersWarning(FutureWarning):
    """An assignor was built with the old name of a parameter."""


def rename_parameters(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return parameters under their current names in the same order, and the old names that they had.

    If a parameter has both its old and its current name, both stay, so that the assignor rejects the old one.
    """
    old = [name for name in parameters if name in RENAMED_PARAMETERS and RENAMED_PARAMETERS[name] not in parameters]
    return {RENAMED_PARAMETERS[name] if name in old else name: value for name, value in parameters.items()}, old


def describe_rename(name: str) -> str:
    """Return the warning for the old name of a parameter."""
    return (
        f"parameter '{name}' was renamed to '{RENAMED_PARAMETERS[name]}'; "
        f"the old name is accepted until release {REMOVED_IN}"
    )


def warn_of_old_parameters(assignor: str, old: Sequence[str]) -> None:
    """Warn that an assignor is built with old names of parameters; do nothing if there are none."""
    for name in old:
        warnings.warn(f"{assignor}: {describe_rename(name)}", RenamedParametersWarning, stacklevel=3)
