"""What makes a page one sealed file: data that no name can break out of, and a policy that lets nothing else in.

The policy is a meta tag and names what may run by its SHA-256; whatever slips through anywhere else does nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

STYLES = ("page.css", "player.css", "sweep.css", "plan.css")
SCRIPTS = (
    "dom.js",
    "theme.js",
    "tables.js",
    "matrix.js",
    "life.js",
    "story.js",
    "timeline.js",
    "panel.js",
    "player.js",
    "sweep.js",
    "sweep_cell.js",
    "sweep_front.js",
    "sweep_heat.js",
    "sweep_forest.js",
)
"""In the order in which they build on each other."""

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def as_json(data: Any) -> str:
    """JSON that can stand inside a `script` element: ASCII, and none of the characters that markup is made of."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for char, escape in _UNSAFE.items():
        text = text.replace(char, escape)
    return text


@cache
def style() -> str:
    """The style sheet of all pages."""
    return "\n".join(_asset(name) for name in STYLES)


@cache
def script() -> str:
    """The program of all pages; XML sees it as text, as HTML does anyway."""
    program = "\n".join(_asset(name) for name in SCRIPTS)
    return f"//<![CDATA[\n(() => {{\n'use strict';\n{program}}})();\n//]]>\n"


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """The Content-Security-Policy under which only these run and style, and nothing is fetched or sent.

    Args:
        scripts: the text between the tags of each script, to the letter.
        styles: the same of each style sheet.
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
    return (files("reports") / "assets" / name).read_text(encoding="utf-8")
