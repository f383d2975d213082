"""A TPUCluster from a few lines of YAML, what is rendered for it, and what is said against it."""

from typing import Any

import yaml
from tests.files import cluster_text, read_text

from slicewright.check.platform_problems import with_platforms
from slicewright.intent.source import SourceFile
from slicewright.kubernetes.problem import errors, in_order
from slicewright.rendering import header
from slicewright.rendering.io.package_data import package
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform import platform_files as tree
from slicewright.rendering.repository import Repository, Settings, read_repository

POOLS = "pools: [{name: tpus, tpu: v5litepod-8, slices: 3}]"
FOLDER = "overlays/c1/_platform"


def cluster(spec: str, *, name: str = "c1") -> str:
    """Return a TPUCluster that is managed; the words of `spec` begin on line 7."""
    return cluster_text(spec, name=name, first="project: my-project\nlocation: us-west4-a")


def released(path: str) -> str | None:
    """Read a file of this repository's releases of controllers; there is no other one."""
    return read_text(path) if path.startswith("bases/controllers/") else None


def repository(*texts: str) -> Repository:
    """Return what some files of TPUClusters make."""
    files = [SourceFile(f"clusters/c{at}.yaml", text) for at, text in enumerate(texts, 1)]
    return with_platforms(read_repository(files, Settings(), package(), released))


def said(*specs: str) -> str:
    """Return what is said against clusters, as a terminal shows it."""
    texts = [cluster(spec, name=f"c{at}") for at, spec in enumerate(specs, 1)]
    problems = in_order(repository(*texts).problems)
    return "".join(f"{problem.text()}\n" for problem in problems)


def resolved(text: str) -> ResolvedCluster:
    """Return a cluster of the text of its file, against which nothing but warnings stands."""
    made = repository(text)
    assert [problem.text() for problem in errors(made.problems)] == []
    return made.sites["c1"]


def site(spec: str) -> ResolvedCluster:
    """Return a cluster of a spec."""
    return resolved(cluster(spec))


def files(spec: str) -> dict[str, str]:
    """Return the files of a cluster's platform by their name in its folder."""
    return {path.removeprefix(f"{FOLDER}/"): text for path, text in tree.files(site(spec)).items()}


def documents(spec: str, file: str) -> list[dict[str, Any]]:
    """Return the objects of a file of the platform; none where there is no such file."""
    return objects_of(files(spec).get(file, ""))


def objects_of(text: str) -> list[dict[str, Any]]:
    """Return the objects of a generated file."""
    return list(yaml.load_all(header.body_of(text), Loader=yaml.CSafeLoader))


def one(spec: str, file: str, kind: str, name: str = "") -> dict[str, Any]:
    """Return the only object of a kind (and a name) in a file."""
    (found,) = [
        item
        for item in documents(spec, file)
        if item["kind"] == kind and name in ("", item["metadata"]["name"])
    ]
    return found
