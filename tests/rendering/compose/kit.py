"""Trees of files as values, built by slicewright and by kustomize."""

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml
from tests.files import program, write

from slicewright.rendering.compose import Composed, compose

Tree = dict[str, str]

COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"


def config_map(name: str, *, namespace: str = "", data: str = "{a: b}") -> str:
    """Return a small object."""
    within = f", namespace: {namespace}" if namespace else ""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}{within}}}\ndata: {data}\n"


def patching(*patches: str, target: str = "kind: ConfigMap") -> str:
    """Return a `patches:` field with one inline patch an operation."""
    entries = [f"- target: {{{target}}}\n  patch: |\n    - {operation}\n" for operation in patches]
    return "patches:\n" + "".join(entries)


def merging(
    fields: str, *, metadata: str = "{name: b}", target: str = "name: a", data: str = "{a: b, m: {d: e}}"
) -> Tree:
    """Return a folder with a ConfigMap and a strategic-merge patch, whose own name and kind do not matter."""
    return {
        "o/kustomization.yaml": f"resources: [a.yaml]\npatches: [{{path: p.yaml, target: {{{target}}}}}]\n",
        "o/a.yaml": config_map("a", data=data),
        "o/p.yaml": f"apiVersion: v2\nkind: Other\nmetadata: {metadata}\n{fields}\n",
    }


def composed(tree: Tree, folder: str = "o") -> Composed:
    """Return what slicewright makes of a folder of a tree."""
    return compose(folder, tree.get)


def built(tree: Tree, root: Path, folder: str = "o") -> list[Any] | None:
    """Return the objects that kustomize makes of a folder of a tree, None where it refuses it."""
    write(root, tree)
    answer = subprocess.run([program("kustomize"), "build", root / folder], capture_output=True, check=False)
    if answer.returncode:
        return None
    return ordered(list(yaml.load_all(answer.stdout.decode(), yaml.CSafeLoader)))


def ordered(objects: list[Any]) -> list[Any]:
    """Return objects in an order of their own, because kustomize sorts them by kind."""
    return sorted(objects, key=lambda item: json.dumps(item, sort_keys=True))
