"""Verifications in the XML that JUnit's Ant task made and CI servers read: a test suite a scenario, a case a run."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from reports.analysis.text import printable
from reports.render.verification import CHANGED, NOT_STORED, UNREADABLE, Verification, lines_of_runs


def junit(every: Sequence[Verification]) -> bytes:
    """The XML of verifications."""
    root = Element("testsuites", name="assignor-sim verify")
    for each in every:
        _suite(root, each)
    indent(root)
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suite(root: Element, each: Verification) -> None:
    changed = dict(lines_of_runs(each.changes))
    titles = dict.fromkeys((*(f"{printable(assignor)}, seed {seed}" for assignor, seed in each.runs), *changed))
    # What could not be run has no runs, and is a case all the same.
    names = list(titles) or ["as stored"]
    suite = SubElement(
        root,
        "testsuite",
        name=_line(each.file),
        tests=str(len(names)),
        failures=str(len(changed) if each.status == CHANGED else 0),
        errors=str(int(each.status == UNREADABLE)),
        skipped=str(int(each.status == NOT_STORED)),
        time=f"{each.seconds:.3f}",
    )
    for name in names:
        case = SubElement(suite, "testcase", classname=_line(each.file), name=_line(name), time="0")
        if each.status == UNREADABLE:
            SubElement(case, "error", message=_line(each.headline)).text = _lines(each.headline)
        elif each.status == NOT_STORED:
            SubElement(case, "skipped", message=_line(each.headline))
        elif name in changed:
            said = "\n".join((each.headline, *changed[name]))
            SubElement(case, "failure", message=_line(changed[name][0])).text = _lines(said)


def _line(text: str) -> str:
    return _lines(text.splitlines()[0] if text else "")


def _lines(text: str) -> str:
    """Control characters are escaped by then; these two are all else that XML does not take."""
    return "\n".join(map(printable, text.splitlines())).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
