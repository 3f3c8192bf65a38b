"""What is to be as small as possible: a sum, with weights, of figures that every run has.

An objective is arithmetic over names: numbers, `+ - * /` and parentheses. It is read by Python's own parser and never
run as code: what is not in this list is refused where it stands.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from pipeline.recommend.errors import RecommendError
from reports.analysis.metric import Run
from reports.analysis.metrics import METRIC
from scenarios.language.errors import did_you_mean

SHORT_NAMES: Final[Mapping[str, tuple[str, float]]] = MappingProxyType(
    {
        "usd": ("cross_rack_usd", 1),
        "cross_rack": ("cross_rack_bytes", 1e9),
        "moves": ("active_moves", 1),
        "restored": ("restored_bytes", 1e9),
        "downtime": ("downtime_ms", 1e3),
        "worst_downtime": ("worst_downtime_ms", 1e3),
        "convergence": ("time_to_converge_ms", 60e3),
    }
)
"""Names for people: the metric that is meant, and how many of its units make one: US dollars, gigabytes, seconds of
downtime (of all tasks, or of the worst one), minutes to the assignment that stayed."""

MAX_CHARS: Final = 500
"""Characters that an objective may have."""

_TWO: Final[Mapping[type, Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_ONE: Final[Mapping[type, Callable[[float], float]]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """An objective that has been understood; less is better.

    Attributes:
        text: as it was written.
        metrics: what it looks at, in the order in which it does, each once.
    """

    text: str
    metrics: tuple[str, ...]
    _tree: ast.expr

    def of(self, run: Run) -> float | None:
        """The objective of a run; None where a metric is not known, or where it comes to no finite number."""
        try:
            value = _value(self._tree, run)
        except (ZeroDivisionError, OverflowError):
            return None
        return value if value is not None and math.isfinite(value) else None


def parse_objective(text: str) -> Objective:
    """Read an objective such as `usd + 0.05*moves`.

    Raises:
        RecommendError: it is none; shows where, and which names there are.
    """
    line = " ".join(text.split())
    if len(line) > MAX_CHARS:
        raise RecommendError(f"--objective: {len(line)} characters are more than the {MAX_CHARS} that it may have")
    try:
        tree = ast.parse(line, mode="eval").body
    except SyntaxError as error:
        raise _wrong(line, (error.offset or 1) - 1, "not arithmetic; write it like usd + 0.05*moves") from None
    except (ValueError, RecursionError, MemoryError):
        raise RecommendError("--objective: not arithmetic; write it like usd + 0.05*moves") from None
    metrics: dict[str, None] = {}
    _check(tree, line, metrics)
    if not metrics:
        raise _wrong(line, 0, f"looks at nothing that a run has ({_known()})")
    return Objective(line, tuple(metrics), tree)


def _check(node: ast.expr, line: str, metrics: dict[str, None]) -> None:
    """Refuse what is no arithmetic, and note which metrics are looked at."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _TWO:
            _check(left, line, metrics)
            _check(right, line, metrics)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _ONE:
            _check(operand, line, metrics)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and math.isfinite(value):
            pass
        case ast.Name(id=name):
            if name not in SHORT_NAMES and name not in METRIC:
                guess = did_you_mean(name, [*SHORT_NAMES, *METRIC])
                hint = f"; {guess}" if guess.startswith("did you mean") else ""
                raise _wrong(line, _column(line, node), f"no figure of a run is called '{name}'{hint} ({_known()})")
            metrics[_metric(name)[0]] = None
        case _:
            what = "only numbers, names, + - * / and parentheses can be used"
            raise _wrong(line, _column(line, node), what)


def _value(node: ast.expr, run: Run) -> float | None:
    match node:
        case ast.BinOp():
            left, right = _value(node.left, run), _value(node.right, run)
            return None if left is None or right is None else _TWO[type(node.op)](left, right)
        case ast.UnaryOp():
            operand = _value(node.operand, run)
            return None if operand is None else _ONE[type(node.op)](operand)
        case ast.Name():
            metric, units = _metric(node.id)
            found = METRIC[metric].of(run)
            return None if found is None else found / units
        case ast.Constant(value=int() | float() as value):
            return float(value)
    raise AssertionError(ast.dump(node))


def _metric(name: str) -> tuple[str, float]:
    return SHORT_NAMES.get(name, (name, 1))


def _column(line: str, node: ast.expr) -> int:
    """Where a part begins, in characters; the parser counts bytes."""
    return len(line.encode()[: node.col_offset].decode())


def _known() -> str:
    return f"names: {', '.join(SHORT_NAMES)}, and every metric of a comparison, such as load_skew"


def _wrong(line: str, column: int, message: str) -> RecommendError:
    start = "--objective: "
    return RecommendError(f"{start}{line}\n{' ' * (len(start) + column)}^ {message}")
