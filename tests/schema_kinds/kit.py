"""The vendored schemas of kinds, and what the tests of them share."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

from slicewright.binaries.find import find
from slicewright.workspace.kubeconform import Kubeconform

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
KINDS = SCHEMAS / "kinds"
FILES = sorted(path.relative_to(KINDS).as_posix() for path in KINDS.glob("*/*.json"))


@cache
def load(file: str) -> dict[str, Any]:
    """Return a vendored schema by its path."""
    found: dict[str, Any] = json.loads((KINDS / file).read_text(encoding="utf-8"))
    return found


def rebuild() -> Any:
    """Return the script that makes the schemas."""
    spec = importlib.util.spec_from_file_location("rebuild", SCHEMAS / "rebuild.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kubeconform() -> Kubeconform:
    """Return the pinned kubeconform with the vendored schemas."""
    program = find("kubeconform")
    assert isinstance(program, Path), program
    return Kubeconform(program, (KINDS,))
