"""Plan a workload from a few lines of YAML, without files."""

import textwrap

from tests.files import cluster_text

from slicewright.intent.source import SourceFile
from slicewright.kubernetes.problem import Problem, errors, in_order
from slicewright.rendering.io.package_data import package
from slicewright.rendering.plan.plan import Plan
from slicewright.rendering.plans import plan_all
from slicewright.rendering.repository import Settings, read_repository

CLUSTER = """
pools:
- {name: tpus, tpu: v5litepod-8, slices: 3}
- {name: cpu-np, machineType: n2-standard-64}
"""
PROGRAM = "container: {image: python:3.12}\n"


def workload(spec: str, *, name: str = "a", metadata: str = "", cluster: str = "c1") -> str:
    """Return a TPUWorkload on one line less than people write: `spec` begins on line 5."""
    body = textwrap.indent(textwrap.dedent(spec).strip("\n"), "  ")
    head = "apiVersion: slicewright.dev/v1alpha1\nkind: TPUWorkload\n"
    meta = f"metadata: {{name: {name}{metadata}}}\n"
    return f"{head}{meta}spec:\n{body}\n  clusters: [{cluster}]\n"


def cluster(spec: str = CLUSTER, *, name: str = "c1") -> str:
    """Return a TPUCluster; its own words begin on line 6."""
    return cluster_text(spec, name=name, first="managed: false")


def planned(*texts: str, clusters: str = "") -> tuple[tuple[Plan, ...], tuple[Problem, ...]]:
    """Return the plans of some workload files on a cluster, and all that stands against them."""
    files = [SourceFile("clusters/c1.yaml", clusters or cluster())]
    files += [SourceFile(f"workloads/{chr(97 + at)}.yaml", text) for at, text in enumerate(texts)]
    repository = read_repository(files, Settings(), package(), lambda _path: None)
    plans, problems = plan_all(repository)
    return tuple(entry.plan for entry in plans), in_order(problems)


def refused(spec: str, *, metadata: str = "", clusters: str = "") -> str:
    """Return what is said against a workload's spec, as a terminal shows it.

    Warnings (mostly of pools that the cluster of a test lacks) are shown only where there is no error.
    """
    _, problems = planned(workload(spec, metadata=metadata), clusters=clusters)
    return "".join(f"{problem.text()}\n" for problem in errors(problems) or problems)


def plan(spec: str, *, metadata: str = "", clusters: str = "", name: str = "a") -> Plan:
    """Return the only plan of a spec that nothing stands against but warnings."""
    plans, problems = planned(workload(spec, name=name, metadata=metadata), clusters=clusters)
    assert [problem.text() for problem in problems if problem.severity == "error"] == []
    assert len(plans) == 1
    return plans[0]
