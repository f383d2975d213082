"""The Terraform of any cluster: formatted, parsed, and held against the google provider's own tables."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hcl2
import pytest

from .kit import PLACE, ROOT, site, terraform_files
from .opentofu import VERSIONS, tables, tofu, written

POOLS = """
pools:
- {name: several-hosts, tpu: v5litepod-16, slices: 2}
- {name: one-host, tpu: v5litepod-4, provisioning: Spot, labels: {team: research}}
- {name: flex, tpu: v6e-4x4, provisioning: FlexStart, maxRunDurationSeconds: 900}
- {name: queued, tpu: v6e-4x4, provisioning: FlexStartQueued}
- {name: reserved, tpu: v5p-2x2x4, provisioning: {type: Reservation, name: r, project: p, block: b}}
- {name: scaled, tpu: v5p-2x2x2, slices: 3, autoscaling: {min: 1, max: 5}}
- {name: ironwood, tpu: tpu7x-4x4x4, slices: 2}
- {name: theirs, tpu: tpu7x-2x2x2, placementPolicyName: their-policy}
- {name: classed, tpu: v5litepod-16, provisioning: {type: ComputeClass, name: x}}
- {name: cpu, machineType: n2-standard-64, nodes: 3, autoscaling: {min: 1, max: 9}}
computeClasses: [{name: x, nodePoolAutoCreation: false, priorities: [{tpu: v5litepod-16}]}]
"""
CLUSTERS = {
    "Standard": f"{PLACE}environment: {{podsIpRange: 10.0.0.0/9}}\n{POOLS}",
    "zonal": f"project: p1\nlocation: us-west4-a\nenvironment: {{}}\n{POOLS}",
    "Autopilot": "mode: Autopilot\nproject: p1\nlocation: us-west4\nenvironment: {}\n"
    "pools: [{name: a, tpu: v5litepod-16}]",
}
EVERY = pytest.mark.parametrize("spec", CLUSTERS.values(), ids=CLUSTERS)
EITHER = pytest.mark.parametrize("version", VERSIONS)
BUILTIN = {"for_each", "depends_on", "lifecycle"}
"""What Terraform itself gives every resource."""


@pytest.mark.workflow
@EVERY
def test_format(spec: str, tmp_path: Path) -> None:
    """`tofu fmt` has nothing to change, terraform.tfvars included."""
    folder = written(tmp_path, terraform_files(site(spec)))
    done = tofu(folder, "fmt", "-check", "-diff", check=False)
    assert (0, "") == (done.returncode, done.stdout), done.stderr


@pytest.mark.workflow
@EITHER
@EVERY
def test_valid(spec: str, version: str, tmp_path: Path) -> None:
    """`tofu validate` finds no error and no warning with the oldest and the newest google provider."""
    folder = written(tmp_path, terraform_files(site(spec)))
    tofu(folder, "init", "-backend=false", "-input=false", provider=version)
    assert f'version     = "{version}"' in (folder / ".terraform.lock.hcl").read_text(encoding="utf-8")
    said = tofu(folder, "validate", "-no-color", provider=version).stdout
    assert "Success! The configuration is valid." == said.strip()


@pytest.mark.workflow
def test_committed_terraform(tmp_path: Path) -> None:
    """The environment of this repository's own cluster is formatted, and valid."""
    folder = shutil.copytree(ROOT / "provision" / "gke-tpu-training-cluster", tmp_path / "committed")
    tofu(folder, "fmt", "-check")
    tofu(folder, "init", "-backend=false", "-input=false")
    said = tofu(folder, "validate", "-no-color").stdout
    assert "Success! The configuration is valid." == said.strip()


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("file", "right", "wrong", "said"),
    [
        ("node-pools.tf", "tpu_topology", "topology", 'An argument named "topology" is not expected here'),
        ("node-pools.tf", "management {", "managements {", "Blocks of type"),
        ("node-pools.tf", "flex_start   ", "flex_start_  ", "flex_start_"),
        ("node-pools.tf", '"COMPACT"\n', '{a = "b"}\n', "string required"),
        (
            "service-accounts.tf",
            "tpu.member",
            "tpu.mail",
            'no argument, nested block, or exported attribute named "mail"',
        ),
        ("storage.tf", "  location  ", "  # location", 'The argument "location" is required'),
        ("variables.tf", 'variable "zone"', 'variable "zones"', "undeclared"),
    ],
)
def test_what_validation_finds(file: str, right: str, wrong: str, said: str, tmp_path: Path) -> None:
    """The tables are those that OpenTofu holds the files against: it finds what the provider would refuse."""
    rendered = terraform_files(site(CLUSTERS["Standard"]))
    path = f"provision/c1/{file}"
    assert right in rendered[path]
    folder = written(tmp_path, {**rendered, path: rendered[path].replace(right, wrong)})
    tofu(folder, "init", "-backend=false", "-input=false")
    done = tofu(folder, "validate", "-no-color", check=False)
    assert (1, True) == (done.returncode, said in " ".join(done.stderr.split())), done.stderr


@pytest.mark.slow
@EITHER
@EVERY
def test_attributes(spec: str, version: str) -> None:
    """As another parser reads them, resources have known arguments, the required ones, and known blocks."""
    known = tables(version)["resources"]
    found = list(blocks(terraform_files(site(spec)), "resource"))
    problems = [
        problem
        for (kind, name), body in found
        for problem in against(known[kind]["arguments"], body, f"{kind}.{name}")
    ]
    assert (True, []) == (bool(found), problems)


@pytest.mark.slow
@EVERY
def test_every_resource_of_the_tables_is_used(spec: str) -> None:
    """Of the tables nothing is left over but what Autopilot does without."""
    used = {kind for (kind, _), _ in blocks(terraform_files(site(spec)), "resource")}
    left = set(tables()["resources"]) - used
    of_nodes = {"google_container_node_pool", "google_compute_resource_policy"}
    assert left == (of_nodes if "Autopilot" in spec else set())


@pytest.mark.slow
@EVERY
def test_variables_are_declared_used_and_given(spec: str) -> None:
    """Each variable is used and has a value: its default, or that in terraform.tfvars."""
    rendered = terraform_files(site(spec))
    text = "".join(body for path, body in rendered.items() if not path.endswith(".tfvars"))
    declared = {names[0]: body for names, body in blocks(rendered, "variable")}
    given = set(hcl2.loads(rendered["provision/c1/terraform.tfvars"])) - {"__comments__"}

    assert set(declared) == set(re.findall(r"\bvar\.([a-z_]+)", text))
    assert {name for name, body in declared.items() if "default" not in body} <= given <= set(declared)
    assert [name for name, body in declared.items() if '"' not in body["description"]] == []


def blocks(rendered: dict[str, str], kind: str) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield the labels and the body of the blocks of a kind, as python-hcl2 reads the files."""
    for path, text in rendered.items():
        if path.endswith(".tf"):
            for item in hcl2.loads(text).get(kind, []):
                yield from _labelled(item, ())


def _labelled(
    item: dict[str, Any], labels: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    if "__is_block__" in item:
        yield labels, {key: value for key, value in item.items() if not key.startswith("__")}
        return
    for key, value in item.items():
        yield from _labelled(value, (*labels, key.strip('"')))


def against(table: dict[str, Any], body: dict[str, Any], at: str) -> Iterator[str]:
    """Yield what the table of a resource or block says against a body."""
    for name, kind in table.items():
        if isinstance(kind, dict) and "required" in kind and name not in body:
            yield f"{at} lacks {name}"
    for name, value in body.items():
        if name.startswith("__") or name in BUILTIN:
            continue
        if name not in table:
            yield f"{at} has no {name}"
            continue
        kind = table[name]
        kind = kind["required"] if isinstance(kind, dict) and "required" in kind else kind
        is_block = isinstance(value, list) and any(isinstance(one, dict) for one in value)
        if is_block != isinstance(kind, dict):
            yield f"{at}.{name} is {'an argument' if is_block else 'a block'}"
        elif isinstance(kind, dict):
            if "block" in kind and len(value) > 1:
                yield f"{at}.{name} comes once"
            for one in value:
                yield from against(kind.get("block") or kind["blocks"], one, f"{at}.{name}")
        elif not fits(value, kind):
            yield f"{at}.{name} is no {kind}: {value!r}"


def fits(value: Any, kind: str) -> bool:
    """Tell whether a value that is not a reference is of a type."""
    if isinstance(value, str) and value.startswith("${"):
        return True
    if kind.startswith("list("):
        return isinstance(value, list) and all(fits(one, kind[5:-1]) for one in value)
    if kind.startswith("map("):
        return isinstance(value, dict) and all(fits(one, kind[4:-1]) for one in value.values())
    if kind == "number":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, {"bool": bool, "string": str}[kind])
