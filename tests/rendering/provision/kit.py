"""A cluster from a few lines of YAML, and its scripts on a machine whose gcloud and kubectl are stubs."""

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.files import cluster_text, write

from slicewright.document.read import read_documents
from slicewright.intent.source import Source, SourceFile
from slicewright.intent.tpucluster import decode_cluster
from slicewright.kubernetes.problem import in_order
from slicewright.rendering.io.package_data import package, provision
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, resolve_cluster
from slicewright.rendering.platform_tree import provision_files
from slicewright.rendering.provision import validate_node_pools

ROOT = Path(__file__).parents[3]
STUBS = Path(__file__).parent / "stubs"
PLACE = "project: my-project\nlocation: us-west4\nnodeLocations: [us-west4-a]\n"
"""The fields that a cluster in one zone begins with."""
RICH = """
project: my-project
location: us-central1
nodeLocations: [us-central1-c]
gke: {version: 1.34.3-gke.100, releaseChannel: rapid}
pools:
- {name: big, tpu: tpu7x-4x4x4, slices: 2}
- {name: theirs, tpu: tpu7x-2x2x2, placementPolicyName: made-elsewhere, provisioning: FlexStart}
- {name: small, tpu: v6e-4, slices: 2, autoscaling: {min: 1}, provisioning: Spot}
- {name: queued, tpu: v6e-16, provisioning: FlexStartQueued}
- {name: bound, tpu: v5e-16, provisioning: {type: Reservation, name: r}}
- {name: classy, tpu: v5e-16, provisioning: {type: ComputeClass, name: x}}
- {name: cpu, machineType: n2-standard-8, nodes: 2, labels: {team: research}}
computeClasses: [{name: x, nodePoolAutoCreation: false, priorities: [{tpu: v5e-16}]}]
clusterQueues: [{name: q1}, {name: q2}]
"""
"""A cluster that has every kind of pool."""
AUTOPILOT = "mode: Autopilot\nproject: p\nlocation: us-west4\npools: [{name: a, tpu: v5e-4}]\n"
NODE_POOLS = ["big-0", "big-1", "theirs-0", "small-0", "small-1", "queued-0", "bound-0", "classy-0", "cpu"]
"""The node pools of the rich cluster."""


def text(spec: str, *, name: str = "c1") -> str:
    """Return a TPUCluster; its own words begin on line 6."""
    return cluster_text(spec, name=name, first="managed: true")


def surveyed(written: str, path: str = "clusters/c1.yaml") -> tuple[ResolvedCluster, str]:
    """Return a cluster as it is understood, and what is said against its pools and its environment."""
    documents, _ = read_documents(written, "")
    source = Source(SourceFile(path, written), documents[0])
    assert tuple(package().schemas.problems("slicewright/tpucluster.json", source.data)) == ()
    site, _ = resolve_cluster(decode_cluster(source), package().catalogue)
    found = in_order(validate_node_pools.problems(site, package().catalogue))
    return site, "".join(f"{problem.text()}\n" for problem in found)


def site(spec: str, *, name: str = "c1") -> ResolvedCluster:
    """Return a cluster of a spec."""
    return surveyed(text(spec, name=name))[0]


def committed(name: str) -> ResolvedCluster:
    """Return a cluster of this repository, as one that we provision."""
    path = f"clusters/{name}.yaml"
    written = (ROOT / path).read_text(encoding="utf-8").replace("managed: false", "managed: true")
    return surveyed(written, path)[0]


def terraform_files(of: ResolvedCluster) -> dict[str, str]:
    """Return the environment of a cluster as Terraform, by path."""
    return {path: text for path, text in provision_files(of, provision()).items() if not path.endswith(".sh")}


@dataclass(frozen=True)
class Done:
    """What a script left: its exit code, what it printed, and the calls of gcloud and kubectl."""

    code: int
    out: str
    err: str
    calls: list[list[str]]

    @property
    def changes(self) -> list[str]:
        """The calls that change something, as words."""
        return [" ".join(call) for call in self.calls if set(call) & CHANGING]

    @property
    def commands(self) -> list[str]:
        """The commands that were printed."""
        return [line for line in self.out.splitlines() if line.startswith(("gcloud ", "kubectl "))]


CHANGING = frozenset(
    {
        "create",
        "create-auto",
        "delete",
        "enable",
        "patch",
        "get-credentials",
        "update",
        "add-iam-policy-binding",
    }
)


@dataclass
class Machine:
    """A folder with the files of a cluster, and a Google Cloud that is a folder of lists."""

    root: Path
    cluster: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def has(self, kind: str, *names: str) -> None:
        """Say what is there, by the name of a list of the stubs: `node-pools`, `clusters`, `policies`, ..."""
        (self.root / "cloud" / kind).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")

    def names(self, kind: str) -> list[str]:
        """Return what is there."""
        return (self.root / "cloud" / kind).read_text(encoding="utf-8").split()

    def run(self, script: str, *options: str, answer: str = "") -> Done:
        """Run a script of the cluster."""
        log = self.root / "cloud" / "log"
        log.write_text("", encoding="utf-8")
        done = subprocess.run(
            ["bash", str(self.root / "provision" / self.cluster / script), *options],
            env={
                "PATH": f"{STUBS}:{os.environ['PATH']}",
                "CLOUD": str(self.root / "cloud"),
                **self.environment,
            },
            input=answer,
            capture_output=True,
            text=True,
            check=False,
        )
        calls = [line.split("\x1f") for line in log.read_text(encoding="utf-8").splitlines()]
        return Done(done.returncode, done.stdout, done.stderr, calls)


_LISTS = (
    *("node-pools", "clusters", "policies", "apis", "queues"),
    *("crd", "rows", "instances", "cluster-row"),
)
"""What the stubs keep of an empty project."""


def machine(root: Path, of: ResolvedCluster) -> Machine:
    """Write the files of a cluster to a folder, and begin with an empty project."""
    (root / "cloud").mkdir()
    write(root, provision_files(of, provision()))
    machine = Machine(root, of.cluster.name)
    for kind in [
        "node-pools",
        "clusters",
        "policies",
        "apis",
        "queues",
        "crd",
        "rows",
        "instances",
        "cluster-row",
        "window",
        "exclusion",
        "members",
    ]:
        machine.has(kind)
    return machine


HELD = "NO_MINOR_OR_NODE_UPGRADES|UNTIL_END_OF_SUPPORT|2027-02-01T00:00:00Z"
"""The maintenance exclusion that clusters have by default, as GKE shows it."""


def describe(host: Machine, rows: dict[str, str], counts: dict[str, int]) -> None:
    """Say what verify.sh finds."""
    host.has("cluster-row", "RUNNING|")
    host.has("exclusion", HELD)
    host.has("rows", *rows.values())
    host.has("instances", *(name for name, count in counts.items() for _ in range(count)))
