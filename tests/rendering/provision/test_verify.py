"""`verify.sh`, run by a real bash against a stub of gcloud."""

from pathlib import Path

import pytest

from .kit import AUTOPILOT, HELD, PLACE, Machine, describe, machine, site

pytestmark = pytest.mark.slow  # whole repositories are rendered, compared or read

ROWS = {
    "big-0": "big-0|RUNNING|tpu7x-standard-4t||c1-big||||||||us-central1-c",
    "big-1": "big-1|RUNNING|tpu7x-standard-4t||c1-big||||||||us-central1-c",
    "theirs-0": "theirs-0|RUNNING|tpu7x-standard-4t||made-elsewhere|True||||True||2|us-central1-c",
    "small-0": "small-0|RUNNING|ct6e-standard-4t||||False|True||False|||us-central1-c",
    "small-1": "small-1|RUNNING|ct6e-standard-4t|||||True||True|0|1|us-central1-c",
    "queued-0": "queued-0|RUNNING|ct6e-standard-4t|4x4||True|True||NO_RESERVATION|True||4|us-central1-c",
    "bound-0": "bound-0|RUNNING|ct5lp-hightpu-4t|4x4|||||SPECIFIC_RESERVATION||||us-central1-c",
    "classy-0": "classy-0|RUNNING|ct5lp-hightpu-4t|4x4|||||NO_RESERVATION||||us-central1-c",
    "cpu": "cpu|RUNNING|n2-standard-8||||||||||us-central1-c",
    "default-pool": "default-pool|RUNNING|e2-medium||||||||||us-central1-c",
}
WINDOW = "2026-01-03T02:00:00Z|2026-01-03T14:00:00Z|FREQ=WEEKLY;BYDAY=SA,SU"
COUNTS = {"big-0": 16, "big-1": 16, "small-0": 1, "queued-0": 4, "bound-0": 4, "classy-0": 4, "cpu": 2}


def test_verify(rich: Machine) -> None:
    """A cluster as the file has it passes, and nothing is changed."""
    describe(rich, ROWS, COUNTS)
    done = rich.run("verify.sh")

    assert (0, "", []) == (done.code, done.err, done.changes)
    assert done.out == "cluster c1 exists, and its 9 node pools are as clusters/c1.yaml says\n"


@pytest.mark.parametrize(
    ("name", "old", "new", "line"),
    [
        ("big-0", "RUNNING", "ERROR", "big-0 status RUNNING ERROR"),
        ("big-0", "c1-big", "", "big-0 workload-policy c1-big -"),
        ("big-0", "-4t|", "-1t|", "big-0 machine-type tpu7x-standard-4t tpu7x-standard-1t"),
        ("queued-0", "4x4", "2x4", "queued-0 topology 4x4 2x4"),
        ("queued-0", "True|True", "True|", "queued-0 provisioning FlexStartQueued FlexStart"),
        ("queued-0", "True|True", "|True", "queued-0 provisioning FlexStartQueued Queued"),
        ("theirs-0", "elsewhere|True", "elsewhere|", "theirs-0 provisioning FlexStart OnDemand"),
        ("theirs-0", "||2|", "||4|", "theirs-0 autoscaling 0-2 0-4"),
        ("theirs-0", "True||2|", "|||", "theirs-0 autoscaling 0-2 -"),
        ("bound-0", "SPECIFIC_", "NO_", "bound-0 provisioning Reservation OnDemand"),
        ("small-0", "False|True", "|", "small-0 provisioning Spot OnDemand"),
        (
            "cpu",
            "us-central1-c",
            "us-central1-b,us-central1-a",
            "cpu zones us-central1-c us-central1-a,us-central1-b",
        ),
    ],
)
def test_verify_finds_a_difference(rich: Machine, name: str, old: str, new: str, line: str) -> None:
    """A field that is not as the file has it is shown in a table, and the exit code is 1."""
    changed = ROWS[name].replace(old, new)
    assert changed != ROWS[name]
    describe(rich, {**ROWS, name: changed}, COUNTS)
    done = rich.run("verify.sh")

    assert done.code == 1
    assert [row.split() for row in done.out.splitlines()] == [
        ["WHAT", "FIELD", "WANTED", "FOUND"],
        line.split(),
    ]


@pytest.mark.parametrize(
    ("counts", "lines"),
    [
        ({"big-0": 15}, ["big-0 nodes 16 15"]),
        ({"big-0": 17, "small-1": 2}, ["big-0 nodes 16 17", "small-1 nodes 0-1 2"]),
        ({"cpu": 0}, ["cpu nodes 2 0"]),
        ({"small-1": 1, "theirs-0": 2}, []),
    ],
)
def test_verify_counts_nodes(rich: Machine, counts: dict[str, int], lines: list[str]) -> None:
    """A node pool has as many running nodes as it was made with, or as many as it may scale to."""
    describe(rich, ROWS, COUNTS | counts)
    done = rich.run("verify.sh")

    assert (1 if lines else 0) == done.code
    assert [line.split() for line in lines] == [row.split() for row in done.out.splitlines()[1:]]


def test_verify_without_a_node_pool(rich: Machine) -> None:
    """A node pool that is not there is a difference, whatever others are called like it."""
    rows = {name: row for name, row in ROWS.items() if name != "big-1"}
    describe(rich, rows | {"big-10": ROWS["big-1"].replace("big-1", "big-10")}, COUNTS)
    done = rich.run("verify.sh")

    assert (1, "big-1 node-pool present absent") == (done.code, " ".join(done.out.splitlines()[1].split()))


@pytest.mark.parametrize(
    ("row", "code", "out"),
    [
        ("RUNNING|True", 0, "cluster c1 exists, and its mode is as clusters/c1.yaml says"),
        ("RECONCILING|True", 0, "cluster c1 exists, and its mode is as clusters/c1.yaml says"),
        ("RUNNING|", 1, "c1 mode Autopilot Standard"),
        ("ERROR|True", 1, "c1 status RUNNING ERROR"),
        ("", 1, "c1 cluster present absent"),
    ],
)
def test_verify_of_a_cluster(tmp_path: Path, row: str, code: int, out: str) -> None:
    """The cluster itself must be there, run, and be of its mode; on Autopilot that is all."""
    host = machine(tmp_path, site(AUTOPILOT))
    host.has("cluster-row", *([row] if row else []))
    host.has("exclusion", HELD)
    done = host.run("verify.sh")

    assert (code, out) == (done.code, " ".join(done.out.splitlines()[-1].split()))


@pytest.mark.parametrize(
    ("exclusion", "window", "lines"),
    [
        (HELD, WINDOW, []),
        (
            HELD,
            WINDOW.replace("SA,SU", "SA"),
            ["c1 window-recurs FREQ=WEEKLY;BYDAY=SA,SU FREQ=WEEKLY;BYDAY=SA"],
        ),
        ("||", WINDOW, ["no-minor-or-node-upgrades exclusion present absent"]),
        (
            "||2026-12-01T00:00:00Z",
            WINDOW,
            [
                "no-minor-or-node-upgrades scope NO_MINOR_OR_NODE_UPGRADES NO_UPGRADES",
                "no-minor-or-node-upgrades until UNTIL_END_OF_SUPPORT 2026-12-01T00:00:00Z",
            ],
        ),
    ],
)
def test_verify_of_maintenance(tmp_path: Path, exclusion: str, window: str, lines: list[str]) -> None:
    """A cluster that GKE may upgrade at another time than its file says differs."""
    hours = "startTime: 2026-01-03T02:00:00Z, endTime: 2026-01-03T14:00:00Z"
    repeats = "recurrence: 'FREQ=WEEKLY;BYDAY=SA,SU'"
    spec = AUTOPILOT.replace("pools:", f"gke: {{maintenanceWindow: {{{hours}, {repeats}}}}}\npools:")
    host = machine(tmp_path, site(spec))
    host.has("cluster-row", "RUNNING|True")
    host.has("exclusion", exclusion)
    host.has("window", window)
    done = host.run("verify.sh")

    assert (1 if lines else 0) == done.code
    assert lines == [" ".join(line.split()) for line in done.out.splitlines()[1:]]


def test_verify_of_host_maintenance(tmp_path: Path) -> None:
    """A pool with another interval of host maintenance differs; without the field any will do."""
    config = "nodeConfig: {hostMaintenanceInterval: PERIODIC}"
    spec = f"{PLACE}pools: [{{name: a, tpu: v6e-4, {config}}}, {{name: b, tpu: v6e-4}}]"
    host = machine(tmp_path, site(spec))
    row = "|RUNNING|ct6e-standard-4t||||||||||us-west4-a|AS_NEEDED"
    describe(host, {"a": f"a-0{row}", "b": f"b-0{row}"}, {"a-0": 1, "b-0": 1})
    done = host.run("verify.sh")

    assert ["a-0 host-maintenance PERIODIC AS_NEEDED"] == [
        " ".join(line.split()) for line in done.out.splitlines()[1:]
    ]


def test_verify_where_any_zone_will_do(tmp_path: Path) -> None:
    """Slices on demand may be in any zone of the region, and one slice is named as one."""
    spec = "project: p\nlocation: us-east5\npools: [{name: a, tpu: v6e-4, provisioning: FlexStart}]"
    host = machine(tmp_path, site(spec))
    row = "a-0|RUNNING|ct6e-standard-4t|||True||||True|0|1|us-east5-a,us-east5-b,us-east5-c"
    describe(host, {"a-0": row}, {"a-0": 3})
    done = host.run("verify.sh")

    assert (0, "cluster c1 exists, and its node pool is as clusters/c1.yaml says\n") == (done.code, done.out)


@pytest.mark.parametrize("call", ["clusters list", "node-pools list", "instances list"])
def test_verify_without_access(rich: Machine, call: str) -> None:
    """Where gcloud cannot say what is there, the exit code is another one than that of a difference."""
    describe(rich, ROWS, COUNTS)
    rich.has("fails", call)
    done = rich.run("verify.sh")

    assert (3, "") == (done.code, done.out)
    assert done.err.splitlines() == [
        "ERROR: (gcloud) it fails",
        "cannot read the project: the command above failed",
    ]
