"""Number of random cases per test: `HYPOTHESIS_PROFILE=nightly make test` tries 5,000 instead of 100.

If the environment variable CI is set, the profile `ci` applies, with 30 cases, the same each time, whichever tests ran
before in the same process. The profile `certify` draws 100 others each time, from the seed of `make certify`.
`unshrunk` shows the first failing case at once, instead of looking for a smaller one.
"""

from __future__ import annotations

import signal

import pytest
from hypothesis import Phase, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.counts import PROFILE
from tests.run_folder import RunFolder, end_with_parent

settings.register_profile("ci", settings.get_profile("ci"), max_examples=30)
settings.register_profile("nightly", max_examples=5_000, deadline=None)
settings.register_profile("certify", deadline=None, print_blob=True)
settings.register_profile("default", deadline=None)
settings.register_profile("unshrunk", deadline=None, phases=(Phase.explicit, Phase.generate))

settings.load_profile(PROFILE)

if PROFILE not in ("certify", "nightly"):
    # Hypothesis also draws constants of the modules that are loaded, so what ran before would decide what is drawn.
    providers._get_local_constants = Constants

# A shell starts commands in the background with SIGINT ignored, which processes of tests inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

RUN_FOLDER = pytest.StashKey[RunFolder]()


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):  # of pytest-xdist
        end_with_parent()
    else:
        config.stash[RUN_FOLDER] = RunFolder()


def pytest_unconfigure(config: pytest.Config) -> None:
    if RUN_FOLDER in config.stash:
        config.stash[RUN_FOLDER].remove()
