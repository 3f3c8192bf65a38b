"""The setting of a sweep that the others are compared with, from `--baseline-setting FACTOR=VALUE`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from scenarios.language.errors import did_you_mean
from scenarios.sweeps.design import Sweep
from scenarios.sweeps.errors import SweepError

_OPTION = "--baseline-setting"


def baseline_setting_of(sweep: Sweep, between: str, named: Sequence[str]) -> int | None:
    """Return the number of the baseline setting; None if assignors are compared.

    Args:
        sweep: the sweep.
        between: `assignors` or `settings`.
        named: values of factors as `factor=value`, which one setting has; none for the first setting.

    Raises:
        SweepError: settings are not compared, the sweep has one, `named` is malformed, or none or several have the
            values.
    """
    if between == "assignors":
        if named:
            raise SweepError(f"{_OPTION} needs --between settings: assignors are compared in each setting")
        return None
    if between != "settings":
        raise SweepError(f"--between: expected assignors or settings, found '{between}'")
    if len(sweep.settings) < 2:
        raise SweepError("--between settings compares settings, but the sweep has one")
    values = _values(sweep, named)
    names = [factor.name for factor in sweep.factors]
    numbers = [
        number
        for number, setting in enumerate(sweep.settings)
        if all(_is(setting[names.index(name)], text) for name, text in values.items())
    ]
    if len(numbers) > 1 and named:
        missing = ", ".join(name for name in names if name not in values)
        raise SweepError(
            f"{_OPTION} {' '.join(named)}: {len(numbers):,} settings have these values; name {missing}, too"
        )
    if not numbers:
        raise SweepError(f"{_OPTION} {' '.join(named)}: no setting of the sweep has these values")
    return numbers[0]


def _values(sweep: Sweep, named: Sequence[str]) -> Mapping[str, str]:
    """Return the values by factor.

    Raises:
        SweepError: a text has another form, or a factor is unknown or named twice.
    """
    names = [factor.name for factor in sweep.factors]
    values: dict[str, str] = {}
    for text in named:
        name, equals, value = text.partition("=")
        if not equals:
            raise SweepError(f"{_OPTION} {text}: expected FACTOR=VALUE")
        if name not in names:
            raise SweepError(f"{_OPTION} {text}: unknown factor '{name}'; {did_you_mean(name, names)}")
        if name in values:
            raise SweepError(f"{_OPTION} {text}: '{name}' is {values[name]} already; name each factor once")
        values[name] = value
    return values


def _is(value: Any, text: str) -> bool:
    """Return whether a text is a value of a factor, as it is or as JSON: 10 and 10.0 are equal, 1 and true are not."""
    if isinstance(value, str) and value == text:
        return True
    try:
        other = json.loads(text)
    except ValueError:
        return False
    return bool(other == value) and isinstance(other, bool) is isinstance(value, bool)
