"""JUnit XML: a test suite for each file or folder, a test case for each object."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from msgspec import Struct, field

from slicewright.cli.report.plain import line
from slicewright.kubernetes.problem import errors
from slicewright.kubernetes.visible import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slicewright.check.examine import Report
    from slicewright.kubernetes.problem import Problem

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold."""


class SuiteFacts(Struct, frozen=True):
    """Data of a suite apart from its problems; all but the timestamp by the names of cases."""

    skipped: Mapping[str, str] = field(default_factory=dict)
    """Why cases were not judged."""
    times: Mapping[str, float] = field(default_factory=dict)
    """Seconds; of the suite under its own name."""
    output: Mapping[str, str] = field(default_factory=dict)
    """What happened, in lines."""
    timestamp: str = ""
    """When it began, in UTC: `2026-01-31T12:00:00`."""


def write(report: Report) -> str:
    """Return the report; an error is a failure of its case, a warning is in its output."""
    suites: dict[str, dict[str, list[Problem]]] = defaultdict(dict)
    for item in report.objects:
        suites[item.file].setdefault(item.subject, [])
    for problem in chain.from_iterable((each, *each.alike) for each in report.problems):
        suite = problem.folder or problem.file
        suites[suite].setdefault(problem.object or suite or "slicewright", []).append(problem)
    return document("slicewright validate", suites)


def document(
    title: str,
    suites: Mapping[str, dict[str, list[Problem]]],
    facts: Mapping[str, SuiteFacts] = MappingProxyType({}),
) -> str:
    """Return a document of suites: the problems of each case, by the names of suite and case.

    A case that was not judged and has no error is `skipped`. `facts` has more on suites, by their names.
    """
    root = ET.Element("testsuites", name=_text(title))
    for name, cases in sorted(suites.items()):
        more = facts.get(name, SuiteFacts())
        suite = ET.SubElement(root, "testsuite", name=_text(name or "slicewright"))
        for subject, problems in cases.items():
            case = ET.SubElement(suite, "testcase", classname=suite.attrib["name"])
            case.set("name", _text(subject))
            _set_time(case, more.times.get(subject))
            _add_problems(case, problems, more.skipped.get(subject), more.output.get(subject, ""))
        _count(suite, "testcase")
        _set_time(suite, more.times.get(name))
        if more.timestamp:
            suite.set("timestamp", more.timestamp)
    _count(root, "testsuite/testcase")
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, "unicode")}\n'


def _add_problems(case: ET.Element, problems: list[Problem], reason: str | None, output: str) -> None:
    wrong = errors(problems)
    others = [problem for problem in problems if problem.severity != "error"]
    if reason is not None and not wrong:
        ET.SubElement(case, "skipped", message=_text(reason))
    if wrong:
        message = _text(f"{wrong[0].id} {wrong[0].message}")
        failure = ET.SubElement(case, "failure", type=wrong[0].id, message=message)
        failure.text = _lines(wrong)
    if others or output:
        ET.SubElement(case, "system-out").text = "\n".join(filter(None, (_lines(others), _text(output))))


def _count(element: ET.Element, cases: str) -> None:
    paths = {"tests": "", "failures": "/failure", "errors": "/error", "skipped": "/skipped"}
    for name, path in paths.items():
        element.set(name, str(len(element.findall(cases + path))))


def _set_time(element: ET.Element, seconds: float | None) -> None:
    if seconds is not None:
        element.set("time", f"{seconds:.1f}")


def _lines(problems: Iterable[Problem]) -> str:
    return _text("\n".join(map(line, problems)))


def _text(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", shown(text))
