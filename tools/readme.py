"""Write current output, figures and the picture into the README: `python -m tools.readme`.

Commands are run by `tools.examples`. A figure in a sentence is between `<!--=NAME-->` and `<!--/-->`; the line after
`<!-- picture -->` is the picture with its alternative text.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assignor_sim.api.loading import load
from assignor_sim.api.results import RunResult
from assignor_sim.api.running import run
from assignors.replicas.registry import built_in
from reports.analysis.formatting import format_duration, format_rate
from reports.analysis.runs.time_series import cross_rack_rate, series
from tools.examples import first_runs, show
from tools.examples import refreshed as run_examples
from tools.known_problems import problem_scenarios

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
FIDELITY = ROOT / "docs" / "explanation" / "fidelity.md"
PICTURE = ROOT / "docs" / "pictures" / "cross_rack_traffic.png"
RECORDED = ("extras", "public", "rare")
"""Files of tests/parity/data with answers of Kafka's own classes in the client."""
SCENARIO, DEFAULT, RACK_AWARE = "order_processing", "HA", "HA min_traffic"
WARMUPS = "application.configs.max.warmup.replicas"

_FIGURE = re.compile(r"<!--=([a-z_]+)-->(.*?)<!--/-->", re.DOTALL)
_PICTURE = re.compile(r"(?<=<!-- picture -->\n)!\[.*?\]\((?P<path>.*?)\)")


def main() -> None:
    """Write README and picture."""
    result = demo()
    draw_picture(result)
    README.write_text(refreshed(README.read_text(encoding="utf-8"), result), encoding="utf-8")


def demo() -> RunResult:
    """Return the run that the README shows."""
    return run(load(SCENARIO), [DEFAULT, RACK_AWARE], explain=False, ranges=False)


def refreshed(text: str, result: RunResult | None = None) -> str:
    """Return the README with current output of its commands, figures and alternative text."""
    result = result or demo()
    values = figures(result)
    text = _FIGURE.sub(lambda match: f"<!--={match[1]}-->{values[match[1]]}<!--/-->", text)
    text = _PICTURE.sub(lambda match: f"![{alternative_text(result)}]({match['path']})", text)
    return run_examples(text)


def figures(result: RunResult) -> Mapping[str, str]:
    """Return the figures in the sentences of the README, by name."""
    runs = first_runs(result.tables["runs"].to_pylist())
    today, rack_aware = runs[DEFAULT], runs[RACK_AWARE]
    saved = 1 - rack_aware["cross_rack_bytes_per_s"] / today["cross_rack_bytes_per_s"]
    slow = first_runs(
        run(load(SCENARIO, [(WARMUPS, "2"), ("duration", "48h")]), [DEFAULT], explain=False, ranges=False)
        .tables["runs"]
        .to_pylist()
    )[DEFAULT]
    return {
        "recorded": f"{recorded_problems():,}",
        "kafka_tests": passed_tests(),
        "predicted": predicted("number of rebalances"),
        "placed": predicted("tasks by process"),
        "problems": str(len(problem_scenarios())),
        "strategies": str(len(built_in())),
        "saved": f"{100 * saved:.0f} %",
        "converged": show(today, "time_to_converge_ms"),
        "downtime": show(rack_aware, "worst_downtime_ms"),
        "warmups": str(load(SCENARIO).assignment_configs.max_warmup_replicas),
        "with_default": show(slow, "time_to_converge_ms"),
    }


def recorded_problems() -> int:
    """Return the number of problems whose answers by Kafka's own classes are stored."""
    folder = ROOT / "tests" / "parity" / "data"
    return sum(len(gzip.decompress((folder / f"{name}.jsonl.gz").read_bytes()).splitlines()) for name in RECORDED)


def passed_tests() -> str:
    """Return how many of Kafka's unit tests that ask for an answer pass, in all releases."""
    of_releases = json.loads((ROOT / "tests" / "kafka_tests" / "results.json").read_text(encoding="utf-8")).values()
    classes = [counts for of in of_releases for counts in of["classes"].values()]
    asking, failing = sum(counts[1] for counts in classes), sum(counts[0] - counts[2] for counts in classes)
    return f"{asking - failing:,} of {asking:,}"


def predicted(dimension: str) -> str:
    """Return how many predictions came true in runs of real Kafka, from the summary in the docs.

    Raises LookupError if the summary has no such row.
    """
    for line in FIDELITY.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if cells[1:2] == [dimension] and len(cells) > 6:
            return cells[6]
    raise LookupError(f"{FIDELITY.name}: no row {dimension!r}")


def alternative_text(result: RunResult) -> str:
    """Return what the picture shows.

    Raises ValueError if the clients do not join at the same time, or an assignor does not send more after that.
    """
    at_ms, joining = joined(result)
    peaks = {label: format_rate(rate) for label, rate in peak_rates(result, at_ms).items()}
    rates = {label: format_rate(rate) for label, rate in steady_rates(result).items()}
    return (
        f"Cross-rack traffic over time: {joining} clients join after {format_duration(at_ms)} and restore state, "
        f"with up to {peaks[DEFAULT]} for {DEFAULT} and {peaks[RACK_AWARE]} for {RACK_AWARE}; then {DEFAULT} settles "
        f"at {rates[DEFAULT]} and {RACK_AWARE} at {rates[RACK_AWARE]}"
    )


def joined(result: RunResult) -> tuple[int, int]:
    """Return when clients join in a run, in milliseconds, and how many; raise ValueError if there are other events."""
    rows = result.tables["events"].to_pylist()
    starts = {(row["at_ms"], row["event"]) for row in rows if row["event"].endswith(" starts")}
    times = {at_ms for at_ms, _ in starts}
    if len(times) != 1 or len({row["event"] for row in rows}) != len(starts):
        raise ValueError(f"not a single join: {sorted({row['event'] for row in rows})}")
    return times.pop(), len(starts)


def peak_rates(result: RunResult, at_ms: int) -> dict[str, float]:
    """Return the highest traffic in the picture from a time on in bytes per second, by assignor.

    Raises ValueError if the traffic is not higher than before.
    """
    peaks = {}
    for line in series(result.tables, cross_rack_rate):
        known = [(time, value) for time, value in zip(line.at_ms, line.maximums, strict=True) if value is not None]
        before, peaks[line.label] = (
            max(value for time, value in known if (time >= at_ms) == is_after) for is_after in (False, True)
        )
        if before >= peaks[line.label]:
            raise ValueError(f"{line.label} does not send more after the event")
    return peaks


def steady_rates(result: RunResult) -> dict[str, float]:
    """Return the cross-rack traffic at the end of the run in bytes per second, by assignor."""
    runs = first_runs(result.tables["runs"].to_pylist())
    return {label: row["cross_rack_bytes_per_s"] for label, row in runs.items()}


def draw_picture(result: RunResult) -> None:
    """Save the picture, with a digest of what it shows."""
    figure: Any = result.plot.cross_rack_traffic()
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None, "Source": picture_digest(result)})


def picture_digest(result: RunResult) -> str:
    """Return a digest of the tables from which the picture is drawn."""
    digest = hashlib.sha256()
    for name in ("runs", "rounds", "events"):
        digest.update(repr(result.tables[name].to_pylist()).encode())
    return digest.hexdigest()


if __name__ == "__main__":
    main()
