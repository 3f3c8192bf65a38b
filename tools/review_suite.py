"""The reference page of the suite of `assignor-sim review`."""

from __future__ import annotations

from collections import Counter

from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.review.outcomes import FAILURES, INVARIANTS
from reports.analysis.review.report import REVIEW_METRICS
from scenarios.suite.scale_shapes import SHAPES
from scenarios.suite.standard import FAMILY_DESCRIPTIONS, OWN, VERSION, standard_suite

_HEAD = f"""# The suite of reviews: {VERSION}

What [`assignor-sim review`](../how-to/review-an-assignor.md) runs. A case is a scenario and a seed. The random
scenarios and the large assignments never change within a version: they depend on the version, the seed of the suite
(`--seed`), their family and their number only, and a test compares their digests. The shipped scenarios
(`known_problems`) may change between releases of this project, and so may the model that simulates all cases, so
compare reviews of one release only. The cases of `--quick` are the first ones of each family.

<!-- Made by `python -m tools.reference_pages` from scenarios/suite and reports/analysis/review. -->

## Families
"""

_RANDOM = """
Random scenarios have 1 to 4 subtopologies of 1 to 12 partitions, 3 to 6 clients and 2 more that may join, 1 to 6
threads per client, 0 to 2 standbys, and 1 to 5 racks; replica placements and process ids follow from the seed of
the case.

## Large assignments
"""

_ORDER = """\
`order_independent` reorders what `all_tasks` and `kafka_streams_states` list, and nothing else. It can only fail for an
assignor in Python that reads them. Assignors that read columns, as those of this project do, cannot violate it. Nor can
assignors of brokers, whose members are in the order of a hash map, and assignors in Java, which get the columns.
"""


def review_suite_page() -> str:
    """Return the page."""
    counts = [Counter(case.family for case in standard_suite(quick=quick)) for quick in (False, True)]
    families = [
        f"| `{name}` | {text} | {counts[0][name]} | {counts[1][name]} |"
        for name, text in FAMILY_DESCRIPTIONS.items()
        if name != OWN
    ]
    total = f"| all | | {counts[0].total():,} | {counts[1].total():,} |"
    shapes = [
        f"| `{one.name}` | {one.tasks:,} | {one.clients:,} | {one.threads:,} | {one.standbys} | "
        f"{'yes' if one.in_quick else ''} |"
        for one in SHAPES
    ]
    invariants = [
        f"| `{name}` | {text} | {'3' if name in FAILURES else '1, if the baseline has no violation'} |"
        for name, text in INVARIANTS.items()
    ]
    metrics = [f"| `{key}` | {COMPARABLE_METRICS[key].title} |" for key in REVIEW_METRICS]
    return "\n".join(
        [
            _HEAD,
            "| family | what its cases have in common | cases | cases of `--quick` |\n|---|---|---|---|",
            *families,
            total,
            _RANDOM,
            "| shape | tasks | clients | threads per client | standbys | `--quick` |\n|---|---|---|---|---|---|",
            *shapes,
            "\nSource of the four shapes with a name: Kafka's `StreamsAssignmentScaleTest`.\n\n## Invariants\n",
            "They are checked on up to 12 states of each run and on 20 more states with other process ids. For the",
            "last three, up to 50 rebalances without any change follow: every copy has caught up, and",
            "`max.warmup.replicas` is the number of tasks.\n",
            _ORDER,
            "| invariant | what the assignor guarantees | exit code |\n|---|---|---|",
            *invariants,
            "\n## Metrics\n\nLower is better. [Definitions](metrics.md).\n",
            "| key | title |\n|---|---|",
            *metrics,
            "\n## Gap to the optimum\n",
            "By family: the KIP-925 cost of the assignment on which a run settles, above the lowest cost of all",
            "assignments that are at least as balanced, with the weights of the assignor; the number of cases in which",
            "the assignment is optimal; and the number in which an exact search proved the optimum. In the others, the",
            "cost is above a lower bound.",
            "",
        ]
    )
