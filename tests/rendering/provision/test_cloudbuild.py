"""Cloud Build runs init, plan and apply, and destroys by a substitution."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from slicewright.programs.pins import versions

from .kit import PLACE, site, terraform_files
from .opentofu import tofu

TEXT = terraform_files(site(f"{PLACE}environment: {{}}\npools: [{{name: a, tpu: v5litepod-16}}]"))[
    "provision/c1/cloudbuild.yaml"
]
BUILD: dict[str, Any] = yaml.safe_load(TEXT)
STEPS: dict[str, dict[str, Any]] = {step["id"]: step for step in BUILD["steps"]}
STUB = """\
#!/bin/sh
echo "gcloud $*" >> log
case "$*" in *describe*) [ -e there ] ;; esac
"""


@pytest.mark.slow
def test_schema(tmp_path: Path) -> None:
    """The file is what Cloud Build's own schema asks for."""
    (tmp_path / "cloudbuild.yaml").write_text(TEXT, encoding="utf-8")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.cloudbuild"]
    done = subprocess.run(
        [*command, str(tmp_path / "cloudbuild.yaml")], capture_output=True, text=True, check=False
    )
    assert 0 == done.returncode, done.stdout


def test_substitutions() -> None:
    """Every substitution is declared with a default and used; Cloud Build refuses one that is not."""
    used = re.findall(r"\$\{?([A-Z_]+)", yaml.safe_dump(BUILD["steps"]))
    assert set(BUILD["substitutions"]) == set(used)


def test_image() -> None:
    """The image is OpenTofu of the version that the tests run."""
    assert (
        f"ghcr.io/opentofu/opentofu:{versions()['opentofu'].removeprefix('v')}"
        == (BUILD["substitutions"]["_IMAGE"])
    )


def arguments(step: str, **substitutions: str) -> list[str]:
    """Return the arguments of a step as Cloud Build passes them."""
    given = {**BUILD["substitutions"], **substitutions}
    return [re.sub(r"\$\{(\w+)\}", lambda found: given[found[1]], text) for text in STEPS[step]["args"]]


@pytest.mark.workflow
def test_opentofu_takes_the_arguments(tmp_path: Path) -> None:
    """The steps make something and, with _DESTROY, remove it, in the order of the file."""
    (tmp_path / "main.tf").write_text(
        'variable "deletion_protection" {\n  type = bool\n}\n\n'
        'resource "terraform_data" "thing" {\n  input = var.deletion_protection\n}\n',
        encoding="utf-8",
    )
    steps = [step for step in STEPS if step != "state"]
    assert ["init", "plan", "apply"] == steps

    said = "".join(tofu(tmp_path, *arguments(step)).stdout for step in steps)
    assert "1 added, 0 changed, 0 destroyed" in said
    assert '"input": {' in (tmp_path / "terraform.tfstate").read_text(encoding="utf-8")

    said = "".join(tofu(tmp_path, *arguments(step, _DESTROY="true")).stdout for step in steps)
    assert "0 added, 0 changed, 1 destroyed" in said


@pytest.mark.parametrize(
    ("there", "calls"), [(True, ["describe"]), (False, ["describe", "create", "update"])]
)
def test_bucket_of_the_state(there: bool, calls: list[str], tmp_path: Path) -> None:
    """The bucket of the state is made where it is not there: private, and with versions."""
    stub = tmp_path / "gcloud"
    stub.write_text(STUB, encoding="utf-8")
    stub.chmod(0o755)
    if there:
        (tmp_path / "there").touch()
    step = STEPS["state"]
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run([step["entrypoint"], *step["args"]], cwd=tmp_path, env=environ, check=True)

    logged = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert [f"gcloud storage buckets {call} gs://my-project-tf-state" for call in calls] == [
        " ".join(line.split()[:5]) for line in logged
    ]
    made = (
        " --project=my-project --location=us-west4 --uniform-bucket-level-access --public-access-prevention"
    )
    assert there or made in logged[1]
