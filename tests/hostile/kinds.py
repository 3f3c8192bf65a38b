"""The kinds of hostile input, each with a function that tries one random input."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from tests.hostile.kafka_output import IMPORTERS, import_failure, importer_failure
from tests.hostile.problems import problem_failure
from tests.hostile.result_directories import plans_failure, results_failure
from tests.hostile.stored_results import stored_failure

Attack = Callable[[random.Random, Path], str | None]


def _without_folder(rng: random.Random, folder: Path, *, attack: Callable[[random.Random], str | None]) -> str | None:
    return attack(rng)


def _importer(rng: random.Random, folder: Path, *, importer: str) -> str | None:
    return importer_failure(rng, importer)


KINDS: Final[Mapping[str, Attack]] = {
    "results": results_failure,
    "pages of results": partial(results_failure, with_page=True),
    "pages of plans": plans_failure,
    "stored results": partial(_without_folder, attack=stored_failure),
    "assignment problems": partial(_without_folder, attack=problem_failure),
    **{f"Kafka's {importer}": partial(_importer, importer=importer) for importer in IMPORTERS},
    "folders of dumps": import_failure,
}
"""What is wrong with the end of one random input of each kind; None if nothing is."""
