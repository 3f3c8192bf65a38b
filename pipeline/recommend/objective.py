"""Objective of a recommendation: an arithmetic expression over metrics of a run.

An objective has numbers, names, `+ - * /` and parentheses. It is parsed by Python's parser but never executed; any
other syntax is rejected with its position.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NoReturn

from pipeline.recommend.errors import RecommendError
from reports.analysis.metrics import METRIC, Run
from scenarios.language.errors import did_you_mean

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

MAX_CHARS: Final = 500
"""Maximum length of an objective."""

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
    """Reject unsupported syntax and collect the metrics used."""
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
