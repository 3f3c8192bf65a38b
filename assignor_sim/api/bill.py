"""`sim.bill`: the bill of cross-rack traffic, and what known changes of it save."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace

from assignor_sim.api.loading import as_scenario
from assignors.registry import AssignorLike
from reports.analysis.bill.monthly_bill import BillPrice, MonthlyBill, Saving, monthly_bill
from scenarios.cost_levers import COST_LEVERS, NotApplicableError
from scenarios.load import AssignorSpec, Scenario, assignor_specs
from scenarios.run import run_world
from simulator.results.tabulation import tabulate
from simulator.world.world import World


class BillError(Exception):
    """A bill that cannot be computed; the message has the reason."""


def bill(
    scenario: Scenario | str | os.PathLike[str],
    assignor: AssignorLike | None = None,
    *,
    days: float = 30,
    seed: int | None = None,
    savings: bool = True,
    on_progress: Callable[[str], None] = lambda _: None,
) -> MonthlyBill:
    """Simulate a scenario, and return the bill of its traffic between racks.

    The run is scaled to the days: events, restoration and reassignments happen as often per day as in the scenario.

    Args:
        scenario: a loaded scenario, a file, or the name of a shipped scenario; it must have a price.
        assignor: the assignor; by default the first of the scenario.
        days: number of days, above 0.
        seed: random seed; by default the first seed of the scenario.
        savings: whether to simulate changes that can lower the bill, each in a run of its own.
        on_progress: called with the name of each run.

    Returns:
        The bill.

    Raises:
        ScenarioError: the scenario is invalid.
        AssignorError: the assignor is unknown, or rejects its parameters.
        BillError: the scenario has no price, or a run failed.

    Examples:
        >>> import assignor_sim as sim
        >>> bill = sim.bill("cross_zone_bill", days=1, savings=False)
        >>> [part.kind for part in bill.kinds if part.transfers.usd > 30]
        ['source_read', 'repartition_read', 'repartition_write', 'replication']
    """
    loaded = as_scenario(scenario)
    runs = _BilledRuns(loaded, assignor, days, seed, on_progress)
    current = runs.bill(runs.world, "current settings")
    return replace(current, savings=tuple(runs.savings())) if savings else current


class _BilledRuns:
    """Runs of one scenario with one assignor and seed."""

    def __init__(
        self,
        scenario: Scenario,
        assignor: AssignorLike | None,
        days: float,
        seed: int | None,
        on_progress: Callable[[str], None],
    ) -> None:
        self._scenario, self._days, self._on_progress = scenario, days, on_progress
        self._spec: AssignorSpec = assignor_specs(scenario, [] if assignor is None else [assignor])[0]
        self._seed = scenario.seeds[0] if seed is None else seed
        self.world = scenario.world(self._seed, self._spec)
        if self.world.price is None:
            raise BillError(f"{scenario.name}: the scenario has no price; set price: aws, gcp, azure or your own")
        price = self.world.price
        self._price = BillPrice(
            price.provider,
            price.usd_per_gb,
            price.received_usd_per_gb,
            price.as_of,
            {pair: (cost.usd_per_gb, cost.received_usd_per_gb) for pair, cost in price.pairs.items()},
        )

    def bill(self, world: World, name: str) -> MonthlyBill:
        """Simulate a world, and return its bill.

        Args:
            world: the world.
            name: what differs in it, for messages.

        Returns:
            The bill.

        Raises:
            BillError: the run failed.
        """
        self._on_progress(name)
        trace = run_world(self._scenario, world, self._spec, self._seed)
        if reason := trace.failure or trace.stopped:
            raise BillError(f"{self._scenario.name}: the run with {name} failed: {reason}")
        return monthly_bill(
            tabulate(trace, self._spec.label, self._seed),
            self._price,
            scenario=self._scenario.name,
            assignor=self._spec.label,
            days=self._days,
            simulated_ms=trace.end_ms,
            unbilled=tuple(neighbor.blueprint.application.id for neighbor in self._scenario.neighbors),
        )

    def savings(self) -> Iterator[Saving]:
        """Yield what each change saves, then what all of them save together."""
        together, applied = self.world, []
        for lever in COST_LEVERS:
            try:
                after = self.bill(lever.apply(self.world, self._spec), lever.title.lower()).total
                together = lever.apply(together, self._spec)
            except NotApplicableError as error:
                yield Saving(lever.key, lever.title, lever.change, None, str(error))
            else:
                applied.append(lever.title)
                yield Saving(lever.key, lever.title, lever.change, after)
        if len(applied) > 1:
            yield Saving("all", "All changes", "", self.bill(together, "all changes").total)
