"""OpenTofu on the files of a cluster, with the tables of the google provider in place of the provider."""

import fcntl
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.files import write

from slicewright.kubernetes.problem import Problem
from slicewright.programs.find import cache_root, find, find_go, needed_go, platform_name

SOURCE = Path(__file__).parent / "google"
TABLES = Path(__file__).parents[3] / "schemas" / "google"
VERSIONS = ("7.31.0", "7.46.1")
"""The versions of the google provider whose tables there are: the ends of the range that is allowed."""
ADDRESS = "registry.opentofu.org/hashicorp/google"


def tables(version: str = VERSIONS[-1]) -> dict[str, Any]:
    """Return the tables of a version of the google provider."""
    loaded: dict[str, Any] = json.loads((TABLES / f"{version}.json").read_text(encoding="utf-8"))
    return loaded


def written(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files by their paths below a folder, and return the folder of the Terraform among them."""
    write(folder, files)
    return next(target.parent for target in (folder / path for path in files) if target.suffix == ".tf")


def tofu(
    folder: Path, *arguments: str, stdin: str = "", check: bool = True, provider: str = VERSIONS[-1]
) -> subprocess.CompletedProcess[str]:
    """Run OpenTofu in a folder; it finds the google provider in a mirror on disk, and asks no network."""
    binary = find("tofu")
    assert not isinstance(binary, Problem), binary
    done = subprocess.run(
        [binary, *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "GOOGLE_TABLES": str(TABLES / f"{provider}.json"),
            "TF_CLI_CONFIG_FILE": str(_mirror(provider) / "tofu.rc"),
            "CHECKPOINT_DISABLE": "1",
            "NO_COLOR": "1",
        },
    )
    assert not check or done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done


def planned(
    folder: Path, files: Mapping[str, str], *options: str, provider: str = VERSIONS[-1]
) -> dict[str, Any]:
    """Return what OpenTofu would make of the files: its plan as JSON. The state is in the folder."""
    where = written(folder, files)
    (where / "state_override.tf").write_text('terraform {\n  backend "local" {}\n}\n', encoding="utf-8")
    tofu(where, "init", "-input=false", provider=provider)
    tofu(where, "plan", "-input=false", "-out=test.plan", *options, provider=provider)
    shown = tofu(where, "show", "-json", "test.plan", provider=provider)
    plan: dict[str, Any] = json.loads(shown.stdout)
    return plan


def resources(plan: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """Return the values of the planned resources of a kind by address: only what is written, blocks too."""
    return {
        item["address"]: _said(item["values"])
        for item in plan["planned_values"]["root_module"]["resources"]
        if item["type"] == kind
    }


def _said(value: Any) -> Any:
    """Return a planned value without what nobody wrote; a block that comes once is itself."""
    if isinstance(value, dict):
        said = {key: _said(item) for key, item in value.items()}
        return {key: item for key, item in said.items() if item not in (None, [])}
    if isinstance(value, list) and all(isinstance(item, dict) for item in value) and len(value) == 1:
        return _said(value[0])
    return [_said(item) for item in value] if isinstance(value, list) else value


@cache
def _mirror(version: str) -> Path:
    """Return a folder with our provider where OpenTofu looks for the google provider; built once."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum", "main.go"):
        digest.update((SOURCE / name).read_bytes())
    folder = cache_root(os.environ) / "tests" / f"google-{version}-{digest.hexdigest()[:16]}"
    platform = platform_name().replace("-", "_")
    binary = folder / ADDRESS / version / platform / f"terraform-provider-google_v{version}"
    binary.parent.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not binary.exists():
            _build(binary)
            config = f'provider_installation {{\n  filesystem_mirror {{\n    path = "{folder}"\n  }}\n}}\n'
            (folder / "tofu.rc").write_text(config, encoding="utf-8")
    return folder


def _build(binary: Path) -> None:
    go = find_go(needed_go([SOURCE]), os.environ, Path(sys.executable))
    assert not isinstance(go, Problem), go
    part = binary.with_suffix(".part")
    command = [str(go), "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-o", str(part), "."]
    environ = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""}
    subprocess.run(command, cwd=SOURCE, env=environ, check=True, capture_output=True)
    part.rename(binary)
