"""JUnit XML: a test suite a file or folder, a test case an object."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from slicewright.cli.report.plain import line
from slicewright.core.problem import errors
from slicewright.core.visible import shown

if TYPE_CHECKING:
    from slicewright.core.check.examine import Report
    from slicewright.core.problem import Problem

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold."""


def write(report: Report) -> str:
    """Return the report; an error is a failure of its case, a warning is among its output."""
    suites: dict[str, dict[str, list[Problem]]] = defaultdict(dict)
    for item in report.objects:
        suites[item.file].setdefault(item.subject, [])
    for problem in report.problems:
        suite = problem.folder or problem.file
        suites[suite].setdefault(problem.object or suite or "slicewright", []).append(problem)
    return document("slicewright validate", suites)


Skipped = Mapping[str, str]
"""Why cases were not judged, by their names."""
_NONE: Skipped = {}
Times = Mapping[str, float]
"""Seconds, by the names of cases."""


def document(
    title: str,
    suites: Mapping[str, dict[str, list[Problem]]],
    skipped: Mapping[str, Skipped] | None = None,
    times: Mapping[str, Times] | None = None,
) -> str:
    """Return a document of suites: the problems of each case, by the names of suite and case.

    A case that was not judged, and against which nothing stands, is `skipped`. `times` are those of cases,
    and of the suite under its own name.
    """
    left_out = {name: _left_out(cases, (skipped or {}).get(name, _NONE)) for name, cases in suites.items()}
    bodies = [
        _suite(name, cases, left_out[name], (times or {}).get(name, {}))
        for name, cases in sorted(suites.items())
    ]
    numbers = _numbers(
        sum(len(cases) for cases in suites.values()),
        sum(_failed(cases) for cases in suites.values()),
        sum(map(len, left_out.values())),
    )
    head = f'<testsuites name="{_text(title)}" {numbers}>'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *bodies, "</testsuites>", ""])


def _left_out(cases: dict[str, list[Problem]], skipped: Skipped) -> Skipped:
    return {name: why for name, why in skipped.items() if not errors(cases.get(name, []))}


def _numbers(tests: int, failures: int, skipped: int) -> str:
    return f'tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}"'


def _failed(cases: dict[str, list[Problem]]) -> int:
    return sum(bool(errors(problems)) for problems in cases.values())


def _suite(name: str, cases: dict[str, list[Problem]], skipped: Skipped, times: Times) -> str:
    shown = _text(name or "slicewright")
    numbers = _numbers(len(cases), _failed(cases), len(skipped))
    head = f'  <testsuite name="{shown}" {numbers}{_time(times, name)}>'
    bodies = [
        _case(shown, f'name="{_text(subject)}"{_time(times, subject)}', found, skipped.get(subject, ""))
        for subject, found in cases.items()
    ]
    return "\n".join([head, *bodies, "  </testsuite>"])


def _time(times: Times, name: str) -> str:
    return f' time="{times[name]:.1f}"' if name in times else ""


def _case(suite: str, named: str, problems: list[Problem], skipped: str) -> str:
    head = f'    <testcase classname="{suite}" {named}'
    if not problems and not skipped:
        return f"{head}/>"
    wrong = errors(problems)
    inside = [f'      <skipped message="{_text(skipped)}"/>'] if skipped else []
    if wrong:
        message = _text(f"{wrong[0].id} {wrong[0].message}")
        inside.append(f'      <failure type="{wrong[0].id}" message="{message}">{_lines(wrong)}</failure>')
    warned = [problem for problem in problems if problem.severity == "warning"]
    if warned:
        inside.append(f"      <system-out>{_lines(warned)}</system-out>")
    return "\n".join([f"{head}>", *inside, "    </testcase>"])


def _lines(problems: list[Problem] | tuple[Problem, ...]) -> str:
    return _text("\n".join(line(problem) for problem in problems))


def _text(text: str) -> str:
    return html.escape(shown(_FORBIDDEN.sub("\ufffd", text)))
