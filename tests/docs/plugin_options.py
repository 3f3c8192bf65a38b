"""Options of the pytest plugin."""

from __future__ import annotations

import pytest

from assignor_sim import pytest_plugin


def plugin_options() -> set[str]:
    """Return the names of the options that the plugin adds to pytest."""
    parser = pytest.Parser(_ispytest=True)
    pytest_plugin.pytest_addoption(parser)
    return {name for option in parser.getgroup("assignor-sim").options for name in option.names()}
