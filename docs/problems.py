"""Write docs/problems.md, every id that is not a semantic rule: `python docs/problems.py`, or `make docs`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slicewright.cli.meaning import Subject, of_rule, subjects
from slicewright.core.check.builtin import BUILT_IN

if TYPE_CHECKING:
    from slicewright.cli.meaning import Meaning

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "problems.md"
_HEAD = """\
# Problems

Made by `make docs`; `slicewright rule ID` shows one. What is wrong is one record in every command, as text
`file:line:column: ID message` with a hint below, and with `-o json` on stdout:

```json
{"problems": [{"id": "TPU003", "severity": "error", "file": "workloads/a.yaml", "line": 7, "column": 8,
  "object": "TPUWorkload default/a", "path": "spec.tpu", "message": "...", "hint": "..."}]}
```

An **error** stops a command: nothing is written, and it exits 1 (2 for the command line itself, 3 for a tool
that is missing or broke). A **warning** does not. The semantic rules of `slicewright validate`, numbered from
101 on, have [a page of their own](rules.md).
"""
_EXAMPLES = {
    "workload": "In the spec of a TPUWorkload:",
    "cluster": "In the spec of a TPUCluster:",
    "file": "A file in `workloads/`:",
    "message": "",
}


def section(one: Meaning) -> str:
    """Return what the page says about one id."""
    text = f"\n### {one.id}: {one.title}\n\n*{one.severity}*. {one.why}\n\nInstead: {one.hint}.\n"
    if one.example:
        intro = _EXAMPLES[one.example_of]
        language = "yaml" if intro else "text"
        text += f"{f'{chr(10)}{intro}{chr(10)}' if intro else ''}\n```{language}\n{one.example}```\n"
    return text


def page() -> str:
    """Return docs/problems.md."""
    engine = Subject(
        "Objects and files that validate reads",
        "What schemas, list keys, the CEL rules of CRDs and kustomize have against objects of anybody.",
        tuple(of_rule(rule) for rule in BUILT_IN),
    )
    parts = [_HEAD]
    for subject in (*subjects(), engine):
        parts.append(f"\n## {subject.title}\n\n{subject.intro}\n")
        parts.extend(section(one) for one in subject.meanings)
    return "".join(parts)


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
