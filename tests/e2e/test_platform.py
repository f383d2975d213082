"""Rendered platforms on the real API server, with Kueue's webhooks and its controller."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Repo
from tests.resolved import resolve_text

from slicewright.kubernetes.quantity import canonical
from slicewright.kubernetes.types import Object
from slicewright.project.repository_reader import read_checkout
from slicewright.rehearse.time_control import installed_settings
from slicewright.rendering.platform.kueue_configuration import config_map
from slicewright.rendering.platform.platform_files import objects
from slicewright.testbed.bed import Bed
from slicewright.testbed.bed_cluster import Cluster
from slicewright.testbed.manifests import installation

from . import kit
from .test_queueing import THREE_ONE_TWO, assert_slices, end_running, jobset, submit

PLATFORMS = sorted(
    path.parent.parent.name for path in (kit.ROOT / "overlays").glob("*/_platform/kustomization.yaml")
)
MORE = (
    *((kit.KUEUE, "Cohort"), (kit.KUEUE, "AdmissionCheck"), (kit.KUEUE, "ProvisioningRequestConfig")),
    (kit.KUEUE, "Topology"),
    *(("rbac.authorization.k8s.io/v1", kind) for kind in ("RoleBinding", "Role")),
    ("v1", "ResourceQuota"),
)
"""Kinds of a platform beside those that the other tests create, in the order in which they go."""

EVERYTHING = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: everything}
spec:
  project: my-project
  location: us-west4-a
  pools:
  - {name: standing, tpu: v5litepod-8, slices: 2, topologyName: tpus}
  - {name: spot, tpu: v5litepod-8, slices: 2, provisioning: Spot}
  - {name: queued, tpu: v5litepod-16, slices: 2, provisioning: FlexStartQueued}
  - {name: mine, tpu: v6e-16, slices: 2, provisioning: {type: Reservation, name: r1, project: my-project}}
  - {name: cpu, machineType: n2-standard-64, nodes: 2}
  topologies:
  - {name: tpus, levels: [{nodeLabel: cloud.google.com/gke-nodepool}, {nodeLabel: kubernetes.io/hostname}]}
  provisioningRequestConfigs: [{name: other, parameters: {maxRunDurationSeconds: "600"}}]
  admissionChecks:
  - name: other
    controllerName: kueue.x-k8s.io/provisioning-request
    parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: other}
  cohorts:
  - {name: everybody, quota: [{pool: standing, nominalSlices: 1}]}
  - {name: research, parentName: everybody, fairSharing: {weight: 500m}}
  clusterQueues:
  - name: everything
    cohortName: research
    queueingStrategy: StrictFIFO
    quota:
    - {pool: standing, nominalSlices: 1, borrowingLimit: 1, lendingLimit: 0}
    - {pool: spot}
    - {pool: queued, nominalChips: 16}
    - {pool: mine, nominalSlices: 1}
    - {pool: cpu, nominalNodes: 1, borrowingLimit: 1}
    preemption:
      withinClusterQueue: LowerOrNewerEqualPriority
      reclaimWithinCohort: Any
      borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 100}
    flavorFungibility: {whenCanBorrow: TryNextFlavor, preference: PreemptionOverBorrowing}
    fairSharing: {weight: 3}
    admissionChecks: [{name: other, onFlavors: [v6e-4x4-reservation-r1]}]
    localQueues:
    - {name: one, namespace: research, fairSharing: {weight: 2}}
    - {name: two, namespace: research}
  - {name: by-resource, stopPolicy: Hold, quota: [{pool: cpu, nominalQuota: {cpu: 8, memory: 16Gi}}]}
  priorityClasses: [{name: mine, value: -5, description: For mine., podPriorityClass: true}]
  teams:
  - name: research
    namespace: research
    labels: {team: research}
    serviceAccountName: trainer
    googleServiceAccount: trainer@my-project.iam.gserviceaccount.com
    admins: [group:research@example.com, "serviceAccount:deployer"]
    viewers: [ann@example.com]
    podSecurity: baseline
    resourceQuota: {requests.google.com/tpu: 64}
"""


@pytest.fixture
def platform_bed(shared_bed: Bed, not_ours: frozenset[str]) -> Iterator[Bed]:
    """Hold the cluster for one test, and take away the kinds that only platforms have as well."""
    yield shared_bed
    remove_platform(shared_bed, not_ours)


def remove_platform(bed: Bed, not_ours: frozenset[str]) -> None:
    """Remove what tests made, the kinds that only platforms have as well."""
    kit.clear(bed, not_ours)
    for api_version, kind in MORE:
        found = [item for item in bed.api.list(api_version, kind) if _is_ours(item)]
        bed.api.each(bed.api.delete, found)


def _is_ours(item: Object) -> bool:
    namespace: str = item["metadata"].get("namespace", "")
    return not namespace.startswith("kube-") and not namespace.endswith("-system")


def committed(cluster: str) -> list[Object]:
    """Return the objects of a cluster's committed platform."""
    return kit.composed(f"overlays/{cluster}/_platform")


def put_up(bed: Bed, items: list[Object]) -> None:
    """Apply a platform, unknown fields refused, its namespaces first as the list of its files has them."""
    for item in items:
        if item["kind"] == "Namespace":
            kit.ensure_namespace(bed, item["metadata"]["name"])
        bed.api.apply(item, force=True)


def kept(bed: Bed, item: Object) -> Object:
    """Return an object as the API server has it."""
    metadata = item["metadata"]
    return bed.api.get(item["apiVersion"], item["kind"], metadata["name"], metadata.get("namespace", ""))


def said(item: Any) -> Any:
    """Return what an object says beside its metadata and its status, quantities in canonical form."""
    return {key: _plain(value) for key, value in item.items() if key not in ("metadata", "status")}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: canonical(part) if key == "nominalQuota" else _plain(part) for key, part in value.items()
        }
    return [_plain(part) for part in value] if isinstance(value, list) else value


def test_there_are_platforms() -> None:
    """Each cluster of the tutorials that has a queue has a platform."""
    assert ["gke-tpu-training-cluster", "multislice-autopilot", "multislice-cluster"] == PLATFORMS


@pytest.mark.parametrize("cluster", PLATFORMS)
def test_accepted(cluster: str, platform_bed: Bed) -> None:
    """Server-side dry runs pass, strict fields, CEL rules and Kueue's webhooks."""
    for item in committed(cluster):
        if "namespace" in item["metadata"]:
            kit.ensure_namespace(platform_bed, item["metadata"]["namespace"])

        created = platform_bed.api.apply(item, dryRun="All", force=True)

        assert created["metadata"]["name"] == item["metadata"]["name"]


@pytest.mark.parametrize("cluster", [*PLATFORMS, "everything"])
def test_queues_become_active_and_every_default_is_written(cluster: str, platform_bed: Bed) -> None:
    """The API server adds nothing to Kueue's objects: a GitOps tool sees no difference. Queues admit."""
    bed = platform_bed
    items = objects(resolve_text(EVERYTHING)) if cluster == "everything" else committed(cluster)

    put_up(bed, items)

    for item in items:
        if item["apiVersion"] == kit.KUEUE:
            assert said(item) == said(kept(bed, item)), item["metadata"]["name"]
        if "namespace" in item["metadata"]:
            kit.assert_apply_changes_nothing(bed, item)
    queues = [item["metadata"]["name"] for item in items if item["kind"] == "ClusterQueue"]
    held = {item["metadata"]["name"] for item in items if item.get("spec", {}).get("stopPolicy") == "Hold"}
    assert queues
    bed.until(
        "the queues to be active",
        lambda: (
            {
                name
                for name, true in kit.conditions(bed, kit.KUEUE, "ClusterQueue").items()
                if "Active" in true
            }
            == set(queues) - held
        ),
    )


def test_tutorial_on_the_rendered_platform(platform_bed: Bed) -> None:
    """Submitted as 3, 1, 2: the 3-slice runs alone, then the others together, each slice on one node pool."""
    bed = platform_bed
    bed.add_nodes(kit.site("multislice-cluster"))
    put_up(bed, committed("multislice-cluster"))

    submit(bed, [jobset(f"multislice-{count}slice", seconds=seconds) for count, seconds in THREE_ONE_TWO])

    bed.until("the 3-slice to run", lambda: len(kit.pods_of(bed, "multislice-3slice", phase="Running")) == 6)
    assert kit.admitted(bed) == {"multislice-3slice"}
    end_running(bed, "multislice-3slice")
    bed.until("the 3-slice to complete", lambda: kit.completed(bed, "multislice-3slice"))
    bed.until("both to complete", lambda: kit.completed(bed, "multislice-1slice", "multislice-2slice"))
    used = assert_slices(bed, "multislice-1slice", 1) + assert_slices(bed, "multislice-2slice", 2)
    assert sorted(used) == ["nodepool1", "nodepool2", "nodepool3"]


def test_reference_guide_on_the_rendered_platform(platform_bed: Bed) -> None:
    """Namespace and service account of the guide's workloads are there; its multislice example completes."""
    bed = platform_bed
    bed.add_nodes(kit.site("gke-tpu-training-cluster"))
    put_up(bed, committed("gke-tpu-training-cluster"))
    (item,) = kit.composed("overlays/gke-tpu-training-cluster/tpu-training/hello-world-multislice")
    name = item["metadata"]["name"]

    bed.api.apply(kit.simulated(item, seconds=1))

    bed.until("it to complete", lambda: kit.completed(bed, name))
    accounts = {pod["spec"]["serviceAccountName"] for pod in kit.pods_of(bed, name)}
    assert accounts == {"cloud-tpu-sa"}


LADDER = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: ladder}
spec:
  project: my-project
  location: us-west4-a
  pools:
  - {name: standing, tpu: v5litepod-8, slices: 1}
  - {name: spot, tpu: v5litepod-8, slices: 2, provisioning: Spot}
  clusterQueues:
  - name: ladder
    quota: [{pool: standing}, {pool: spot}]
    localQueues: [{name: multislice-queue}]
"""


def tolerant(item: Object, *ways: str) -> Object:
    """Return a JobSet whose pods tolerate the taints of the flavors of some ways of provisioning."""
    pod = item["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["tolerations"] = [
        {"key": "slicewright.dev/provisioning", "operator": "Equal", "value": way, "effect": "NoSchedule"}
        for way in ways
    ]
    return item


def test_ladder_of_flavors(platform_bed: Bed) -> None:
    """What does not fit on the first rung goes to the next one: its labels and tolerations come with it."""
    bed = platform_bed
    site = resolve_text(LADDER)
    bed.add_nodes(site)
    put_up(bed, objects(site))

    names = ("multislice-1slice", "multislice-2slice")
    submit(bed, [tolerant(jobset(name, seconds=60), "OnDemand", "Spot") for name in names])

    bed.until("the 1-slice to run", lambda: len(kit.pods_of(bed, "multislice-1slice", phase="Running")) == 2)
    bed.until("the 2-slice to run", lambda: len(kit.pods_of(bed, "multislice-2slice", phase="Running")) == 4)
    assert set(kit.node_pools(bed, kit.pods_of(bed, "multislice-1slice"))) == {"standing-0"}
    assert set(kit.node_pools(bed, kit.pods_of(bed, "multislice-2slice"))) == {"spot-0", "spot-1"}


def test_toleration_that_pods_have_already_is_not_added_again(platform_bed: Bed) -> None:
    """A Spot workload tolerates what the flavor of Spot nodes tolerates: its list stays what Git has."""
    bed = platform_bed
    site = resolve_text(LADDER)
    bed.add_nodes(site)
    put_up(bed, objects(site))
    item = tolerant(jobset("multislice-1slice", seconds=60), "Spot")
    pod = item["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["nodeSelector"]["cloud.google.com/gke-spot"] = "true"
    (flavor,) = [entry for entry in objects(site) if entry["metadata"]["name"] == "v5e-2x4-4t-spot"]
    pod["tolerations"] += flavor["spec"]["tolerations"]

    submit(bed, [item])
    bed.until("it to run", lambda: len(kit.pods_of(bed, "multislice-1slice", phase="Running")) == 2)

    admitted = bed.api.get(*kit.JOBSET, "multislice-1slice", "default")
    there = admitted["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert (pod["tolerations"], pod["nodeSelector"]) == (there["tolerations"], there["nodeSelector"])


PATHWAYS = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: pathways}
spec:
  project: my-project
  location: us-east5-b
  pools:
  - {name: tpu-np, tpu: {accelerator: v6e, topology: 4x4, machineType: ct6e-standard-4t}, slices: 2}
  - {name: cpu-np, machineType: n2-standard-64, nodes: 1}
  clusterQueues:
  - name: pathways
    quota: [{pool: tpu-np}, {pool: cpu-np}]
    localQueues: [{name: pathways}]
"""


def test_head_of_pathways_is_admitted_with_its_workers(platform_bed: Bed) -> None:
    """What the head asks of cpu and memory is quota of the CPU pool, where it runs; workers ask for chips."""
    bed = platform_bed
    site = resolve_text(PATHWAYS)
    bed.add_nodes(site)
    put_up(bed, objects(site))
    (item,) = kit.composed("overlays/pathways-cluster/default/pathways-jobset")
    item["metadata"].setdefault("labels", {})[kit.QUEUE] = "pathways"

    bed.api.apply(kit.simulated(item, seconds=60, replicated_jobs=("pathways-head", "worker")))

    bed.until("its pods to run", lambda: len(kit.pods_of(bed, "pathways-jobset", phase="Running")) == 9)
    (workload,) = bed.api.list(*kit.WORKLOAD)
    given = {
        entry["name"]: entry["flavors"] for entry in workload["status"]["admission"]["podSetAssignments"]
    }
    assert {"cpu": "cpu-np", "memory": "cpu-np"} == given["pathways-head"]
    assert {"google.com/tpu": "v6e-4x4"} == given["worker"]
    assert kit.node_pools(bed, kit.pods_of(bed, "pathways-jobset", "pathways-head")) == ["cpu-np"]


DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
CONFIGURED = EVERYTHING + "  kueue: {waitForPodsReady: {timeout: 3h}}\n"


@pytest.mark.ci
def test_test_cluster_installs_what_the_tree_says(tmp_path: Path, empty: Repo) -> None:
    """Definitions are those of _controllers, and Kueue takes each word of the Configuration there.

    Its ConfigMap says so, as in a cluster, and kubectl may apply another one.
    """
    empty.write("clusters/everything.yaml", CONFIGURED)
    empty.run("render")
    repository = read_checkout(empty.root).repository
    wanted, against = installation(repository.sites["everything"], repository.read_text)
    assert against == ()
    assert wanted.settings["waitForPodsReady"]["timeout"] == "3h"
    decisive = ("waitForPodsReady", "fairSharing", "admissionFairSharing", "resources")

    with Cluster(root=tmp_path, controllers=wanted.objects, kueue_settings=wanted.settings) as bed:
        definition = bed.api.get(*DEFINITION, "clusterqueues.kueue.x-k8s.io")
        assert definition["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/prune"] == "disabled"
        assert bed.api.find(*DEFINITION, "pathwaysjobs.pathways-job.pathways.domain")
        settings, _ = installed_settings(bed.api)
        assert settings is not None
        assert [wanted.settings[field] for field in decisive] == [settings[field] for field in decisive]
        bed.api.apply(config_map("{}"), manager="kubectl", dryRun="All")
        put_up(bed, objects(resolve_text(LADDER)))
        bed.until(
            "the queue to be active",
            lambda: "Active" in kit.conditions(bed, kit.KUEUE, "ClusterQueue").get("ladder", []),
        )
