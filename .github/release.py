# ruff: noqa: INP001 - a script
"""What the workflow of a release asks before it publishes: `notes TAG`, and `keep-new FOLDER`."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


def notes(tag: str) -> str:
    """Return what CHANGELOG.md says of this version. Exit where the tag or the changelog has another."""
    (version,) = _VERSION.findall((_ROOT / "generator/slicewright/version.py").read_text(encoding="utf-8"))
    if tag != f"v{version}":
        sys.exit(f"the tag is {tag}, but the version is {version}: tag v{version}, or change version.py")
    changelog = (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(version)}\b.*\n([\s\S]*?)(?=^## |\Z)", changelog, re.MULTILINE)
    if not section or not section[1].strip():
        sys.exit(f"CHANGELOG.md says nothing below '## {version}': rename '## Unreleased'")
    return section[1].strip() + "\n"


def keep_new(folder: str, index: str = "https://pypi.org/simple") -> str:
    """Remove the wheels that an index has. Exit where it has other bytes of a name; none is removed then."""
    has = {
        wheel: digest for wheel in sorted(Path(folder).glob("*.whl")) if (digest := _published(wheel, index))
    }
    changed = [
        wheel.name
        for wheel, digest in has.items()
        if hashlib.sha256(wheel.read_bytes()).hexdigest() != digest
    ]
    if changed:
        names = ", ".join(changed)
        sys.exit(f"PyPI has other bytes of these wheels, give them new versions (tools/wheels.yaml): {names}")
    for wheel in has:
        wheel.unlink()
    return "".join(f"{wheel.name} is published already\n" for wheel in has)


def _published(wheel: Path, index: str) -> str:
    """Return the SHA-256 of a file of this name on an index; '' where there is none."""
    project = wheel.name.partition("-")[0].replace("_", "-")
    accept = {"Accept": "application/vnd.pypi.simple.v1+json"}
    request = urllib.request.Request(f"{index}/{project}/", headers=accept)  # noqa: S310 - the workflow names it
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            files = json.load(answer)["files"]
    except urllib.error.HTTPError as error:
        if error.code == 404:  # noqa: PLR2004 - the first release
            return ""
        raise
    return next((str(file["hashes"]["sha256"]) for file in files if file["filename"] == wheel.name), "")


if __name__ == "__main__":
    sys.stdout.write({"notes": notes, "keep-new": keep_new}[sys.argv[1]](*sys.argv[2:]))
