"""Flags and arguments of node pools that no field has are handed on as they are."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hcl2
import pytest

from slicewright.rendering.provision.further import ARGUMENTS, FLAGS, MAPS
from slicewright.rendering.provision.node_pool import node_pools
from slicewright.rendering.provision.scripts import node_pool_flags

from .kit import PLACE, RICH, machine, site, surveyed, terraform_files, text
from .opentofu import VERSIONS, planned, resources, tables
from .test_terraform_files import POOLS

HOSTILE = [
    "--metadata=a=$(touch owned)",
    "--tags=`touch owned`",
    "--labels=x='y\";touch owned;#",
    "--min-cpu-platform=a \\ b ${HOME} !! * ~",
]
TEXTS = ['${file("/etc/passwd")}', "%{ if true }x%{ endif }", 'quote " and \\ and \n line', "$${x}"]


def test_flags_reach_gcloud_as_they_are_written(tmp_path: Path) -> None:
    """A real bash hands each further flag on in one piece, and runs nothing that is in it."""
    pool = {"name": "a", "tpu": "v5litepod-4", "nodeConfig": {"gcloudFlags": HOSTILE}}
    host = machine(tmp_path, site(f"{PLACE}pools: [{json.dumps(pool)}]"))

    done = host.run("node-pools.sh")

    (made,) = [call for call in done.calls if "create" in call and "node-pools" in call]
    assert (0, HOSTILE) == (done.code, [word for word in made if word in HOSTILE])
    assert not list(tmp_path.rglob("owned"))
    (printed,) = [line for line in done.commands if "node-pools create" in line]
    assert set(HOSTILE) < set(shlex.split(printed))


@pytest.mark.workflow
@pytest.mark.parametrize("version", VERSIONS)
def test_arguments_reach_the_provider_as_they_are_written(version: str, tmp_path: Path) -> None:
    """Attributes, blocks, blocks within blocks of ours and maps are planned, and no text is a template."""
    arguments: dict[str, Any] = {
        "version": TEXTS[0],
        "upgrade_settings": {"max_surge": 0, "max_unavailable": 1},
        "network_config": {"pod_range": "pods"},
        "node_config": {
            "tags": TEXTS,
            "metadata": {"a b": TEXTS[1], "c": TEXTS[2]},
            "gvnic": {"enabled": True},
            "linux_node_config": {"sysctls": {"net.core.somaxconn": "4096"}},
            "secondary_boot_disks": [{"disk_image": "x"}, {"disk_image": "y"}],
        },
    }
    config = {"privateNodes": True, "terraformArguments": arguments}
    pool = {"name": "a", "tpu": "v5litepod-16", "slices": 2, "nodeConfig": config}
    cluster = site(f"{PLACE}environment: {{}}\npools: [{json.dumps(pool)}]")

    made = resources(
        planned(tmp_path, terraform_files(cluster), provider=version), "google_container_node_pool"
    )

    assert 2 == len(made)
    for values in made.values():
        node = values["node_config"]
        assert "ct5lp-hightpu-4t" == node["machine_type"]
        assert arguments["version"] == values["version"]
        assert arguments["upgrade_settings"] == values["upgrade_settings"]
        assert {"enable_private_nodes": True, "pod_range": "pods"} == values["network_config"]
        assert arguments["node_config"] == {key: node[key] for key in arguments["node_config"]}


def test_every_flag_of_ours_is_refused_as_a_further_one() -> None:
    """A flag that some pool gets from a field cannot be written for any, or it would come twice."""
    everything = (
        "{name: all, tpu: v6e-16, maxRunDurationSeconds: 600, labels: {a: b}, nodeConfig: {scopes: [x],"
        " serviceAccount: a@b.c, workloadMetadata: GCE_METADATA, privateNodes: true, disk: {sizeGB: 50}}}"
    )
    made = node_pools(site(RICH.replace("pools:", f"pools:\n- {everything}", 1)))
    names = {flag.partition("=")[0] for pool in made for flag in node_pool_flags(pool)}

    assert {"--no-enable-autorepair"} == names - FLAGS.keys()
    for flag in sorted(FLAGS):
        for name in (flag, flag.replace("--", "--no-", 1), flag[:-1]):
            pool = f"{{name: a, tpu: v5e-4, nodeConfig: {{gcloudFlags: [{name}=x]}}}}"
            assert "POOL042" in surveyed(text(f"{PLACE}pools: [{pool}]"))[1], name


@pytest.mark.ci
@pytest.mark.slow
@pytest.mark.untraced
def test_every_argument_of_ours_is_refused_as_a_further_one() -> None:
    """An argument that some pool gets from a field cannot be written for any: Terraform refuses both."""
    config = "{serviceAccount: a@b.c, privateNodes: true, disk: {sizeGB: 50}}"
    pools = POOLS.replace("pools:", f"pools:\n- {{name: all, tpu: v6e-16, nodeConfig: {config}}}", 1)
    rendered = terraform_files(site(f"{PLACE}environment: {{podsIpRange: 10.0.0.0/9}}\n{pools}"))
    ours: set[str] = set()
    for entry in hcl2.loads(rendered["provision/c1/node-pools.tf"])["resource"]:
        ((kind, named),) = entry.items()
        if "google_container_node_pool" in kind:
            ours.update(path for body in named.values() for path in _paths(body, ""))

    assert "node_config.machine_type" in ours
    assert set() == {path for path in ours if not _is_owned(path)}


def test_maps_are_those_of_the_provider() -> None:
    """What is written as a map and not as a block is a map in the provider's tables."""
    for version in VERSIONS:
        arguments = tables(version)["resources"]["google_container_node_pool"]["arguments"]
        assert MAPS | {"labels"} == {path.rpartition(".")[2] for path in _maps(arguments, "")}


def _paths(body: Any, at: str) -> Iterator[str]:
    """Yield the path of each attribute of a body that python-hcl2 has read."""
    for name, value in body.items():
        if name.startswith("__"):
            continue
        if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
            for part in value:
                yield from _paths(part, f"{at}{name}.")
        else:
            yield f"{at}{name}"


def _is_owned(path: str) -> bool:
    parts = path.split(".")
    return any(".".join(parts[:count]) in ARGUMENTS for count in range(1, len(parts) + 1))


def _maps(arguments: dict[str, Any], at: str) -> Iterator[str]:
    for name, written in arguments.items():
        kind = written.get("required", written) if isinstance(written, dict) else written
        if isinstance(kind, dict):
            (inner,) = kind.values()
            yield from _maps(inner, f"{at}{name}.")
        elif kind.startswith("map("):
            yield f"{at}{name}"
