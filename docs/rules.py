"""Write docs/rules.md from the rules themselves: `python docs/rules.py`, or `make docs`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slicewright.core.check.rules import RULES

if TYPE_CHECKING:
    from slicewright.core.check.model import Rule

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "rules.md"
_SUBJECTS = {
    "TPU": ("TPU pods", "Pod templates of any kind that ask for TPUs."),
    "JS": ("JobSet and Job", "What the JobSet webhook, the CEL rules of its CRD and the Job API refuse."),
    "KQ": ("Kueue", "What Kueue's webhooks and CEL rules refuse, what it never admits, or cannot see."),
    "PW": ("Pathways", "Pathways in a JobSet, and PathwaysJob."),
    "REF": ("References", "Names that lead nowhere. A kind of which nothing is said is taken on trust."),
    "FIT": ("Quota", "Whether a workload can ever be admitted."),
    "GIT": ("GitOps", "What works once and breaks at the next sync."),
    "KUS": ("Kustomize", "What kustomize does to custom kinds without a word, in hand-written overlays."),
}
_HEAD = """\
# Rules

Made from the rules themselves (`make docs`); `slicewright rule ID` shows one. An **error** is refused by the
API server, a webhook or a controller, or can never run. A **warning** is accepted through defaults only,
or is a trap.

To silence a rule, give the reason: as an annotation of the object,

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

An entry without a reason silences nothing (IGN101), one that silences nothing is reported (IGN102), and so is
one that is not an entry (IGN103).
"""


def subject(rule: Rule) -> str:
    """Return the letters of a rule's id."""
    return rule.id.rstrip("0123456789")


def section(rule: Rule) -> str:
    """Return what the page says about one rule."""
    kinds = ", ".join(sorted(rule.kinds)) or "all"
    sources = "; ".join(f"<{source}>" if source.startswith("https://") else source for source in rule.sources)
    return (
        f"\n### {rule.id}: {rule.title}\n\n"
        f"*{rule.severity}*, looks at {kinds}.\n\n{rule.why}\n\n"
        f"Instead: {rule.hint}.\n\nSources: {sources}.\n"
    )


def page() -> str:
    """Return docs/rules.md."""
    parts = [_HEAD]
    for letters, (title, intro) in _SUBJECTS.items():
        parts.append(f"\n## {title}\n\n{intro}\n")
        parts.extend(section(rule) for rule in RULES if subject(rule) == letters)
    return "".join(parts)


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
