"""The option `--open`."""

from __future__ import annotations

from pathlib import Path

from assignor_sim.console.remarks import print_remark


def open_in_browser(page: Path) -> None:
    """Open a page in the browser of the desktop; note if there is none."""
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        print_remark("note", f"--open: found no browser; open {page} yourself")
