"""The report page: one self-contained HTML file with runs, sweeps and plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from reports.analysis.comparison import Tables, compare_runs, rows_by_scenario
from reports.analysis.metrics import METRICS
from reports.analysis.plans.results import PlanResults
from reports.analysis.sweeps.aggregated_sweep import AggregatedSweep
from reports.analysis.text import printable
from reports.render.html.manifest_lines import assignor_settings, manifest_lines, scenario_text
from reports.render.html.shell import Section, render_page
from reports.render.plan_page import plan_sections
from reports.render.run_page.sections import run_sections
from reports.render.sweep_page import sweep_sections
from simulator.plurals import counted

Manifest = Mapping[str, Any]


def page(
    tables: Tables | None,
    *manifests: Manifest,
    sweeps: Sequence[AggregatedSweep] = (),
    plans: Sequence[PlanResults] = (),
) -> str:
    """Render the report page.

    The same tables and manifests give the same text. `tables`: all result tables; None without runs. `manifests`:
    manifests of the results, with any JSON structure; `scenario` (with `text`), `assignors`, `seeds`, `command` and
    `versions` are formatted, and `directory` becomes a heading. `sweeps`: one section each, after those of the runs.
    `plans`: one section each, after those of the sweeps. Returns the HTML file.
    """
    rows = [] if tables is None else compare_runs(tables)
    names = list(
        dict.fromkeys([*rows_by_scenario(rows), *(sweep.name for sweep in sweeps), *(plan.source for plan in plans)])
    )
    has_simulations = tables is not None or bool(sweeps)
    title = f"{', '.join(names) or 'no runs'} – {'assignors' if has_simulations else 'plans'} compared"
    sections = [
        *(() if tables is None else run_sections(tables, rows, manifests)),
        *sweep_sections(sweeps),
        *plan_sections(plans),
        *_closing_sections(manifests, has_simulations=has_simulations),
    ]
    compared = [assignor for sweep in sweeps for assignor in sweep.assignors]
    subtitle = _subtitle("Assignors compared in simulation", compared)
    planned = _subtitle("Reassignment plans compared", [name for plan in plans for name in plan.planned])
    return render_page(title, names, "No runs", " ".join(filter(None, (subtitle, planned))), sections)


def _subtitle(what: str, labels: Sequence[str]) -> str:
    distinct = dict.fromkeys(map(printable, labels))
    return f"{what}: {', '.join(distinct)}." if distinct else ""


def _closing_sections(manifests: Sequence[Manifest], *, has_simulations: bool) -> Iterator[Section]:
    if has_simulations:
        metrics = [
            (group, list(group_metrics)) for group, group_metrics in groupby(METRICS, key=lambda metric: metric.group)
        ]
        sentence = f"Definitions of the {len(METRICS)} metrics, in {len(metrics)} groups."
        yield Section("reading", "Definitions", "run/definitions.html.j2", {"metrics": metrics}, sentence=sentence)
    if manifests:
        yield Section(
            "making",
            "How this report was made",
            "run/provenance.html.j2",
            {"results": [_provenance(manifest) for manifest in manifests]},
            sentence=_provenance_sentence(manifests),
        )


def _provenance_sentence(manifests: Sequence[Manifest]) -> str:
    """Return how many results, assignors and seeds the page is made from, for manifests with any structure."""
    counts = dict.fromkeys(("assignors", "seeds"), 0)
    for manifest in manifests:
        for name in counts:
            values = manifest.get(name)
            counts[name] = max(counts[name], len(values) if isinstance(values, list | tuple) else 0)
    parts = [(len(manifests), "result"), (counts["assignors"], "assignor"), (counts["seeds"], "seed")]
    texts = [counted(number, noun) for number, noun in parts if number]
    return f"Made from {texts[0]}" + (f" with {' and '.join(texts[1:])}" if texts[1:] else "") + "."


def _provenance(manifest: Manifest) -> dict[str, Any]:
    return {
        "name": manifest.get("directory", ""),
        "facts": [(term, text) for term, text in manifest_lines(manifest) if term != "directory"],
        "settings": list(assignor_settings(manifest)),
        "scenario_text": scenario_text(manifest),
    }
