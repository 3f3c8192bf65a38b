"""The kinds of hostile input, each with a function that tries one random input."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from tests.hostile.cost_reports import cost_report_failure
from tests.hostile.features import (
    arguments_failure,
    consumers_failure,
    environment_failure,
    features_failure,
    plan_failure,
)
from tests.hostile.kafka_output import IMPORTERS, import_failure, importer_failure
from tests.hostile.manifests import manifest_failure
from tests.hostile.monitoring import document_failure
from tests.hostile.problems import problem_failure
from tests.hostile.result_directories import plans_failure, results_failure, sweep_failure
from tests.hostile.scenarios import scenario_failure, sweep_file_failure
from tests.hostile.stored_results import stored_failure

Attack = Callable[[random.Random, Path], str | None]


def _without_folder(rng: random.Random, folder: Path, *, attack: Callable[[random.Random], str | None]) -> str | None:
    return attack(rng)


def _importer(rng: random.Random, folder: Path, *, importer: str) -> str | None:
    return importer_failure(rng, importer)


_ATTACKS: Final[Mapping[str, tuple[str, Attack]]] = {
    "scenarios": ("`validate`, `run`", partial(_without_folder, attack=scenario_failure)),
    "sweep files": ("`sweep`", sweep_file_failure),
    "results": ("`show`, `diff`, `explain`", results_failure),
    "pages of results": ("`report`", partial(results_failure, with_page=True)),
    "pages of plans": ("`report`", plans_failure),
    "pages of sweeps": ("`report`", sweep_failure),
    "stored results": ("`verify`", partial(_without_folder, attack=stored_failure)),
    "assignment problems": ("`assign --check`, every assignor", partial(_without_folder, attack=problem_failure)),
    **{
        f"Kafka's {importer}": ("`import`, `plan`, `ingest`", partial(_importer, importer=importer))
        for importer in IMPORTERS
    },
    "expectations, upgrades, static members": (
        "`validate`, `run`",
        partial(_without_folder, attack=features_failure),
    ),
    "consumer groups, other traffic": ("`validate`, `run`", partial(_without_folder, attack=consumers_failure)),
    "Kubernetes manifests": ("`validate`, `run`", manifest_failure),
    "answers of monitoring systems": ("`ingest`", partial(_without_folder, attack=document_failure)),
    "cost reports": ("`bill --check`", cost_report_failure),
    "clusters and options": ("`plan`", plan_failure),
    "arguments": ("`init`, `releases`, `list`", arguments_failure),
    "environments": ("`doctor`", environment_failure),
    "folders of dumps": ("`import --from`", import_failure),
}

KINDS: Final[Mapping[str, Attack]] = {kind: attack for kind, (_, attack) in _ATTACKS.items()}
"""What is wrong with the end of one random input of each kind; None if nothing is."""

READERS: Final[Mapping[str, str]] = {kind: reader for kind, (reader, _) in _ATTACKS.items()}
"""The commands that read each kind, for the table of counts."""
