"""Write schemas/google/*.json anew: what the resources that we render look like to the google provider.

The provider itself is not in a package registry. Its Python bindings for the CDK Terrain are, and they were
generated from the provider's own schema. `python schemas/rebuild_google.py [FOLDER]` takes the wheels that
are in the folder, and fetches the others with pip. There is one table for each end of the range of versions
that the rendered Terraform allows.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

PACKAGE = "cdktn-provider-google"
RELEASES = {
    "7.31.0": ("19.0.0", "fc6fd8134dd6fb313ec4ec8c2e9d669444f8c07d27c93160167f41871f8cd99c"),
    "7.46.1": ("20.3.1", "562d1a5f4d9850be9f43f53b9c1cbb1899f0ce7c8daaf1e7b51181287e82a380"),
}
"""Versions of the provider: the version of their bindings, and the sha256 of its wheel."""
FOLDER = Path(__file__).parent / "google"
RESOURCES = (
    "artifact_registry_repository",
    "artifact_registry_repository_iam_member",
    "compute_network",
    "compute_resource_policy",
    "compute_subnetwork",
    "container_cluster",
    "container_node_pool",
    "project_iam_member",
    "project_service",
    "service_account",
    "service_account_iam_member",
    "storage_bucket",
    "storage_bucket_iam_member",
    "vertex_ai_tensorboard",
)
_NAME = re.compile(r"/providers/hashicorp/google/([0-9.]+)/docs/resources/[a-z0-9_]+#([a-z0-9_]+) ")
_UNUSED = frozenset({"node_pool", "node_pool_defaults", "node_pool_auto_config", "id"})
"""Left out: node pools inside of a cluster (they are resources here), and an id that is never an argument."""

Table = dict[str, Any]


def main() -> int:
    """Fetch, check and write."""
    for provider, (version, sha256) in RELEASES.items():
        with tempfile.TemporaryDirectory() as folder:
            content = wheel(Path(sys.argv[1] if sys.argv[1:] else folder), version).read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if found != sha256:
            sys.stderr.write(f"{PACKAGE} {version} has sha256 {found}, {sha256} is pinned\n")
            return 1
        types = assembly(content)
        document = {
            "description": "Written by schemas/rebuild_google.py; DO NOT EDIT.",
            "provider": f"hashicorp/google {provider}",
            "package": f"{PACKAGE} {version}",
            "sha256": sha256,
            "licence": "MPL-2.0",
            "resources": {f"google_{name}": resource(types, name, provider) for name in RESOURCES},
        }
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{provider}.json").write_text(text(document), encoding="utf-8")
    return 0


def wheel(folder: Path, version: str) -> Path:
    """Return the wheel of a version in a folder, which pip puts there where it is not."""
    pattern = f"{PACKAGE.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", f"{PACKAGE}=={version}"]
        subprocess.run([*command, "--dest", str(folder)], check=True)
    (found,) = folder.glob(pattern)
    return found


def assembly(wheel: bytes) -> Table:
    """Return the types of the bindings: the jsii assembly inside of the wheel."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".jsii.tgz"))
        packed = archive.read(name)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive_of_types:
        member = archive_of_types.extractfile("package/.jsii")
        assert member is not None  # noqa: S101 - a broken package ends the script
        types: Table = json.load(member)["types"]
    return types


def resource(types: Table, name: str, provider: str) -> Table:
    """Return a resource: its arguments, and what may be read of it besides."""
    first, *rest = name.split("_")
    camel = "".join(part.capitalize() for part in (first, *rest))
    module = f"@cdktn/provider-google.{camel[0].lower()}{camel[1:]}"
    arguments = block(types, f"{module}.{camel}Config", provider)
    read = [prop["name"] for prop in types[f"{module}.{camel}"]["properties"] if not prop.get("static")]
    snake = {re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", item).lower() for item in read}
    attributes = sorted(item for item in snake - set(arguments) if not item.endswith("_input"))
    return {"arguments": arguments, "attributes": attributes}


def block(types: Table, name: str, provider: str) -> Table:
    """Return the arguments of a block by their names in HCL, each with its type."""
    found: Table = {}
    for prop in types[name].get("properties", ()):
        docs = prop.get("docs", {})
        match = _NAME.search(f"{docs.get('remarks', '')} {docs.get('summary', '')} ")
        if match is None:
            raise SystemExit(f"{name}.{prop['name']} does not say what it is called in HCL")
        if match[1] != provider:
            raise SystemExit(f"the bindings are of {match[1]}, not {provider}")
        if match[2] not in _UNUSED:
            kind = _type(types, prop["type"], provider)
            found[match[2]] = kind if prop.get("optional") else {"required": kind}
    return dict(sorted(found.items()))


def _type(types: Table, kind: Table, provider: str) -> Any:
    """Return `string`, `list(string)`, `{"block": ...}` for one block, `{"blocks": ...}` for any number."""
    if "union" in kind:
        (kind,) = (one for one in kind["union"]["types"] if one.get("fqn") != "cdktn.IResolvable")
    if "primitive" in kind:
        return {"boolean": "bool"}.get(kind["primitive"], kind["primitive"])
    if "fqn" in kind:
        return {"block": block(types, kind["fqn"], provider)}
    of = _type(types, kind["collection"]["elementtype"], provider)
    if isinstance(of, dict):
        return {"blocks": of["block"]}
    return f"{'map' if kind['collection']['kind'] == 'map' else 'list'}({of})"


def text(document: Table) -> str:
    """Return the document with one line an argument of a resource."""
    resources = document.pop("resources")
    head = json.dumps(document, indent=2)[:-2]
    parts = []
    for name, item in resources.items():
        arguments = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in item["arguments"].items()]
        attributes = f'"attributes": {json.dumps(item["attributes"])}'
        inner = ",\n        ".join(arguments)
        parts.append(
            f'"{name}": {{\n      "arguments": {{\n        {inner}\n      }},\n      {attributes}\n    }}'
        )
    inner = ",\n    ".join(parts)
    return f'{head},\n  "resources": {{\n    {inner}\n  }}\n}}\n'


if __name__ == "__main__":
    sys.exit(main())
