"""Scripts, styles and data embedded into a page, and the Content-Security-Policy that forbids everything else.

The policy is a meta tag that lists allowed scripts and styles by SHA-256; injected code does not run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

STYLES = ("page.css", "player.css", "sweep.css", "plan.css", "incident.css")
SCRIPTS = (
    "dom.js",
    "theme.js",
    "tables.js",
    "matrix.js",
    "trade_off.js",
    "run_state.js",
    "task_history.js",
    "timeline.js",
    "panel.js",
    "player.js",
    "sweep.js",
    "sweep_cell.js",
    "sweep_front.js",
    "sweep_heat.js",
    "sweep_forest.js",
    "incident.js",
)
"""The scripts, in order of dependency."""

COMPRESSED_FROM = 20_000
"""Size in bytes from which data are compressed."""

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def as_json(data: Any) -> str:
    """Return data as JSON that is safe inside a `script` element: ASCII without markup characters."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for char, escape in _UNSAFE.items():
        text = text.replace(char, escape)
    return text


@dataclass(frozen=True, slots=True)
class EmbeddedData:
    """Data for scripts as the content of a `script` element.

    Attributes:
        type: media type of the element: JSON, or compressed JSON as base64.
        text: its content, without markup characters.
    """

    type: str
    text: str


def embedded_data(data: Any) -> EmbeddedData:
    """Return data for scripts, compressed if they are large; the same data give the same text."""
    text = as_json(data)
    if len(text) < COMPRESSED_FROM:
        return EmbeddedData("application/json", text)
    return EmbeddedData("application/gzip", base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode())


@cache
def style() -> str:
    """Return the style sheet of all pages."""
    return "\n".join(_asset(name) for name in STYLES)


@cache
def script() -> str:
    """Return the script of all pages, wrapped as CDATA so that XML parsers accept it."""
    program = "\n".join(_asset(name) for name in SCRIPTS)
    return f"//<![CDATA[\n(() => {{\n'use strict';\n{program}}})();\n//]]>\n"


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Return the Content-Security-Policy that allows only the given scripts and styles and no network access.

    `scripts`: exact content of each script element; `styles`: exact content of each style element.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts))}",
            f"style-src {' '.join(map(_hash, styles))}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (files("reports.render.html") / "assets" / name).read_text(encoding="utf-8")
