"""How much chance the tests try: `HYPOTHESIS_PROFILE=nightly make test` tries much more.

`ci`, hypothesis' own profile where CI is set, draws the same examples each time.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("nightly", max_examples=5_000, deadline=None)
settings.register_profile("default", deadline=None)

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default")
settings.load_profile(PROFILE)
