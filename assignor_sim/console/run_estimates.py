"""Estimates of long runs, before they start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor_sim.console.exits import exit_with_error

if TYPE_CHECKING:
    from scenarios.run_estimate import RunEstimate


def announce(estimate: RunEstimate, *, may_exceed: bool, options: str) -> None:
    """Print the estimate of long runs; exit with code 2 if it exceeds a limit.

    `may_exceed` says whether the runs may start above a limit; `options`: the options that allow it, for the message.
    """
    from assignor_sim.console.remarks import print_remark

    if estimate.is_long:
        print_remark("note", f"estimate: {estimate}")
    if estimate.excess is not None and not may_exceed:
        exit_with_error(f"{estimate.excess}; run a smaller scenario, or use {options}")
