"""The page docs/reference/watch.md: the events and the metrics of a watch."""

from __future__ import annotations

import inspect
import re

from scenarios.watch.watch_events import ALARMS, EventKind
from scenarios.watch.watch_metrics import METRICS, WatchMetric

PAGE = """# Events and metrics of a watch

[`assignor-sim watch`](../how-to/watch-a-group.md) reports events, and serves metrics with `--metrics`. Later versions
may add events, details, metrics and labels; the names and meanings here do not change.

<!-- Made by `python -m tools.reference_pages` from scenarios/watch. -->

## Events

An event is a JSON object with `time` (UTC), `group`, `event`, `level`, `message` and `details`. The level is `info`,
`alarm` when an alarm is raised, or `resolved`. Times in `details` (`_ms`) are milliseconds, points in time since 1970.
In a consumer group, a task is a partition (`orders-3`), and members take the place of processes; `warmups`,
`probing_stuck`, `followup_overdue` and `assignment_error` occur in Kafka Streams only.

"""

METRICS_TITLE = """
## Metrics

Each metric has the label `group`. The number of label values does not depend on the application. What only Kafka
Streams has is missing for consumer groups, not 0: the metrics below, the role `standby` and the alarms named above.

"""


def watch_page() -> str:
    """Return the page."""
    rows = [
        f"| `{kind}` | {'yes' if kind in ALARMS else ''} | {meaning} |"
        for kind, meaning in _meanings(EventKind).items()
    ]
    metrics = [_row(metric) for metric in METRICS]
    return "\n".join(
        [
            PAGE + "| event | alarm | meaning |",
            "|---|---|---|",
            *rows,
            METRICS_TITLE + "| metric | type | labels | unit | meaning |",
            "|---|---|---|---|---|",
            *metrics,
            "",
        ]
    )


def _row(metric: WatchMetric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    meaning = f"{metric.help} Kafka Streams only." if metric.streams_only else metric.help
    return f"| `{metric.full_name}` | {metric.kind} | {labels} | {metric.unit} | {meaning} |"


def _meanings(kinds: type[EventKind]) -> dict[EventKind, str]:
    """Return the sentence of the docstring for each kind, without `alarm: `."""
    section = inspect.cleandoc(kinds.__doc__ or "").partition("Attributes:\n")[2]
    entries = re.findall(r"^    (\w+): (.+)$", section, re.MULTILINE)
    meanings = {kinds[name]: text.removeprefix("alarm: ") for name, text in entries}
    return {kind: f"{meanings[kind][:1].upper()}{meanings[kind][1:]}" for kind in kinds}
