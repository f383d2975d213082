"""Kustomize, and the bases with their components as this repository has them."""

import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.files import program

from slicewright.kubernetes.types import Object

ROOT = Path(__file__).parents[3]
VERSIONS = ("kustomize", pytest.param("kustomize-oldest", marks=pytest.mark.workflow))
"""The pinned version, and the oldest that overlays must build with: for one overlay of each structure."""
VARIANTS = {
    "jobset": ("jobset",),
    "cpu": ("cpu",),
    "job": ("job", "indexed-job"),
    "pathways": ("pathways", "pathways-headless"),
    "pathwaysjob": ("pathwaysjob",),
}
"""Which bases a variant of a component serves."""
OPENAPI = "bases/components/kustomize-openapi"
ALONE = frozenset({"flex-start", "flex-start-queued", "spot", "reservation", "compute-class"})
"""Components of which a workload takes one at most: the ways of provisioning."""


def kustomize(folder: Path, version: str = "kustomize") -> str:
    """Return what `kustomize build` prints for a folder, with no flags."""
    done = subprocess.run([program(version), "build", folder], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def built(folder: Path, version: str = "kustomize") -> list[str]:
    """Return what kustomize builds of a folder, in canonical form."""
    return canonical(parsed(kustomize(folder, version)))


def parsed(text: str) -> list[Object]:
    """Return the objects of a stream, as a reader of YAML 1.1 sees them."""
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


def canonical(objects: Iterable[Object]) -> list[str]:
    """Return objects in a form in which equal ones are equal text, whatever their order."""
    return sorted(json.dumps(item, sort_keys=True) for item in objects)


def components() -> list[tuple[str, str]]:
    """Return every component and every base that it serves, as folders."""
    pairs: list[tuple[str, str]] = []
    for path in sorted((ROOT / "bases/components").glob("*/*/kustomization.yaml")):
        folder = path.parent.relative_to(ROOT).as_posix()
        bases = list(VARIANTS[path.parent.name.removesuffix("-elastic")])
        if folder == "bases/components/priority/jobset":
            bases += VARIANTS["pathways"]
        pairs += [(folder, f"bases/{base}") for base in bases]
    return pairs


def copy_bases(target: Path) -> None:
    """Put the bases into another tree."""
    shutil.copytree(ROOT / "bases", target / "bases")


def write(folder: Path, files: dict[str, Any]) -> Path:
    """Write documents into a folder, as JSON, which is YAML."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in files.items():
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    return folder
