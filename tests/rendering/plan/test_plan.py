"""What a plan decides: each value with the field, the shape or the cluster that it follows from."""

import pytest

from .kit import CLUSTER, PROGRAM, cluster, plan, planned, workload

PATHWAYS = "tpu: v5litepod-16\nslices: 2\n" + PROGRAM + "pathways: {pathwaysDir: 'gs://b/p'%s}\n"


def test_smallest_workload_has_a_plan_of_defaults() -> None:
    """One slice as a JobSet, hashed, in namespace default, with nothing that was not asked for."""
    found = plan("tpu: v5litepod-16\n" + PROGRAM)

    assert (found.pattern, found.base, found.components, found.slices, found.hosts) == (
        "jobset",
        "bases/jobset",
        (),
        1,
        4,
    )
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
