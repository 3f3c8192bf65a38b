r"""Hooks of MkDocs: links out of docs lead to the repository, and tables keep no backslash.

In the repository, links to files outside of docs are relative, so that they work on the hosting site and in an editor;
on the site, they lead to the repository, if one is configured. In code within tables, `\|` becomes `|`, as
Python-Markdown keeps the backslash.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

_CELL = re.compile(r"<t[dh]\b.*?</t[dh]>", re.DOTALL)
_CODE = re.compile(r"<code>.*?</code>", re.DOTALL)


def on_page_content(html: str, **_context: Any) -> str:
    """Return the HTML of a page without the backslashes that keep `|` from ending a cell."""
    return _CELL.sub(lambda cell: _CODE.sub(lambda code: code[0].replace(r"\|", "|"), cell[0]), html)


_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<path>\.\./[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Return the text of a page in which each link to a file outside docs leads to the repository.

    Without `repo_url`, the path of the file is shown instead. Raises FileNotFoundError if no such file exists.
    """
    docs, folder = Path(config["docs_dir"]), Path(page.file.abs_src_path).parent

    def outside(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / match["path"]))
        if target.is_relative_to(docs):
            return match[0]
        if not target.exists():
            raise FileNotFoundError(f"{page.file.src_uri}: {match['path']}: no such file")
        path = target.relative_to(docs.parent).as_posix()
        if config["repo_url"]:
            return f"[{match['text']}]({config['repo_url'].rstrip('/')}/blob/main/{path}{match['anchor'] or ''})"
        return f"{match['text']} (`{path}`)" if path not in match["text"] else match["text"]

    return _LINK.sub(outside, markdown)
