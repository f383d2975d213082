"""A git repository for a test, and two trees in memory."""

import json
from typing import Any

import jsonschema
from tests.conftest import Repo
from tests.files import PROJECT, git

from slicewright.diff.compare import Difference, compare
from slicewright.diff.tree_version import TreeVersion
from slicewright.diff.words import words
from slicewright.document.write import write_document
from slicewright.rendering.io.package_data import catalogue

CLUSTER = """
    managed: true
    project: p
    location: us-west4
    nodeLocations: [us-west4-a]
    pools:
    - {name: tpus, tpu: v5litepod-8, slices: 3}
    clusterQueues:
    - {name: cluster-queue, quota: [{pool: tpus}], localQueues: [{name: queue}]}
"""
"""The spec of a cluster of which the platform is rendered."""
JOB = """
    clusters: [c1]
    tpu: v5litepod-8
    queueName: queue
    container: {image: python:3.12, script: python train.py}
"""
NS = "overlays/c/n"
"""A folder of a namespace."""
SCHEMA = json.loads((PROJECT / "schemas/slicewright/diff.json").read_text(encoding="utf-8"))


def commit(repo: Repo) -> str:
    """Commit all files of a repository, and return the commit."""
    if not (repo.root / ".git").exists():
        git(repo.root, "init", "--quiet")
    git(repo.root, "add", "--all")
    git(repo.root, "commit", "--quiet", "--allow-empty", "--message", "change")
    return git(repo.root, "rev-parse", "HEAD")


def cluster(repo: Repo, spec: str = CLUSTER, name: str = "c1") -> None:
    """Write a TPUCluster of which the platform is rendered."""
    head = f"apiVersion: slicewright.dev/v1alpha1\nkind: TPUCluster\nmetadata: {{name: {name}}}\nspec:"
    repo.write(f"clusters/{name}.yaml", f"{head}{spec}")


def diff(repo: Repo, *arguments: str, code: int = 0) -> Any:
    """Run the command and return its JSON, which its schema accepts."""
    record = repo.run("diff", *arguments, "-o", "json", code=code).json
    jsonschema.Draft7Validator(SCHEMA).validate(record)
    return record


def said(record: Any) -> list[str]:
    """Return what happens to runs, in one line each, ids as they are."""
    return [
        f"{run['effect']} {run['cluster']}/{run['namespace']}/{run['name']} {run['chips']}: {run['reason']}"
        for run in record["runs"]
    ]


def side(name: str, files: dict[str, Any]) -> TreeVersion:
    """Return a tree in memory: texts as they are, data as YAML."""
    texts = {path: data if isinstance(data, str) else write_document(data) for path, data in files.items()}
    paths = frozenset(path for path in texts if path.startswith(("overlays/", "provision/")))
    return TreeVersion(name, paths, texts.get)


def compared(before: dict[str, Any], after: dict[str, Any]) -> Difference:
    """Compare two trees in memory."""
    return compare(side("old", before), side("new", after), catalogue())


def folder(path: str, *objects: Any) -> dict[str, Any]:
    """Return the files of a folder that holds some objects."""
    names = [f"{index}.yaml" for index in range(len(objects))]
    files: dict[str, Any] = {f"{path}/{name}": data for name, data in zip(names, objects, strict=True)}
    files[f"{path}/kustomization.yaml"] = {"resources": names}
    return files


def thing(kind: str, name: str, namespace: str = "", **fields: Any) -> dict[str, Any]:
    """Return an object of some kind."""
    api = {"Job": "batch/v1", "JobSet": "jobset.x-k8s.io/v1alpha2", "ConfigMap": "v1"}
    labels: Any = fields.pop("labels", None)
    metadata: dict[str, Any] = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": api.get(kind, "kueue.x-k8s.io/v1beta2"),
        "kind": kind,
        "metadata": {**metadata, **({"labels": labels} if labels else {})},
        **fields,
    }


def job(name: str, run: str = "", *, chips: int = 4, command: str = "a") -> dict[str, Any]:
    """Return a Job that asks for chips."""
    container: dict[str, Any] = {"name": "c", "image": "i", "command": [command]}
    container["resources"] = {"limits": {"google.com/tpu": str(chips)}}
    labels: Any = {"slicewright.dev/run": run} if run else None
    spec = {"template": {"spec": {"containers": [container]}}}
    return thing("Job", name, "n", labels=labels, spec=spec)


def workload(*runs: Any, name: str = "w", cluster: str = "c") -> dict[str, Any]:
    """Return the files of a workload's folder."""
    return folder(f"overlays/{cluster}/n/{name}", *runs)


def platform(*objects: Any) -> dict[str, Any]:
    """Return the files of a platform."""
    return folder("overlays/c/_platform", *objects)


def reasons(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return what happens to runs."""
    return [(run.effect, run.name, run.reason) for run in compared(before, after).runs]


def words_of(difference: Any) -> str:
    """Return the text."""
    return words(difference)


def run_of(repo: Repo, workload: str = "a") -> str:
    """Return the name of the only run of a workload."""
    (name,) = repo.runs(workload)
    return name.removesuffix(".yaml")
