# ruff: noqa: INP001 - a script
"""`python .github/release.py TAG`: print what CHANGELOG.md says of this version, which the tag must name."""

from __future__ import annotations

import re
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


def main(tag: str) -> str:
    """Return the notes of a release. Leaves where the tag or the changelog has another version."""
    (version,) = _VERSION.findall((_ROOT / "generator/slicewright/version.py").read_text(encoding="utf-8"))
    if tag != f"v{version}":
        sys.exit(f"the tag is {tag}, but the version is {version}: tag v{version}, or change version.py")
    changelog = (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(version)}\b.*\n([\s\S]*?)(?=^## |\Z)", changelog, re.MULTILINE)
    if not section or not section[1].strip():
        sys.exit(f"CHANGELOG.md says nothing below '## {version}': rename '## Unreleased'")
    return section[1].strip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(main(*sys.argv[1:]))
