"""Write problems.md and rules.md beside this script from the texts of problems/ (`make docs`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slicewright.workspace.meaning import rule_subjects, subjects

if TYPE_CHECKING:
    from slicewright.workspace.meaning import Meaning

DOCS = Path(__file__).resolve().parent
_PROBLEMS = """\
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
_RULES = """\
# Rules

Made from the rules themselves (`make docs`); `slicewright rule ID` shows one. An **error** is refused by the
API server, a webhook or a controller, or can never run. A **warning** is accepted through defaults only,
or is a trap.

To ignore a rule, give the reason: as an annotation of the object,

```yaml
metadata:
  annotations:
    slicewright.dev/ignore-GIT107: "a tutorial: the name is the one in its text"
```

or as an entry of `.slicewright-ignore.yaml` in the root of the repository:

```yaml
ignore:
- rule: GIT120
  object: JobSet default/multislice-*      # Kind namespace/name, with * and ?
  file: overlays/*                         # optional, as object is
  reason: the tutorial names python:3.8
```

An entry without a reason has no effect (IGN101), one that ignores nothing is reported (IGN102), and so is
one that is not an entry (IGN103).
"""
_EXAMPLES = {
    "workload": "In the spec of a TPUWorkload:",
    "cluster": "In the spec of a TPUCluster:",
    "file": "A file in `workloads/`:",
    "message": "",
}


def section(one: Meaning) -> str:
    """Return what the page of problems says about one id."""
    text = f"\n### {one.id}: {one.title}\n\n*{one.severity}*. {one.why}\n\nInstead: {one.hint}.\n"
    if one.example:
        intro = _EXAMPLES[one.example_of]
        language = "yaml" if intro else "text"
        text += f"{f'{chr(10)}{intro}{chr(10)}' if intro else ''}\n```{language}\n{one.example}```\n"
    return text


def rule_section(one: Meaning) -> str:
    """Return what the page of rules says about one rule."""
    sources = "; ".join(f"<{source}>" if source.startswith("https://") else source for source in one.sources)
    return (
        f"\n### {one.id}: {one.title}\n\n"
        f"*{one.severity}*, looks at {', '.join(one.kinds) or 'all'}.\n\n{one.why}\n\n"
        f"Instead: {one.hint}.\n\nSources: {sources}.\n"
    )


def pages() -> dict[str, str]:
    """Return both pages by the names of their files."""
    pages = {}
    for name, head, about, tell in (
        ("problems.md", _PROBLEMS, subjects(), section),
        ("rules.md", _RULES, rule_subjects(), rule_section),
    ):
        parts = [head]
        for subject in about:
            parts.append(f"\n## {subject.title}\n\n{subject.intro}\n")
            parts.extend(tell(one) for one in subject.meanings)
        pages[name] = "".join(parts)
    return pages


if __name__ == "__main__":
    for name, page in pages().items():
        (DOCS / name).write_text(page, encoding="utf-8")
