"""What a plan decides: each value with the field, the shape or the cluster that it follows from."""

from __future__ import annotations

import pytest

from .kit import CLUSTER, PROGRAM, cluster, plan, planned, workload

PATHWAYS = "tpu: v5litepod-16\nslices: 2\n" + PROGRAM + "pathways: {pathwaysDir: 'gs://b/p'%s}\n"


def test_smallest_workload_has_a_plan_of_defaults() -> None:
    """One slice as a JobSet, hashed, in namespace default, with nothing that was not asked for."""
    found = plan("tpu: v5litepod-16\n" + PROGRAM)

    assert (
        found.pattern,
        found.base,
        found.components,
        found.slices,
        found.hosts,
    ) == ("jobset", "bases/jobset", (), 1, 4)
    assert f"a-{found.run}" == found.name
    assert found.folder == "overlays/c1/default/a"
    assert {"slicewright.dev/workload": "a", "slicewright.dev/run": found.run} == found.labels
    assert {"SLICEWRIGHT_WORKLOAD": "a", "SLICEWRIGHT_RUN": found.run} == found.env
    assert (
        found.annotations,
        found.backoff_limit,
        found.on_change,
        found.priority_class,
        found.left_out,
    ) == ({}, 0, "Replace", "", ())


def test_fixed_workload_has_no_run() -> None:
    """Its object is called as it is, with neither the label nor the env of a run."""
    found = plan("naming: Fixed\ntpu: v5litepod-16\n" + PROGRAM)

    assert (found.run, found.name, found.env) == ("", "a", {})
    assert found.labels == {"slicewright.dev/workload": "a"}


PATTERNS = {
    "jobset": "tpu: v5litepod-16\n" + PROGRAM,
    "job": "api: Job\ntpu: v5litepod-4\n" + PROGRAM,
    "indexed-job": "api: Job\ntpu: v5litepod-16\n" + PROGRAM,
    "pathways": PATHWAYS % "",
    "pathways-headless": PATHWAYS.replace(PROGRAM, "") % ", headless: true",
    "pathwaysjob": "api: PathwaysJob\n" + PATHWAYS % "",
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_pattern_follows_from_api_shape_and_pathways(pattern: str) -> None:
    """Each of the six bases has its workloads."""
    assert pattern == plan(PATTERNS[pattern]).pattern


def test_labels_of_kueue_follow_from_fields() -> None:
    """The queue and the time limit are labels; the priority is a component's, with the plan's value."""
    spec = (
        "queueName: q\nmaxExecutionTimeSeconds: 60\nworkloadPriorityClassName: high\ntpu: v5e-16\n" + PROGRAM
    )

    found = plan(spec, metadata=", labels: {team: x}, annotations: {note: y}")

    assert (
        found.labels["kueue.x-k8s.io/queue-name"],
        found.labels["kueue.x-k8s.io/max-exec-time-seconds"],
        found.labels["team"],
    ) == ("q", "60", "x")
    assert (found.priority_class, found.annotations) == ("high", {"note": "y"})
    assert found.components == ("bases/components/priority/jobset",)


SELECTORS = {
    "OnDemand": ({}, ""),
    "Spot": ({"cloud.google.com/gke-spot": "true"}, "spot"),
    "FlexStart": ({"cloud.google.com/gke-flex-start": "true"}, "flex-start"),
    "{type: Reservation, name: r}": ({"cloud.google.com/reservation-name": "r"}, "reservation"),
    "{type: Reservation, name: r, project: my-project, block: b}": (
        {
            "cloud.google.com/reservation-name": "r",
            "cloud.google.com/reservation-project": "my-project",
            "cloud.google.com/reservation-blocks": "b",
        },
        "reservation",
    ),
    "{type: Reservation, name: r, block: b, subBlock: s}": (
        {
            "cloud.google.com/reservation-name": "r",
            "cloud.google.com/reservation-blocks": "b",
            "cloud.google.com/reservation-subblocks": "s",
        },
        "reservation",
    ),
    "{type: ComputeClass, name: c}": ({"cloud.google.com/compute-class": "c"}, "compute-class"),
}


@pytest.mark.parametrize("provisioning", SELECTORS)
def test_provisioning_adds_selectors_and_a_component(provisioning: str) -> None:
    """Each way to have nodes is a set of node labels, beside those of the shape."""
    selector, component = SELECTORS[provisioning]
    shape = {
        "cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
        "cloud.google.com/gke-tpu-topology": "4x4",
    }

    found = plan(f"tpu: v6e-16\nprovisioning: {provisioning}\n" + PROGRAM)

    assert {**shape, **selector} == found.node_selector
    assert ((f"bases/components/{component}/jobset",) if component else ()) == found.components


@pytest.mark.parametrize("way", ["OnDemand", "Spot", "FlexStart", "{type: Reservation, name: r}"])
def test_run_time_is_selected_where_gke_makes_the_nodes(way: str) -> None:
    """Pods select a run time where GKE makes the nodes for them: on Autopilot."""
    key = "cloud.google.com/gke-max-run-duration-seconds"
    wanted = workload(f"tpu: v6e-16\nprovisioning: {way}\nmaxRunDurationSeconds: 600\n" + PROGRAM)
    pools = f"pools: [{{name: a, tpu: v6e-16, provisioning: {way}, maxRunDurationSeconds: 600}}]"

    (standard,), no_problems = planned(wanted, clusters=cluster(pools))
    (autopilot,), _ = planned(wanted, clusters=cluster(f"mode: Autopilot\n{pools}"))

    assert () == no_problems
    assert key not in standard.node_selector
    assert {**standard.node_selector, key: "600"} == autopilot.node_selector


def test_flex_start_may_be_limited() -> None:
    """The time of queued flex-start is an annotation of the run, from which Kueue makes its request."""
    limited = "tpu: v6e-16\nmaxRunDurationSeconds: 600\nqueueName: q\n" + PROGRAM

    queued = plan(limited + "provisioning: FlexStartQueued")
    longest = plan("tpu: v6e-16\nqueueName: q\nprovisioning: FlexStartQueued\n" + PROGRAM)

    assert queued.annotations == {"provreq.kueue.x-k8s.io/maxRunDurationSeconds": "600"}
    assert longest.annotations == {"provreq.kueue.x-k8s.io/maxRunDurationSeconds": "604800"}


def test_shape_on_several_machine_types_is_told_apart() -> None:
    """2x4 on one host of eight chips and on two of four differ in a label only."""
    one = plan("tpu: {accelerator: v6e, topology: 2x4, machineType: ct6e-standard-8t}\n" + PROGRAM)
    two = plan("tpu: v6e-8\n" + PROGRAM)

    assert (
        one.node_selector["cloud.google.com/gke-accelerator-count"],
        one.hosts,
        one.exclusive_topology,
    ) == ("8", 1, False)
    assert (
        two.node_selector["cloud.google.com/gke-accelerator-count"],
        two.hosts,
        two.exclusive_topology,
    ) == ("4", 2, True)


COMPONENTS = {
    "hostNetwork: true": "host-network",
    "privileged: true": "privileged",
    "gcsFuse: [{bucket: b, mountPath: /b}]": "gcs-fuse",
    "failurePolicy: {onHostMaintenance: Restart}": "host-maintenance",
    "workloadPriorityClassName: high": "priority",
}


@pytest.mark.parametrize("field", COMPONENTS)
@pytest.mark.parametrize(
    ("pattern", "variant"), [("jobset", "jobset"), ("job", "job"), ("indexed-job", "job")]
)
def test_concern_is_a_component_in_the_variant_of_its_pattern(field: str, pattern: str, variant: str) -> None:
    """What is orthogonal to the pattern is a component, one folder for each kind of object."""
    found = plan(PATTERNS[pattern] + field)

    assert (f"bases/components/{COMPONENTS[field]}/{variant}",) == found.components


def test_priority_of_pathways_is_that_of_every_jobset() -> None:
    """Every JobSet carries its priority in the same place, so Pathways has no variant of its own."""
    found = plan(PATTERNS["pathways"] + "workloadPriorityClassName: high")

    assert found.components == ("bases/components/priority/jobset",)


def test_parts_of_pathways_are_components_of_the_direct_form_only() -> None:
    """A PathwaysJob's controller adds the sidecar and places the head by itself."""
    asked = ", colocatedPython: {image: x}, deploymentMode: colocate_head_with_workers"

    assert plan(PATHWAYS % asked).components == (
        "bases/components/colocated-python/pathways",
        "bases/components/colocate-head/pathways",
    )
    assert plan("api: PathwaysJob\n" + PATHWAYS % asked).components == ()


def test_components_of_the_user_come_last() -> None:
    """They see what the generator's own components made."""
    found = plan("components: [mine/b, mine/a]\nprivileged: true\ntpu: v5litepod-8\n" + PROGRAM)

    assert found.components == ("bases/components/privileged/jobset", "mine/b", "mine/a")


def test_autopilot_leaves_out_what_it_refuses() -> None:
    """Host network and privileges are rendered on Standard clusters only; the plan says what was left out."""
    spec = "hostNetwork: true\nprivileged: true\ntpu: v5litepod-8\n" + PROGRAM
    autopilot = cluster("mode: Autopilot\npools: [{name: tpus, tpu: v5litepod-8}]")

    assert plan(spec, clusters=autopilot).left_out == ("hostNetwork", "privileged")
    assert plan(spec, clusters=autopilot).components == ()
    assert plan("tpu: v5litepod-8\n" + PROGRAM, clusters=autopilot).left_out == ()


PROGRAMS = {
    "container: {image: x}": "main",
    "container: {name: jax, image: x}": "jax",
    "podTemplate: {spec: {containers: [{name: only, image: x}]}}": "only",
    "podTemplate: {spec: {containers: [{name: main, image: x}, {name: log, image: y}]}}": "main",
    "container: {image: x}\npodTemplate: {spec: {containers: [{name: log, image: y}]}}": "main",
    "container: {name: jax, image: x}\npathways: {pathwaysDir: 'gs://b/p'}": "jax",
    "container: {image: x}\npathways: {pathwaysDir: 'gs://b/p', mainContainerName: app}": "app",
    "pathways: {pathwaysDir: 'gs://b', head: {podTemplate: {spec: {containers: [{name: h, image: x}]}}}}": (
        "h"
    ),
}


@pytest.mark.parametrize("spec", PROGRAMS)
def test_container_of_the_program_has_one_name(spec: str) -> None:
    """It is the container's own name, else the one that Pathways is told, else the only one, else `main`."""
    assert PROGRAMS[spec] == plan("tpu: v5litepod-16\n" + spec).main_container


HEADS = {
    "the only CPU pool": ("", "cpu-np"),
    "the pool that is named": (", head: {pool: cpu-np}", "cpu-np"),
    "its own selector": (", head: {podTemplate: {spec: {nodeSelector: {a: b}}}}", ""),
    "its own affinity": (", head: {podTemplate: {spec: {affinity: {}}}}", ""),
    "beside the workers": (", deploymentMode: colocate_head_with_workers", ""),
}


@pytest.mark.parametrize("where", HEADS)
def test_head_of_pathways_has_a_place(where: str) -> None:
    """It runs on the pool that is named, else on the only CPU pool, unless it says itself where."""
    words, expected = HEADS[where]

    found = plan(PATHWAYS % words)

    assert found.pathways is not None
    assert expected == found.pathways.head_node_pool


@pytest.mark.parametrize(
    "pools", ["", ", {name: x, machineType: n2-standard-8}, {name: y, machineType: n2-x}"]
)
def test_head_of_pathways_is_left_to_the_scheduler_where_there_is_no_choice(pools: str) -> None:
    """Without a CPU pool, or with several, nothing is guessed."""
    found = plan(PATHWAYS % "", clusters=cluster(f"pools: [{{name: a, tpu: v5e-16}}{pools}]"))

    assert found.pathways is not None
    assert found.pathways.head_node_pool == ""


RESTARTS = {
    "": 16,
    ", elasticSlices: 1": 4,
    ", elasticSlices: 1, maxSliceRestarts: 3": 12,
    ", elasticSlices: 1, maxSliceRestarts: 0": 16,
}


@pytest.mark.parametrize("words", RESTARTS)
def test_workers_of_pathways_fail_as_often_as_their_controller_says(words: str) -> None:
    """Four failures a host, or with elastic slices the restarts of a slice for each host."""
    found = plan(PATHWAYS % words)

    assert found.pathways is not None
    assert RESTARTS[words] == found.pathways.worker_backoff_limit


def test_auxiliary_job_goes_to_its_pool() -> None:
    """The name of a CPU pool becomes that of its node pool."""
    spec = "tpu: v5litepod-8\n" + PROGRAM + "auxiliaryJobs: [{name: tb, pool: cpu, backoffLimit: 2, "
    pools = "pools: [{name: cpu, machineType: n2-standard-8, nodePoolNames: [np1]}, {name: a, tpu: v5e-8}]"

    found = plan(spec + "podTemplate: {spec: {containers: [{name: m, image: x}]}}}]", clusters=cluster(pools))

    (job,) = found.auxiliaries
    assert (job.name, job.node_pool, job.backoff_limit) == ("tb", "np1", 2)


def test_auxiliary_job_of_a_component_needs_no_image() -> None:
    """A component may bring the job along with its image."""
    spec = "tpu: v5litepod-8\n" + PROGRAM + "components: [mine/tb]\n"

    found = plan(spec + "auxiliaryJobs: [{name: tb, pool: cpu-np, podTemplate: {}}]")

    assert [job.name for job in found.auxiliaries] == ["tb"]


FLEX = "tpu: v6e-8\nprovisioning: FlexStart\n"
FLEX_POOL = "tpu: v6e-8, provisioning: FlexStart"
QUIET = {
    "a cluster without TPU pools": ("tpu: v6e-8\n", "pools: [{name: cpu, machineType: n2-standard-8}]"),
    "a compute class, which makes its own nodes": (
        "tpu: v6e-8\nprovisioning: {type: ComputeClass, name: c}\n",
        "pools: [{name: a, tpu: v5e-8}]",
    ),
    "a pool of the shape and the way": (
        "tpu: v6e-8\nprovisioning: Spot\n",
        "pools: [{name: b, tpu: v6e-8}, {name: a, tpu: v6e-8, provisioning: Spot}]",
    ),
    "a pool whose nodes live for as long as the run may": (
        f"{FLEX}maxRunDurationSeconds: 3600\n",
        f"pools: [{{name: b, {FLEX_POOL}}}, {{name: a, {FLEX_POOL}, maxRunDurationSeconds: 3600}}]",
    ),
    "a run that wants no time": (FLEX, f"pools: [{{name: a, {FLEX_POOL}, maxRunDurationSeconds: 3600}}]"),
    "a queued run, whose time is that of its request": (
        f"{FLEX.strip()}Queued\nqueueName: q\nmaxRunDurationSeconds: 3600\n",
        f"pools: [{{name: a, {FLEX_POOL}Queued}}]",
    ),
    "an Autopilot cluster, which makes nodes for the time that pods select": (
        f"{FLEX}maxRunDurationSeconds: 3600\n",
        f"mode: Autopilot\npools: [{{name: a, {FLEX_POOL}}}]",
    ),
}


@pytest.mark.parametrize("when", QUIET)
def test_capacity_is_not_warned_about(when: str) -> None:
    """Only a run that would never start is worth a warning."""
    spec, pools = QUIET[when]

    _, problems = planned(workload(spec + PROGRAM), clusters=cluster(pools))

    assert problems == ()


def test_cluster_that_says_nothing_of_queues_is_trusted() -> None:
    """Any queue name is taken where the TPUCluster has no clusterQueues."""
    assert plan("queueName: any\ntpu: v5e-8\n" + PROGRAM).labels["kueue.x-k8s.io/queue-name"] == "any"


@pytest.mark.parametrize(("version", "ids"), [("v0.9.1", ["FIELD002"]), ("v0.10.0", [])])
def test_exit_codes_and_hosts_are_told_apart_by_messages(version: str, ids: list[str]) -> None:
    """JobSet matches the messages of failed Jobs from v0.10 on; before, one of the two fields has to go."""
    text = cluster(f"versions: {{jobset: {version}}}\n{CLUSTER}")
    both = "failurePolicy: {maxRestarts: 1, restartOnExitCodes: [42], onHostMaintenance: Restart}\n"
    _, problems = planned(workload("tpu: v5litepod-8\n" + both + PROGRAM), clusters=text)

    assert ids == [problem.id for problem in problems]
