"""SARIF 2.1.0, which code scanning of GitHub and GitLab reads."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from slicewright.check.io.meaning import all_rules
from slicewright.cli.report.plain import file_of
from slicewright.cli.show import json_text
from slicewright.document.edit_file import replacements
from slicewright.version import __version__

if TYPE_CHECKING:
    from slicewright.check.examine import Report
    from slicewright.kubernetes.problem import Problem

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def write(report: Report) -> str:
    """Return a log with one run; its rules are those that found something."""
    used = sorted({problem.id for problem in report.problems})
    known = {rule.id: rule for rule in all_rules()}
    rules = [_rule(ident, known) for ident in used]
    driver = {"name": "slicewright", "version": __version__, "rules": rules}
    texts = {item.file: item.source.file.text for item in report.objects if item.source}
    results = [
        {**_result(problem, used.index(problem.id)), **_fixes(problem, texts.get(problem.file, ""))}
        for problem in report.problems
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(ident: str, known: dict[str, Any]) -> dict[str, Any]:
    rule = known.get(ident)
    if rule is None:
        return {"id": ident}
    return {
        "id": ident,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.hint},
        **({"helpUri": rule.page} if rule.page else {}),
        "defaultConfiguration": {"level": rule.severity},
    }


def _result(problem: Problem, index: int) -> dict[str, Any]:
    text = f"{problem.message}\nhint: {problem.hint}" if problem.hint else problem.message
    location: dict[str, Any] = {}
    if problem.file:
        artifact = {"uri": quote(file_of(problem), errors="surrogateescape")}
        location["physicalLocation"] = {"artifactLocation": artifact}
        if problem.line:
            column = {"startColumn": problem.column} if problem.column else {}
            location["physicalLocation"]["region"] = {"startLine": problem.line, **column}
    if problem.object:
        names = [f"{name} {problem.dotted()}".strip() for name in problem.objects]
        location["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "object"} for name in names]
    result = {"ruleId": problem.id, "ruleIndex": index, "level": problem.severity, "message": {"text": text}}
    return {**result, **({"locations": [location]} if location else {})}


def _fixes(problem: Problem, text: str) -> dict[str, Any]:
    """Return the lines of a file that a fix replaces; empty if the fix cannot be written there."""
    if not (problem.fix and text):
        return {}
    artifact = {"uri": quote(problem.file, errors="surrogateescape")}
    lines, columns = _size(text)
    changes = []
    for start, end, content in replacements(text, problem.fix):
        last = {"endLine": end, "endColumn": 1}
        if end > lines:  # the last line has no end
            last = {"endLine": lines, "endColumn": columns + 1}
        region = {"startLine": start, "startColumn": 1, **last}
        changes.append({"deletedRegion": region, "insertedContent": {"text": content}})
    if not changes:
        return {}
    change = {"artifactLocation": artifact, "replacements": changes}
    return {"fixes": [{"description": {"text": problem.fix.title}, "artifactChanges": [change]}]}


@lru_cache(maxsize=2)
def _size(text: str) -> tuple[int, int]:
    """Return the number of lines, and of columns of the last one."""
    return text.count("\n") + 1, len(text) - text.rfind("\n") - 1
