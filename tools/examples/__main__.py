"""Write the current output of examples into pages, or check that it is current."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.examples.pages import all_pages, executed_pages, not_run_list
from tools.examples.run import ExampleError, refreshed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return exit code 1 if an example fails or, with `--check`, has another output."""
    parser = argparse.ArgumentParser(prog="python -m tools.examples", description=__doc__)
    parser.add_argument("pages", nargs="*", type=Path, help="default: README.md and all pages of docs")
    parser.add_argument("--check", action="store_true", help="only report pages that are not current")
    parser.add_argument("--not-run", action="store_true", help="only list the blocks that are not run, by reason")
    options = parser.parse_args(arguments)
    if options.not_run:
        print(not_run_list(options.pages or all_pages()), end="")
        return 0
    code = 0
    for path in options.pages or executed_pages():
        text = path.read_text(encoding="utf-8")
        try:
            current = refreshed(text)
        except ExampleError as error:
            print(f"error: {path}: {error}", file=sys.stderr)
            code = 1
            continue
        if current != text:
            print(path, flush=True)
            code |= options.check
            if not options.check:
                path.write_text(current, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
