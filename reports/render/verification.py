"""Verifications of stored results as text for terminals, JSON, CSV, Markdown, GitHub Actions, and JUnit XML."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from reports.analysis.expectations import records as expectation_records
from reports.analysis.stored.verification import ResultChange, Verification, VerificationStatus
from reports.analysis.text import printable
from reports.render.markdown import markdown_table, markdown_text
from simulator.results.files import csv_cell

_MAX_LINES: Final = 12
"""Maximum number of lines on the rounds of a run; JSON has them all."""


def lines_by_run(changes: Iterable[ResultChange]) -> Iterator[tuple[str, list[str]]]:
    """Yield the title of each changed run and its lines: every metric, and the first changes of rounds and tasks."""
    for (assignor, seed), group in groupby(changes, key=lambda change: (change.assignor, change.seed)):
        run_changes = list(group)
        lines = [str(change) for change in run_changes if change.kind in ("run", "metric", "removed metric")]
        round_changes = [change for change in run_changes if change.kind in ("round", "task")]
        lines += [str(change) for change in round_changes[:_MAX_LINES]]
        if omitted := round_changes[_MAX_LINES:]:
            last = max(change.round or 0 for change in omitted)
            lines.append(f"… and {len(omitted)} more up to round {last}; --format json lists them all")
        yield f"{printable(assignor)}, seed {seed}", lines


def unmet_lines(verification: Verification) -> Iterator[str]:
    """Yield a line per expectation that is not met or could not be checked, and per violated invariant."""
    return (printable(str(check)) for check in verification.unmet)


def render(verifications: Sequence[Verification], format: str) -> str:
    """Return verifications as text that ends with a newline.

    `verifications`: verifications in display order. `format`: one of `FORMATS`; `github` has an annotation for GitHub
    Actions per scenario. Raises ValueError if the format is unknown.
    """
    if format not in _WRITERS:
        raise ValueError(f"unknown format {format!r} (formats: {', '.join(FORMATS)})")
    return _WRITERS[format](verifications)


def as_text(verification: Verification) -> str:
    """Return one verification as text: a headline, then the changes of each run."""
    # The message of an unreadable scenario names the file itself.
    if verification.status is VerificationStatus.UNREADABLE:
        return "".join(f"{printable(line)}\n" for line in verification.error.split("\n"))
    text = f"{printable(verification.file)}: {verification.headline}\n"
    text += "".join(f"  {line}\n" for line in unmet_lines(verification))
    for title, lines in lines_by_run(verification.changes):
        text += f"  {title}\n" + "".join(f"    {line}\n" for line in lines)
    return text


def _text(verifications: Sequence[Verification]) -> str:
    return "".join(map(as_text, verifications))


def _json(verifications: Sequence[Verification]) -> str:
    return json.dumps([_record(verification) for verification in verifications], indent=2, ensure_ascii=False) + "\n"


def _record(verification: Verification) -> dict[str, Any]:
    causes = verification.causes
    return {
        "scenario": verification.file,
        "status": verification.status,
        "error": verification.error or None,
        "cause": causes.kind if causes and verification.changes else None,
        "since": asdict(causes) if causes else None,
        "runs": [{"assignor": assignor, "seed": seed} for assignor, seed in verification.runs],
        "changes": [asdict(change) for change in verification.changes],
        "expectations": expectation_records(verification.expectations),
        "invariants": [asdict(check) for check in verification.invariants],
    }


def _markdown(verifications: Sequence[Verification]) -> str:
    rows = [(verification.file, verification.status, verification.headline) for verification in verifications]
    text = markdown_table(("scenario", "result", ""), rows)
    for verification in verifications:
        if unmet := list(unmet_lines(verification)):
            text += f"\n**{markdown_text(f'{verification.file}: expectations')}**\n\n"
            text += "".join(f"- {markdown_text(line)}\n" for line in unmet)
        for title, lines in lines_by_run(verification.changes):
            text += f"\n**{markdown_text(f'{verification.file}: {title}')}**\n\n"
            text += "".join(f"- {markdown_text(line)}\n" for line in lines)
    return text


def _csv(verifications: Sequence[Verification]) -> str:
    """Return one row per expectation that is not met and per change, and one for a scenario that has neither."""
    keys = ("scenario", "status", "assignor", "seed", "kind", "what")
    rows: list[dict[str, object]] = []
    for verification in verifications:
        row = {"scenario": verification.file, "status": verification.status}
        found: list[dict[str, object]] = [{"kind": "expectation", "what": line} for line in unmet_lines(verification)]
        found += [
            {"assignor": change.assignor, "seed": change.seed, "kind": change.kind, "what": str(change)}
            for change in verification.changes
        ]
        rows += [{**row, **part} for part in found or [{"what": verification.headline}]]
    out = io.StringIO()
    writer = csv.DictWriter(out, keys, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: csv_cell(value) for key, value in row.items()} for row in rows)
    return out.getvalue()


def _github(verifications: Sequence[Verification]) -> str:
    changed = [verification for verification in verifications if not verification.passes]
    is_stored = all(verification.status is VerificationStatus.SAME for verification in verifications)
    return "".join(map(_annotation, changed)) or f"::notice::all scenarios as {'stored' if is_stored else 'expected'}\n"


def _annotation(verification: Verification) -> str:
    level = "warning" if verification.status is VerificationStatus.NOT_STORED else "error"
    message = verification.headline + "".join(f"\n{line}" for line in unmet_lines(verification))
    message += "".join(
        f"\n{title}\n" + "\n".join(f"  {line}" for line in lines) for title, lines in lines_by_run(verification.changes)
    )
    title = f"{verification.file}: {verification.status}"
    return f"::{level} file={_property(verification.file)},title={_property(title)}::{_data(message)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_WRITERS: Final[dict[str, Callable[[Sequence[Verification]], str]]] = {
    "text": _text,
    "json": _json,
    "csv": _csv,
    "markdown": _markdown,
    "github": _github,
}

FORMATS: Final = tuple(_WRITERS)
"""Formats of `render`."""


EXPECTATIONS: Final = "expectations"
"""Name of the test case of a scenario's expectations and invariants."""


def junit(verifications: Sequence[Verification]) -> bytes:
    """Return verifications as JUnit XML."""
    root = Element("testsuites", name="assignor-sim verify")
    for verification in verifications:
        _suite(root, verification)
    indent(root)
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suite(root: Element, verification: Verification) -> None:
    status, headline = verification.status, verification.headline
    changed = dict(lines_by_run(verification.changes))
    titles = [f"{printable(assignor)}, seed {seed}" for assignor, seed in verification.runs]
    # A scenario that could not be run has no runs but still gets a test case.
    expected = [EXPECTATIONS] if verification.expectations or verification.invariants else []
    names = list(dict.fromkeys((*titles, *changed, *expected))) or ["as stored"]
    if unmet := list(unmet_lines(verification)):
        changed[EXPECTATIONS] = unmet
    suite = SubElement(
        root,
        "testsuite",
        name=_line(verification.file),
        tests=str(len(names)),
        failures=str(len(changed)),
        errors=str(int(status is VerificationStatus.UNREADABLE)),
        skipped=str(int(status is VerificationStatus.NOT_STORED)),
        time=f"{verification.seconds:.3f}",
    )
    for name in names:
        case = SubElement(suite, "testcase", classname=_line(verification.file), name=_line(name), time="0")
        if status is VerificationStatus.UNREADABLE:
            SubElement(case, "error", message=_line(headline)).text = xml_lines(headline)
        elif status is VerificationStatus.NOT_STORED:
            SubElement(case, "skipped", message=_line(headline))
        elif name in changed:
            text = "\n".join((headline, *changed[name]))
            SubElement(case, "failure", message=_line(changed[name][0])).text = xml_lines(text)


def _line(text: str) -> str:
    return xml_lines(text.splitlines()[0] if text else "")


def xml_lines(text: str) -> str:
    """Return text without characters that XML cannot hold: control characters are escaped, noncharacters replaced."""
    return "\n".join(map(printable, text.splitlines())).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
