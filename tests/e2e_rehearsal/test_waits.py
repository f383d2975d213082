"""What a rehearsal says would have admitted a run does so on the real Kueue, asked by `--what-if`."""

import json
import re
from typing import NamedTuple

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from .command import rehearsed
from .kit import ROOT, play, run, spec

pytestmark = pytest.mark.workflow  # plays on test beds of their own

CLUSTER = """
pools:
- {name: own, tpu: v5litepod-8, slices: 2}
- {name: lent, tpu: v4-16, slices: 2}
- {name: borrowed, tpu: v5litepod-32, slices: 3}
- {name: flex, tpu: v5litepod-16, slices: 1, provisioning: FlexStart}
priorityClasses: [{name: middle, value: 500}, {name: high, value: 1000}]
cohorts: [{name: shared}, {name: three}]
clusterQueues:
- name: own
  quota: [{pool: own, nominalSlices: 1}, {pool: flex, nominalSlices: 1}]
  preemption: {withinClusterQueue: LowerPriority}
  localQueues: [{name: own}]
- name: owner
  cohortName: shared
  quota: [{pool: lent, nominalSlices: 1}]
  localQueues: [{name: owner}]
- name: guest
  cohortName: shared
  quota: [{pool: lent, nominalSlices: 1}]
  localQueues: [{name: guest}]
- name: asks
  cohortName: three
  quota: [{pool: borrowed, nominalSlices: 1}]
  localQueues: [{name: asks}]
- name: has
  cohortName: three
  quota: [{pool: borrowed, nominalSlices: 1}]
  localQueues: [{name: has}]
- name: idle
  cohortName: three
  quota: [{pool: borrowed, nominalSlices: 1}]
"""
RUNS = {
    "first": ("v5litepod-8", "queueName: own\nworkloadPriorityClassName: middle\nrehearsal: {duration: 20m}"),
    "second": ("v5litepod-8", "queueName: own\nrehearsal: {duration: 5m, submitAt: 3m}"),
    "guest": ("v4-16", "queueName: guest\nslices: 2\nrehearsal: {duration: 20m}"),
    "owner": ("v4-16", "queueName: owner\nrehearsal: {duration: 5m, submitAt: 3m}"),
    "has": ("v5litepod-32", "queueName: has\nslices: 2\nrehearsal: {duration: 20m}"),
    "asks": ("v5litepod-32", "queueName: asks\nslices: 2\nrehearsal: {duration: 5m, submitAt: 3m}"),
    "flex": ("v5litepod-16", "queueName: own\nrehearsal: {duration: 5m}"),
}
SPEED = 20.0


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory, bed: Bed) -> Object:
    """Play the scene."""
    repo = Repo(tmp_path_factory.mktemp("waits"))
    repo.cluster("c1", CLUSTER)
    for name, (tpu, lines) in RUNS.items():
        repo.workload(name, spec(lines, tpu=tpu))
    return play(bed, repo, speed=SPEED, deadline=3600.0, delay=480.0, idle=180.0)


def longest(record: Object, name: str) -> Object:
    """Return the longest wait of a run."""
    wait: Object = max(run(record, name)["waits"], key=lambda wait: wait["end"] - wait["start"])
    return wait


def remedies(wait: Object) -> list[tuple[str, int, int | None]]:
    """Return the changes that are said to admit the run."""
    (lack,) = wait["lacks"]
    return [(entry["kind"], entry["chips"], entry["priorityAbove"]) for entry in lack["remedies"]]


def test_waits_name_holders_and_remedies(record: Object) -> None:
    """A run that waits for quota says who holds it, and what Kueue's policies ask for."""
    second, owner, asks = (longest(record, name) for name in ("second", "owner", "asks"))
    holders = [[entry["run"] for entry in wait["lacks"][0]["holders"]] for wait in (second, owner, asks)]

    assert [["default/first"], ["default/guest"], ["default/has"]] == holders
    assert [("Reclaim", 32, 0), ("Nodes", 32, None)] == remedies(asks)
    assert [("Priority", 0, 500), ("NominalQuota", 8, None)] == remedies(second)
    assert [("Reclaim", 8, None), ("Nodes", 8, None)] == remedies(owner)


def test_wait_for_nodes_is_not_about_quota(record: Object) -> None:
    """A run that has quota and waits for flex-start nodes is told about nodes alone."""
    flex = longest(record, "flex")

    assert ("NoNodes", [], True) == (flex["reason"], flex["lacks"], "nodes are available" in flex["said"])


class Scene(NamedTuple):
    """A pool and the queue that uses it, both with the name of the scene, as has the run that waits."""

    tpu: str
    slices: int
    chips: int
    """Chips of a slice."""
    queue: str
    """More of its ClusterQueue."""
    waits: str
    """The spec of the run that waits."""
    others: dict[str, tuple[str, str]]
    """Queues and specs of other runs."""
    queues: tuple[str, ...] = ()
    """Other ClusterQueues of its cohort, which has the name of the scene, with one slice each."""


def takes(minutes: int = 20, at: int = 0, more: str = "slices: 1") -> str:
    """Return the spec of a run."""
    return f"{more}\nrehearsal: {{duration: {minutes}m, submitAt: {at}m}}"


def preempts(policies: str) -> str:
    """Return the policies of a queue that owns one slice and may borrow."""
    return f"preemption: {{{policies}}}"


HIGH, MIDDLE = ("workloadPriorityClassName: high", "workloadPriorityClassName: middle")
WAITS, BOTH = takes(5, at=3), takes(5, at=3, more="slices: 2")
GUEST = {"guest": ("guest", takes(more="slices: 2"))}
BESIDE = ("guest", "idle")
BOARD = """
auxiliaryJobs:
- name: board
  pool: cpu
  podTemplate:
    spec:
      containers:
      - name: board
        image: "python:3.12.11"
        command: [sleep]
        resources: {requests: {cpu: "1", memory: 1Gi}}
"""
SCENES = {
    "priority": Scene(
        "v5litepod-8",
        2,
        8,
        preempts("withinClusterQueue: LowerPriority"),
        WAITS,
        {"first": ("", takes(more=MIDDLE))},
    ),
    "preemption": Scene("v5litepod-16", 1, 16, "", WAITS, {"first": ("", takes())}),
    "reclaim": Scene("v4-16", 2, 8, "", WAITS, GUEST, ("guest",)),
    "reclaim-lower": Scene(
        "v4-32", 3, 16, preempts("reclaimWithinCohort: LowerPriority"), WAITS, GUEST, ("guest",)
    ),
    "borrow": Scene("v5litepod-32", 3, 32, "", BOTH, GUEST, BESIDE),
    "borrow-priority": Scene(
        "v5litepod-64",
        3,
        64,
        preempts("reclaimWithinCohort: Any, borrowWithinCohort: {policy: LowerPriority}"),
        BOTH,
        GUEST,
        BESIDE,
    ),
    "borrow-policy": Scene(
        "v6e-16",
        3,
        16,
        preempts("reclaimWithinCohort: LowerPriority"),
        takes(5, at=3, more=f"slices: 2\n{HIGH}"),
        GUEST,
        BESIDE,
    ),
    "limit": Scene("v4-64", 2, 32, "", WAITS, {"first": ("", takes())}, ("idle",)),
    "cpu-quota": Scene(
        "v6e-32", 2, 32, preempts("reclaimWithinCohort: Any"), f"{WAITS}{BOARD}", GUEST, ("guest",)
    ),
    "strict": Scene(
        "v4-128",
        2,
        64,
        "",
        BOTH,
        {
            "one": ("", takes(10)),
            "two": ("", takes(20, at=2)),
            "three": ("", takes(20, at=5)),
            "four": ("", takes(20, at=6)),
        },
    ),
    "either": Scene(
        "v6e-64",
        1,
        64,
        preempts("withinClusterQueue: LowerPriority"),
        takes(5, at=3, more="alternativeProvisioning: [Spot]"),
        {"first": ("", takes()), "second": ("", takes(more="provisioning: Spot"))},
    ),
}
"""Together they print every kind of remedy."""
CLASSES = "priorityClasses: [{name: middle, value: 500}, {name: high, value: 1000}]"


def cluster(scenes: dict[str, Scene], more: str = "") -> str:
    """Return a cluster with the pools and queues of some scenes."""
    pools, queues = ["{name: cpu, machineType: n2-standard-16, nodes: 2}"], []
    for name, scene in scenes.items():
        pools.append(f"{{name: {name}, tpu: {scene.tpu}, slices: {scene.slices}}}")
        slices = {"strict": 2}.get(name, 1)
        quota = f"{{pool: {name}, nominalSlices: {slices}{', borrowingLimit: 0' if name == 'limit' else ''}}}"
        if name == "either":
            pools.append(f"{{name: {name}-spot, tpu: {scene.tpu}, slices: 1, provisioning: Spot}}")
            quota += f", {{pool: {name}-spot, nominalSlices: 1}}"
        of_guest = ""
        if name == "cpu-quota":
            quota += ', {pool: cpu, nominalQuota: {cpu: "0", memory: "0"}}'
            of_guest = ", {pool: cpu, nominalNodes: 2}"
        cohort = f"cohortName: {name}, " if scene.queues else ""
        own = f"{scene.queue}, " if scene.queue else ""
        queues.append(f"{{name: {name}, {cohort}{own}quota: [{quota}], localQueues: [{{name: {name}}}]}}")
        queues += [
            f"{{name: {name}-{other}, {cohort}quota: [{{pool: {name}, nominalSlices: 1}}{of_guest}], "
            f"localQueues: [{{name: {name}-{other}}}]}}"
            for other in scene.queues
        ]
    cohorts = ", ".join(f"{{name: {name}}}" for name, scene in scenes.items() if scene.queues)
    return (
        "pools:\n- "
        + "\n- ".join(pools)
        + "\nclusterQueues:\n- "
        + "\n- ".join(queues)
        + f"\ncohorts: [{cohorts}]\n{CLASSES}\n{more}"
    )


def change(name: str, scene: Scene, flavor: str, message: str) -> str:
    """Return the changes of `--what-if` that do what a remedy says."""
    pool = f"{name}-spot" if flavor.endswith("-spot") else name
    queue, quota = f"clusterQueues.{name}", f"clusterQueues.{name}.quota.{pool}"
    changes = [
        f"{queue}.{'' if field == 'queueingStrategy' else 'preemption.'}{field}={value}"
        for field, value in re.findall(r"([a-zA-Z.]+): (\w+)", message)
    ]
    if "give it a priority above" in message:
        changes.append(f"workloads.{name}.workloadPriorityClassName=high")
    numbers = {
        f"pools.{pool}.slices": r"add (\d+) chips to the pool of flavor",
        f"{quota}.nominalSlices": r"(\d+) (?:chips )?to the nominal quota of ClusterQueue",
        f"{quota}.borrowingLimit": r"raise the borrowingLimit of ClusterQueue \S+ by (\d+) chips",
    }
    for path, pattern in numbers.items():
        if found := re.search(pattern, message):
            changes.append(f"{path}=+{int(found[1]) // scene.chips}")
    if found := re.search(r"add (\S+) cpu and (\S+) memory to the nominal quota", message):
        value = json.dumps({"cpu": found[1], "memory": found[2]})
        changes.append(f"{queue}.quota.cpu.nominalQuota={value}")
    return ",".join(changes)


FAIR = "kueue: {fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}}"


@pytest.mark.parametrize(
    ("scenes", "more", "kinds"),
    [
        (SCENES, "", None),
        ({"reclaim": SCENES["reclaim"]}, FAIR, {"Reclaim", "Nodes"}),
    ],
    ids=["classical", "fair"],
)
def test_each_remedy_that_is_printed_starts_the_run_earlier(
    empty: Repo, scenes: dict[str, Scene], more: str, kinds: set[str] | None
) -> None:
    """`--what-if` makes what a rehearsal says: all remedies of all scenes, one of each scene at a time."""
    empty.cluster("c1", cluster(scenes, more))
    for name, scene in scenes.items():
        empty.workload(name, spec(f"queueName: {name}\n{scene.waits}", tpu=scene.tpu))
        for other, (queue, lines) in scene.others.items():
            local = f"{name}-{queue}" if queue else name
            empty.workload(f"{name}-{other}", spec(f"queueName: {local}\n{lines}", tpu=scene.tpu))
    empty.run("render")
    options = ("--speed", str(SPEED), "--no-pods", "-o", "json")
    code, out, said = rehearsed(empty, "c1", *options)
    assert 0 == code, said + out
    (base,) = json.loads(out)["rehearsals"]
    printed = {
        name: [
            (remedy["kind"], change(name, scene, lack["flavor"], remedy["message"]))
            for lack in longest(base, name)["lacks"]
            for remedy in lack["remedies"]
        ]
        for name, scene in scenes.items()
    }
    rounds = [
        {name: remedies[index] for name, remedies in printed.items() if index < len(remedies)}
        for index in range(max(map(len, printed.values())))
    ]
    asked = [word for made in rounds for word in ("--what-if", ",".join(text for _, text in made.values()))]
    code, out, said = rehearsed(empty, "c1", *asked, *options)
    assert 0 == code, said + out
    before, *variants = [
        {entry["run"].partition("/")[2]: entry["wait"] for entry in variant["workloads"]}
        for variant in json.loads(out)["variants"]
    ]

    late = [
        (name, made, before[name], waited[name])
        for of_round, waited in zip(rounds, variants, strict=True)
        for name, made in of_round.items()
        if waited[name] > before[name] - 10 * 60
    ]
    assert [] == late
    assert min(before[name] for name in scenes) > 10 * 60
    assert (kinds or _all_kinds()) == {kind for remedies in printed.values() for kind, _ in remedies}


def _all_kinds() -> set[str]:
    """Return the kinds of remedies that the schema of the report names."""
    text = (ROOT / "schemas" / "slicewright" / "rehearsal.json").read_text(encoding="utf-8")
    (words,) = re.findall(r'"What changes.",\s+"type": "string",\s+"enum": \[([^]]+)\]', text)
    return set(re.findall(r"\w+", words))


MOVES = """
pools:
- {name: standing, tpu: v5litepod-8, slices: 1}
- {name: spot, tpu: v5litepod-8, slices: 1, provisioning: Spot}
priorityClasses: [{name: high, value: 1000}]
clusterQueues:
- name: q
  quota: [{pool: standing, nominalSlices: 1}, {pool: spot, nominalSlices: 1}]
  preemption: {withinClusterQueue: LowerPriority}
  localQueues: [{name: q}]
"""


@pytest.mark.parametrize("has_pods", [True, False])
def test_run_that_moves_to_another_flavor_waits_for_nodes_of_the_first(
    empty: Repo, bed: Bed, *, has_pods: bool
) -> None:
    """It is preempted on Spot nodes and gets quota on demand, but JobSet leaves the label of Spot nodes."""
    empty.cluster("c1", MOVES)
    for name, lines in {
        "stands": "rehearsal: {duration: 10m}",
        "moves": "alternativeProvisioning: [Spot]\nrehearsal: {duration: 20m, submitAt: 2m}",
        "urgent": "provisioning: Spot\nworkloadPriorityClassName: high\n"
        "rehearsal: {duration: 30m, submitAt: 5m}",
    }.items():
        empty.workload(name, spec(f"queueName: q\n{lines}"))
    record = play(bed, empty, speed=SPEED, deadline=7200.0, has_pods=has_pods)
    waited = {wait["reason"]: wait["message"] for wait in run(record, "moves")["waits"]}

    assert "OtherFlavor" in waited
    label = "cloud.google.com/gke-spot=true of flavor v5e-2x4-4t-spot"
    assert f"its pods still select {label}" in waited["OtherFlavor"]
