"""What a recommendation minimizes, an arithmetic expression over metrics of a run, and limits that every run must meet.

An objective has numbers, names, `+ - * /` and parentheses. It is parsed by Python's parser but never executed; any
other syntax is rejected with its position.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NoReturn

from reports.analysis.metrics import METRIC, Run
from scenarios.language.errors import did_you_mean
from scenarios.language.units import parse_duration_ms
from scenarios.load import Scenario
from simulator.results.verdict import INCOMPARABLE, Verdict


class RecommendError(ValueError):
    """The request for a recommendation is invalid."""


SHORT_NAMES: Final[Mapping[str, tuple[str, float]]] = MappingProxyType(
    {
        "usd": ("cross_rack_usd_per_day", 1),
        "cross_rack": ("cross_rack_bytes", 1e9),
        "moves": ("active_moves", 1),
        "restored": ("restored_bytes", 1e9),
        "downtime": ("downtime_ms", 1e3),
        "worst_downtime": ("worst_downtime_ms", 1e3),
        "convergence": ("time_to_converge_ms", 60e3),
    }
)
"""Short names of metrics with the unit of the short name in units of the metric.

The units are US dollars per day, gigabytes, seconds of downtime (of all tasks, or of the worst one) and minutes to
converge.
"""

_MONEY: Final = ("cross_rack_usd", "cross_rack_usd_per_day")

MAX_CHARS: Final = 500

_BINARY: Final[Mapping[type, Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_UNARY: Final[Mapping[type, Callable[[float], float]]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """A parsed objective; lower is better.

    Attributes:
        text: the expression as entered.
        metrics: names of the metrics used, in order of occurrence, without duplicates.
    """

    text: str
    metrics: tuple[str, ...]
    _tree: ast.expr

    def of(self, run: Run) -> float | None:
        """Return the objective of a run; None if a metric is unknown or the value is not finite."""
        try:
            value = _value(self._tree, run)
        except (ZeroDivisionError, OverflowError):
            return None
        return value if value is not None and math.isfinite(value) else None


def parse_objective(text: str) -> Objective:
    """Parse an objective such as `usd + 0.05*moves`.

    Raises RecommendError if the syntax is invalid or a name is unknown; the message shows the position.
    """
    line = " ".join(text.split())
    if len(line) > MAX_CHARS:
        raise RecommendError(f"--objective: {len(line)} characters, more than the maximum of {MAX_CHARS}")
    try:
        tree = ast.parse(line, mode="eval").body
    except SyntaxError as error:
        _fail(line, (error.offset or 1) - 1, "invalid expression; example: usd + 0.05*moves")
    except (ValueError, RecursionError, MemoryError):
        raise RecommendError("--objective: invalid expression; example: usd + 0.05*moves") from None
    metrics: dict[str, None] = {}
    _check(tree, line, metrics)
    if not metrics:
        _fail(line, 0, f"uses no metric ({_known()})")
    return Objective(line, tuple(metrics), tree)


def _check(node: ast.expr, line: str, metrics: dict[str, None]) -> None:
    """Collect the metrics used; reject unsupported syntax and unknown names."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            _check(left, line, metrics)
            _check(right, line, metrics)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            _check(operand, line, metrics)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and math.isfinite(value):
            pass
        case ast.Name(id=name):
            if name not in SHORT_NAMES and name not in METRIC:
                guess = did_you_mean(name, [*SHORT_NAMES, *METRIC])
                hint = f"; {guess}" if guess.startswith("did you mean") else ""
                _fail(line, _column(line, node), f"unknown metric '{name}'{hint} ({_known()})")
            metrics[_metric(name)[0]] = None
        case _:
            what = "only numbers, names, + - * / and parentheses are supported"
            _fail(line, _column(line, node), what)


def _value(node: ast.expr, run: Run) -> float | None:
    match node:
        case ast.BinOp():
            left, right = _value(node.left, run), _value(node.right, run)
            return None if left is None or right is None else _BINARY[type(node.op)](left, right)
        case ast.UnaryOp():
            operand = _value(node.operand, run)
            return None if operand is None else _UNARY[type(node.op)](operand)
        case ast.Name():
            metric, units = _metric(node.id)
            value = METRIC[metric].of(run)
            return None if value is None else value / units
        case ast.Constant(value=int() | float() as value):
            return float(value)
    raise AssertionError(ast.dump(node))


def _metric(name: str) -> tuple[str, float]:
    return SHORT_NAMES.get(name, (name, 1))


def _column(line: str, node: ast.expr) -> int:
    """Return the position of a node in characters; the parser counts bytes."""
    return len(line.encode()[: node.col_offset].decode())


def _known() -> str:
    return f"names: {', '.join(SHORT_NAMES)}, and every metric key, such as load_skew"


def _fail(line: str, column: int, message: str) -> NoReturn:
    start = "--objective: "
    raise RecommendError(f"{start}{line}\n{' ' * (len(start) + column)}^ {message}") from None


DOES_NOT_CONVERGE = "does not converge"
"""Reason for a run that has not converged at its end."""

REDUNDANCY_METRICS: Final = ("tasks_without_rack_redundancy", "worst_client_loss")
"""Metrics of stateful tasks that lose all copies if one rack or one client fails; racks may be unknown."""

_FAILED_SIZE = 100.0
"""Size of the violation of a failed run, in multiples of a limit: larger than any that a completed run has."""
_NOT_CONVERGED_SIZE = 10.0
_CONVERGENCE = {"time_to_converge_ms", "rebalances_to_converge"}
"""Metrics that are unknown for a run whose assignment is final while copies still restore."""


@dataclass(frozen=True, slots=True)
class Limit:
    """An upper limit of a metric per run.

    Attributes:
        maximum: the limit, in the unit of the metric.
        other_metrics: other metrics of the same unit with the same limit.
    """

    option: str
    metric: str
    maximum: float
    other_metrics: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.option} {METRIC[self.metric].write(self.maximum)}"

    def of(self, run: Run) -> float | None:
        """Return the largest of the limited metrics of a run; None if all are unknown."""
        values = [METRIC[name].of(run) for name in (self.metric, *self.other_metrics)]
        return max((value for value in values if value is not None), default=None)

    def excess(self, run: Run) -> float:
        """Return the excess of a run over the limit as a share of the limit; 0 if within the limit or unknown."""
        value = self.of(run)
        return 0.0 if value is None or value <= self.maximum else (value - self.maximum) / max(self.maximum, 1.0)


@dataclass(frozen=True, slots=True)
class ConstraintViolation:
    """A reason why a run is infeasible.

    Attributes:
        cause: the reason as text, equal for all runs with this reason.
    """

    cause: str
    size: float


def parse_limits(
    moves: float | None = None,
    downtime: str | None = None,
    convergence: str | None = None,
    unprotected: int | None = None,
) -> list[Limit]:
    """Return the limits of the command line that are set; durations are texts, such as `20s`.

    Raises RecommendError if a duration is invalid.
    """
    parsed = [] if moves is None else [Limit("--max-moves", "active_moves", moves)]
    for option, metric, text in (
        ("--max-downtime", "downtime_ms", downtime),
        ("--max-convergence", "time_to_converge_ms", convergence),
    ):
        if text is not None:
            try:
                parsed.append(Limit(option, metric, parse_duration_ms(text)))
            except ValueError as error:
                raise RecommendError(f"{option}: {error}") from None
    if unprotected is not None:
        parsed.append(Limit("--max-unprotected-tasks", REDUNDANCY_METRICS[0], unprotected, REDUNDANCY_METRICS[1:]))
    return parsed


def violations(run: Run, objective: Objective, limits: Sequence[Limit]) -> list[ConstraintViolation]:
    """Return the reasons why a row of the table `runs`, with its `error`, is infeasible; none if it is feasible."""
    if run["error"] is not None:
        return [ConstraintViolation(f"raises an error ({run['error']})", _FAILED_SIZE)]
    if run["verdict"] in INCOMPARABLE:
        return [ConstraintViolation(f"ends without an assignment ({run['cause'] or run['verdict']})", _FAILED_SIZE)]
    reasons = [ConstraintViolation(f"exceeds {limit}", excess) for limit in limits if (excess := limit.excess(run))]
    used_metrics = {*objective.metrics, *(limit.metric for limit in limits)}
    if run["verdict"] not in (Verdict.STABLE, Verdict.RESTORING) or (
        run["verdict"] == Verdict.RESTORING and used_metrics & _CONVERGENCE
    ):
        reasons.append(ConstraintViolation(DOES_NOT_CONVERGE, _NOT_CONVERGED_SIZE))
    elif objective.of(run) is None:
        reasons.append(
            ConstraintViolation(f"has no {objective.text}: one of its metrics is unknown", _NOT_CONVERGED_SIZE)
        )
    return reasons


def check_price(scenario: Scenario, objective: Objective) -> None:
    """Raise a `RecommendError` if the objective has a cost, but the scenario has no price."""
    if scenario.blueprint.price is None and any(name in _MONEY for name in objective.metrics):
        raise RecommendError(
            f"--objective: {objective.text}: the scenario has no price, so traffic costs are unknown; "
            "use --set price=aws, or add price: aws (or price: {provider: mine, usd_per_gb: 0.03}) to the scenario"
        )
