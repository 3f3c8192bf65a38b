"""Imports of the project's packages in a checkout, where they are top-level packages.

A wheel nests them in `assignor_sim` (see `hatch_build.py`), so this module does nothing there. In a checkout or an
editable install, a folder `reports/` in the working directory would hide the project's `reports`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

PACKAGES = ("assignors", "pipeline", "reports", "scenarios", "simulator")

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(_HERE)


class CheckoutFinder:
    """Finds the project's top-level packages in the checkout, before any other folder of `sys.path`."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a package of the project, None for every other module."""
        return PathFinder.find_spec(name, [_ROOT], target) if path is None and name in PACKAGES else None


def prefer_checkout() -> None:
    """Import the project's packages from the checkout from now on; do nothing in an installed wheel.

    Raises:
        ImportError: another package of the same name has been imported already.
    """
    if os.path.isdir(os.path.join(_HERE, PACKAGES[0])) or CheckoutFinder in sys.meta_path:
        return
    for name in PACKAGES:
        folder = _folder_of(sys.modules.get(name))
        if folder is not None and folder != os.path.join(_ROOT, name):
            raise ImportError(
                f"package '{name}' was imported from {folder}, but assignor-sim runs from its checkout {_ROOT}, "
                f"which has a package of that name: import assignor_sim first, or install the wheel"
            )
    sys.meta_path.insert(0, CheckoutFinder)


def _folder_of(module: ModuleType | None) -> str | None:
    """Return the folder of an imported package, None if it was not imported or has no file."""
    file = getattr(module, "__file__", None)
    return None if file is None else os.path.dirname(os.path.abspath(file))
