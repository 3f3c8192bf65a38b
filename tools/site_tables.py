r"""Hook of MkDocs: in code within tables, `\|` becomes `|`; Python-Markdown keeps the backslash."""

from __future__ import annotations

import re
from typing import Any

_CELL = re.compile(r"<t[dh]\b.*?</t[dh]>", re.DOTALL)
_CODE = re.compile(r"<code>.*?</code>", re.DOTALL)


def on_page_content(html: str, **_context: Any) -> str:
    """Return the HTML of a page without the backslashes that keep `|` from ending a cell."""
    return _CELL.sub(lambda cell: _CODE.sub(lambda code: code[0].replace(r"\|", "|"), cell[0]), html)
