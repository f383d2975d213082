"""`explain`: each number with where it comes from."""

from slicewright.intent.source import SourceFile
from slicewright.kubernetes.types import record
from slicewright.rendering.io.package_data import package
from slicewright.rendering.plan.explanation import Fact, explain
from slicewright.rendering.plans import plan_all
from slicewright.rendering.repository import Settings, read_repository

from .kit import CLUSTER, PROGRAM, cluster, workload


def facts(spec: str, clusters: str = "") -> dict[str, tuple[str, str]]:
    """Return value and reason of each fact about a workload."""
    return {fact.what: (fact.value, fact.because) for fact in explained(spec, clusters)}


def explained(spec: str, clusters: str = "") -> tuple[Fact, ...]:
    """Return the facts about a workload."""
    files = [
        SourceFile("clusters/c1.yaml", clusters or cluster(CLUSTER)),
        SourceFile("workloads/a.yaml", workload(spec)),
    ]
    repository = read_repository(files, Settings(), package(), lambda _path: None)
    (entry,), _ = plan_all(repository)
    same = package().catalogue.same_count(entry.plan.shape) if entry.workload.tpu else ()
    found = explain(entry.plan, entry.workload, same)
    assert all({"what", "value", "because"} == record(fact).keys() for fact in found)
    return found


def test_numbers_of_a_jobset() -> None:
    """Chips, hosts and TensorCores follow from the shape; replicas from slices; the limits from the host."""
    found = facts("tpu: v5litepod-16\nslices: 3\n" + PROGRAM)

    assert found["slices"] == ("3", "spec.slices")
    assert found["chips per slice"] == ("16", "4 x 4")
    assert found["hosts per slice"] == ("4", "16 chips / 4 chips per host")
    assert found["chips in all"] == ("48", "3 x 16 chips: what Kueue counts")
    assert found["replicas"] == ("3", "one replica a slice")
    assert found["completions, parallelism"] == ("4", "one pod for each host")
    assert found["google.com/tpu"] == ("4", "requests = limits = chips of a host, one pod takes them all")
    assert found["exclusive-topology"] == ("cloud.google.com/gke-nodepool", "one slice is one node pool")
    assert found["backoffLimit"] == ("0", "default: a slice is whole or lost")
    assert found["topology"][1] == "the only shape called v5litepod-16"
    assert found["tpu"][1] == "spec.tpu; catalogue v5e, tier listed"


def test_chips_are_those_without_patches() -> None:
    """A patch can add slices, which only the finished object tells."""
    patch = "patches: [{target: {kind: JobSet}, ops: [{op: add, path: /metadata/labels/a, value: b}]}]\n"
    found = facts("tpu: v5litepod-16\n" + PROGRAM + patch)

    assert ("16", "1 x 16 chips: without what patches change: see slicewright capacity") == found[
        "chips in all"
    ]


def test_other_shapes_of_the_same_count_are_named() -> None:
    """A count that several shapes have says which are the others."""
    found = facts("tpu: v5litepod-8\nbackoffLimit: 2\n" + PROGRAM)

    assert "v5litepod-8 also fits 2x4 on ct5lp-hightpu-8t (listed)" in found["topology"][1]
    assert found["slices"] == ("1", "default")
    assert found["backoffLimit"] == ("2", "spec.backoffLimit")


def test_shape_in_parts_is_shown_as_it_was_asked_for() -> None:
    """Where there is no name, the parts are the question."""
    found = facts("tpu: {accelerator: v5e, topology: 2x4, machineType: ct5lp-hightpu-8t}\n" + PROGRAM)

    assert found["tpu"][0] == "v5e 2x4 ct5lp-hightpu-8t"
    assert "exclusive-topology" not in found


def test_shape_beyond_the_documented_maximum_is_warned_of() -> None:
    """v5p slices of more than 6144 chips exist in a list only."""
    found = facts("tpu: {accelerator: v5p, topology: 16x20x28}\n" + PROGRAM)

    assert found["warning"] == ("16x20x28", "larger than the largest slice that Google documents")


def test_job_has_no_replicas() -> None:
    """A Job is one slice: pods, and no exclusive placement."""
    found = facts("api: Job\ntpu: v5litepod-16\nnaming: Fixed\n" + PROGRAM)

    assert found["object"] == ("a", "bases/indexed-job; naming: Fixed")
    assert "replicas" not in found
    assert "exclusive-topology" not in found


def test_numbers_of_pathways() -> None:
    """The head's place, the instance type and the workers' limit are explained."""
    found = facts("tpu: v5litepod-16\npathways: {pathwaysDir: 'gs://b/p'}\n" + PROGRAM)

    assert found["instance type"] == ("tpuv5e:4x4", "Pathways' word for the machine type: topology")
    assert found["workers' backoffLimit"] == ("16", "4 hosts x 4")
    assert found["head's node pool"] == ("cpu-np", "pathways.head.pool, or the only CPU pool")
    assert "subdomain" in found
    assert "backoffLimit" not in found


def test_numbers_of_a_pathwaysjob_are_those_of_its_spec() -> None:
    """Its controller decides on pods, so only what the object says is explained."""
    found = facts(
        "api: PathwaysJob\ntpu: v5litepod-16\npathways: {pathwaysDir: 'gs://b/p'}\n" + PROGRAM,
        cluster("pools: [{name: a, tpu: v5e-16}]"),
    )

    assert found["workers[0].numSlices"] == ("1", "slices")
    assert not {"google.com/tpu", "subdomain", "workers' backoffLimit", "head's node pool"} & found.keys()


def test_what_autopilot_leaves_out_is_said() -> None:
    """A field that is not rendered is never passed over in silence."""
    autopilot = cluster("mode: Autopilot\npools: [{name: a, tpu: v5litepod-16}]")

    found = facts("privileged: true\ncomponents: [mine]\ntpu: v5litepod-16\n" + PROGRAM, autopilot)

    assert found["privileged"] == ("left out", "the Autopilot cluster c1 refuses it")
    assert found["component"] == ("mine", "spec.components")


def test_containers_of_a_host_share_its_chips() -> None:
    """Where a host has several containers, the chips of each follow from those of the host."""
    found = facts("tpu: tpu7x-16\ncontainersPerHost: 2\n" + PROGRAM)

    assert found["containers per host"] == ("2", "spec.containersPerHost")
    assert found["google.com/tpu"] == ("2", "of each container: 4 chips of a host / 2 containers")


def test_topology_takes_the_place_of_exclusive_placement() -> None:
    """Where the flavor of the pool has a Topology, the facts are what the pods ask of Kueue."""
    pools = "pools: [{name: tas, tpu: v5litepod-8, topologyName: t}]\n"
    found = facts("tpu: v5litepod-8\nqueueName: q\n" + PROGRAM, clusters=cluster(pools))

    assert "exclusive-topology" not in found
    assert found["kueue.x-k8s.io/podset-slice-size"][0] == "2"


def test_numbers_of_a_run_on_cpu_nodes() -> None:
    """The machine type is the pool's; there is no number of TPUs, and no reason that speaks of slices."""
    found = facts("cpu: {pool: cpu-np}\n" + PROGRAM)

    assert found["pool"] == ("cpu-np", "spec.cpu.pool")
    assert found["machine type"] == ("n2-standard-64", "pool cpu-np of c1")
    assert found["nodes"] == ("1", "default")
    assert found["nodeSelector cloud.google.com/gke-nodepool"] == ("cpu-np", "spec.cpu.pool")
    assert found["backoffLimit"] == ("0", "default: the failure policy restarts the run")
    assert not [what for what in found if "tpu" in what or "slice" in what]


def test_component_names_the_field_that_selects_it() -> None:
    """The reason of a component is the field of the TPUWorkload."""
    spec = (
        "provisioning: Spot\nprivileged: true\nhostNetwork: true\nworkloadPriorityClassName: high\n"
        "tpu: v5litepod-16\nqueueName: team\nfailurePolicy: {onHostMaintenance: Restart}\n"
        "gcsFuse: [{bucket: b, mountPath: /d}]\n"
    )
    spot = cluster("pools: [{name: a, tpu: v5litepod-16, provisioning: Spot}]")

    found = explained(spec + PROGRAM, spot)

    components = {fact.value.split("/")[2]: fact.because for fact in found if fact.what == "component"}
    assert components == {
        "spot": "spec.provisioning",
        "privileged": "spec.privileged",
        "host-network": "spec.hostNetwork",
        "priority": "spec.workloadPriorityClassName",
        "host-maintenance": "spec.failurePolicy.onHostMaintenance",
        "gcs-fuse": "spec.gcsFuse",
    }


def test_what_a_run_survives_is_said() -> None:
    """A lost host, exit codes and retries have their reasons; so have the time and the memory of the pods."""
    resilient = "resilience: {retryExitCodes: [75, 80-82]}\nsharedMemory: 16Gi\n" + PROGRAM

    one, several = (facts(f"tpu: v5litepod-16\nslices: {slices}\n" + resilient) for slices in (1, 2))

    assert one["exit code 75, 80-82"][0] == one["lost host"][0] == "restarts the run, not counted"
    assert one["maxRestarts"] == ("0", "failurePolicy.maxRestarts: failures of the program")
    assert one["terminationGracePeriodSeconds"][0] == "300 s"
    assert one["/dev/shm"][0] == "16Gi"  # noqa: S108
    assert (one["backoffLimitPerIndex"][0], several["backoffLimitPerIndex"][0]) == ("0", "7")
    assert "backoffLimit" not in one


def test_what_a_job_and_pathways_survive_is_said() -> None:
    """A Job replaces pods, and Pathways its workers; `hostLoss: Count` says that all failures count."""
    job = facts("tpu: v5litepod-16\napi: Job\nresilience: {}\n" + PROGRAM)
    counted = facts("tpu: v5litepod-16\nresilience: {hostLoss: Count}\n" + PROGRAM)
    pathways = facts("tpu: v5litepod-16\nresilience: {}\npathways: {pathwaysDir: 'gs://b/p'}\n" + PROGRAM)

    assert (job["lost host"][0], "maxRestarts" in job) == ("its pod is replaced, not counted", False)
    assert (counted["lost host"][0], counted["backoffLimit"][0]) == ("counts as a failure", "0")
    assert [pathways[f"lost {part}"][0] for part in ("worker", "head")] == [
        "its pod is replaced",
        "restarts the run, not counted",
    ]
    assert pathways["head's backoffLimit"][0] == "7"
