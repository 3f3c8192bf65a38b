"""Verifications as JUnit XML for CI servers: one test suite per scenario, one test case per run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from reports.analysis.stored.verification import Verification, VerificationStatus
from reports.analysis.text import printable
from reports.render.verification import lines_by_run, unmet_lines

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
