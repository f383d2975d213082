"""Pools, queues and workloads in numbers, and what is wrong with each."""

from typing import Any

import pytest
from tests.conftest import Done, Repo

from .kit import record

TWO_QUEUES = """
    pools:
    - {name: tpus, tpu: v5litepod-8, slices: 3}
    - {name: grows, tpu: v6e-16, slices: 1, autoscaling: {max: 4}, provisioning: {type: Reservation, name: r}}
    - {name: cpu-np, machineType: n2-standard-64, nodes: 2}
    - {name: odd, machineType: odd-machine-1}
    cohorts: [{name: all, quota: [{pool: tpus, nominalSlices: 1}]}]
    clusterQueues:
    - name: big
      cohortName: all
      quota: [{pool: tpus, nominalSlices: 2, lendingLimit: 1}, {pool: cpu-np, nominalNodes: 1}]
      localQueues: [{name: queue}]
    - name: small
      cohortName: all
      quota: [{pool: tpus, nominalSlices: 0, borrowingLimit: 1}]
      localQueues: [{name: small}]
"""
MANAGED = "  project: p\n  location: us-west4-a"
ONE_QUEUE = """
    pools: [{name: tpus, tpu: v5litepod-8, slices: 3}]
    clusterQueues: [{name: q, quota: [{pool: tpus}], localQueues: [{name: queue}]}]
"""
JOB = """
    clusters: [c1]
    tpu: v5litepod-8
    slices: {slices}
    queueName: {queue}
    container: {{image: python:3.12, script: python train.py}}
"""


def two_queues(repo: Repo, *, managed: bool = True) -> Repo:
    """Return a repository with two queues, and a workload that is too big for one of them."""
    repo.cluster("c1", TWO_QUEUES)
    if managed:
        repo.write("clusters/c1.yaml", repo.read("clusters/c1.yaml").replace("  managed: false", MANAGED))
    (repo.root / "workloads/a.yaml").unlink()
    repo.workload("fits", JOB.format(slices=2, queue="queue"))
    repo.workload("large", JOB.format(slices=2, queue="small"))
    return repo


def test_pools_are_counted() -> None:
    """Slices, hosts and chips of TPU pools, nodes and what they offer of CPU pools."""
    pools = {pool["name"]: pool for pool in record(TWO_QUEUES)["pools"]}

    assert {
        name: (pool["slices"], pool["mostSlices"], pool["hosts"], pool["chips"])
        for name, pool in pools.items()
    } == {"tpus": (3, 3, 6, 24), "grows": (1, 4, 4, 16), "cpu-np": (0, 0, 2, 0), "odd": (0, 0, 1, 0)}
    assert pools["grows"]["provisioning"] == "Reservation r"
    assert (sorted(pools["cpu-np"]["allocatable"]), pools["odd"]["allocatable"]) == (["cpu", "memory"], {})


def test_quota_is_what_kueue_counts() -> None:
    """Nominal, to borrow, to lend, and at most."""
    one = record(TWO_QUEUES)
    chips = {
        queue["name"]: next(share for share in queue["quota"] if share["resource"] == "google.com/tpu")
        for queue in (*one["queues"], *one["cohorts"])
    }

    assert {
        name: tuple(share[key] for key in ("nominal", "borrowable", "lendable", "total"))
        for name, share in chips.items()
    } == {"big": ("16", "8", "8", "24"), "small": ("0", "8", "0", "8"), "all": ("8", None, "0", None)}
    assert one["queues"][0]["localQueues"] == ["default/queue"]


def test_quota_that_nobody_knows_has_no_number() -> None:
    """A file that only describes a platform does not tell cpu and memory of nodes."""
    one = record(f"managed: false\n{TWO_QUEUES[1:].replace('    pools', 'pools', 1)}".replace("\n    ", "\n"))
    cpu = next(share for share in one["queues"][0]["quota"] if share["resource"] == "cpu")

    assert (cpu["nominal"], cpu["borrowable"], cpu["total"]) == (None, None, None)


@pytest.mark.slow
@pytest.mark.parametrize("managed", [True, False])
def test_workload_that_never_fits_is_marked_as_validate_says_it(repo: Repo, managed: bool) -> None:
    """With the same id and the same sentence, before it is rendered and after."""
    two_queues(repo, managed=managed)
    file = "clusters/c1.yaml"
    too_small = repo.read(file)

    before = repo.run("capacity", "c1", "-o", "json", code=1).json
    repo.write(file, too_small.replace("nominalSlices: 0", "nominalSlices: 2"))
    repo.run("render")
    repo.write(file, too_small)
    repo.run("render")
    after = repo.run("capacity", "-o", "json", code=1).json
    validated = repo.run("validate", "-o", "json", code=1).json

    assert before == after
    runs = {run["workload"]: run for run in after["clusters"][0]["workloads"]}
    fits, large = runs["default/fits"], runs["default/large"]
    assert (fits["chips"], fits["possible"], fits["fits"], fits["problems"]) == (16, 24, True, [])
    given = [list(run["flavors"].values()) for run in (fits, large)]
    assert [[{"google.com/tpu": "v5e-2x4-4t"}], []] == given
    assert (large["chips"], large["possible"], large["fits"]) == (16, 8, False)
    said = [(problem["id"], problem["message"], problem["object"]) for problem in large["problems"]]
    assert said == [
        (problem["id"], problem["message"], problem["object"])
        for problem in validated["problems"]
        if problem["severity"] == "error"
    ]
    assert [problem["id"] for problem in large["problems"]] == ["FIT101"]


def text(done: Done) -> str:
    """Return what is printed, blanks squeezed."""
    return "\n".join(" ".join(line.split()) for line in done.out.splitlines())


def test_table_marks_what_is_wrong(repo: Repo) -> None:
    """Pools, queues, cohorts and runs, and below everything in full."""
    two_queues(repo)

    done = repo.run("capacity", code=1)

    shown = text(done)
    assert "c1: Standard\n" in f"{shown}\n"
    assert "tpus OnDemand ct5lp-hightpu-4t 2x4 3 6 24 v5e-2x4-4t\n" in shown
    assert "grows Reservation r ct6e-standard-4t 4x4 0..4 0..16 0..64 v6e-4x4-reservation-r\n" in shown
    assert "cpu-np OnDemand n2-standard-64 - - 2 - cpu-np" in shown
    assert "all - v5e-2x4-4t google.com/tpu 8 0\n" in shown
    assert "big all v5e-2x4-4t google.com/tpu 16 8 8 24\n" in shown
    said = (
        "FIT101 the run requests 16 chips, but "
        "ClusterQueue 'small' can give only 8 (nominal 0, borrowing 8) of flavor 'v5e-2x4-4t'"
    )
    assert f"JobSet small 16 8 NO - {said}" in shown
    assert "FIT101" in done.err


def test_problems_of_a_clusters_file_stand_at_their_place(repo: Repo) -> None:
    """At the pool, the queue or the cohort; a warning has a question mark."""
    spec = """
        project: p
        location: us-west4-a
        pools: [{name: tpus, tpu: v5litepod-8, nodePoolNames: [a, b]}]
        cohorts: [{name: c, quota: [{pool: tpus, nominalChips: 3}]}, {name: d}]
        clusterQueues: [{name: q, quota: [{pool: tpus, nominalSlices: 2}]}, {name: empty}]
    """
    repo.cluster("c1", spec)
    repo.write("clusters/c1.yaml", repo.read("clusters/c1.yaml").replace("  managed: false\n", ""))

    done = repo.run("capacity", code=1)

    shown = text(done)
    assert "1 2 8 v5e-2x4-4t POOL002" in shown
    assert "c - v5e-2x4-4t google.com/tpu 3 0 QUOTA004" in shown
    assert "q - v5e-2x4-4t google.com/tpu 16 0 0 16 QUOTA008?" in shown
    assert "d - - - - -" in shown
    assert "empty - - - - - - -" in shown


def test_silenced_problem_is_none(repo: Repo) -> None:
    """With a reason in the ignore file, as for validate; an entry for something else does not matter."""
    two_queues(repo)
    repo.write(
        ".slicewright-ignore.yaml",
        "ignore: [{rule: FIT101, reason: quota comes tomorrow}, {rule: FIT104, reason: none}]\n",
    )

    found = repo.run("capacity", "-o", "json").json

    assert [run["fits"] for run in found["clusters"][0]["workloads"]] == [True, None]


def test_workload_without_a_queue_or_of_an_unknown_one(repo: Repo) -> None:
    """Nobody counts the first; the second is a mistake where queues are declared, and else taken on trust."""
    repo.workload("b", JOB.format(slices=1, queue="gone"))

    def fits(*, code: int) -> dict[str, Any]:
        runs = repo.run("capacity", "-o", "json", code=code).json["clusters"][0]["workloads"]
        return {run["workload"]: (run["fits"], run["possible"], run["queue"]) for run in runs}

    repo.cluster("c1", "pools: [{name: tpus, tpu: v5litepod-8}]")
    assert fits(code=0) == {"default/a": (None, None, ""), "default/b": (None, None, "gone")}
    shown = text(repo.run("capacity"))
    alone = "FITS is about each run alone, as if no other run held quota."
    assert alone in shown
    assert "c1: Standard, the platform is not managed here (managed: false)" in shown
    assert " JobSet gone 8 - ?" in shown
    assert " JobSet - 8 - -" in shown


def test_equal_runs_of_a_sweep_share_a_row(repo: Repo) -> None:
    """A run that asks for other chips has a row of its own; JSON has each run."""
    repo.cluster("c1", ONE_QUEUE)
    sweep = "matrix: {env: {LR: [1, 2, 3]}, include: [{name: wide, env: {LR: 4}, slices: 2}]}"
    repo.workload("a", JOB.format(slices=1, queue="queue") + f"    {sweep}\n")

    rows = [line.split("  ")[1] for line in repo.run("capacity").out.splitlines() if "default/a" in line]
    runs = repo.run("capacity", "-o", "json").json["clusters"][0]["workloads"]

    assert ["default/a (3 runs)", "default/a-wide"] == [
        row.rsplit("-", 1)[0] if "wide" in row else row for row in rows
    ]
    assert ["a"] * 4 == [run["sweep"] for run in runs]


def test_earlier_run_that_is_kept_is_shown(repo: Repo) -> None:
    """It holds its quota as long as it is live; one that the next render ends is not shown."""

    def shown() -> list[str]:
        runs = repo.run("capacity", "-o", "json").json["clusters"][0]["workloads"]
        return [run["run"] for run in runs]

    repo.cluster("c1", ONE_QUEUE)
    repo.workload("a", JOB.format(slices=1, queue="queue") + "    onChange: Keep\n")
    repo.run("render")
    (first,) = shown()
    repo.workload("a", JOB.format(slices=2, queue="queue") + "    onChange: Keep\n")

    kept = shown()
    assert (len(kept), first in kept) == (2, True)
    repo.workload("a", JOB.format(slices=2, queue="queue"))
    assert first not in shown()


def test_fixed_workload_is_what_a_render_would_make(repo: Repo) -> None:
    """Its overlay is live, so that the file of the workload says it all."""
    repo.cluster("c1", ONE_QUEUE)
    repo.workload("a", JOB.format(slices=3, queue="queue") + "    naming: Fixed\n")

    (run,) = repo.run("capacity", "-o", "json").json["clusters"][0]["workloads"]

    assert (run["run"], run["chips"], run["possible"]) == ("a", 24, 24)


def test_run_without_chips_asks_for_none(repo: Repo) -> None:
    """A queue of cpu alone gives no chips."""
    repo.cluster(
        "c1",
        """
        pools: [{name: tpus, tpu: v5litepod-8}, {name: cpu-np, machineType: n2-standard-64}]
        clusterQueues: [{name: q, quota: [{pool: cpu-np}], localQueues: [{name: queue}]}]
        """,
    )
    repo.workload("a", JOB.format(slices=1, queue="queue"))

    (run,) = repo.run("capacity", "-o", "json", code=1).json["clusters"][0]["workloads"]

    assert (run["possible"], run["fits"], run["problems"][0]["id"]) == (0, False, "FIT103")


def test_run_that_cannot_be_built_says_why(repo: Repo) -> None:
    """A base that is gone is a problem, and the run is missing."""
    (repo.root / "bases" / "jobset" / "kustomization.yaml").unlink()

    found = repo.run("capacity", "-o", "json", code=1).json

    assert found["clusters"][0]["workloads"] == []
    assert found["problems"]


def test_only_the_cluster_that_is_named(repo: Repo) -> None:
    """What is wrong with another one, or with workloads that run only there, is not said."""
    repo.cluster("c2", "pools: [{name: tpus, tpu: v5litepod-8, nodePoolNames: [a, b]}]")
    repo.workload("b", JOB.format(slices=1, queue="queue").replace("c1", "c2").replace("v5litepod-8", "v4-8"))

    assert repo.run("capacity", "c1", "-o", "json").json["problems"] == []
    both = repo.run("capacity", "-o", "json", code=1).json
    assert [one["cluster"] for one in both["clusters"]] == ["c1", "c2"]
    assert both["problems"]


def test_unknown_cluster_is_wrong_usage(repo: Repo) -> None:
    """With the nearest name; where a file cannot be read the cluster may stand there, and that is shown."""
    assert "did you mean 'c1'?" in repo.run("capacity", "c11", code=2).err
    repo.write("clusters/c9.yaml", "kind: [\n")
    assert "YAML001" in repo.run("capacity", "c9", code=1).err


def test_run_that_gets_a_flavor_on_which_it_never_runs_does_not_fit(repo: Repo) -> None:
    """Cpu of a CPU pool sends pods on TPU hosts to its nodes: the flavors are named, and what is wrong."""
    text = repo.read("clusters/c1.yaml").replace("  managed: false\n", "")
    quota = "quota: [{pool: tpus}, {pool: cpu-np, nominalQuota: {cpu: 8}}]"
    repo.write("clusters/c1.yaml", text.replace("localQueues", f"{quota}, localQueues"))
    place = "/spec/replicatedJobs/0/template/spec/template/spec/containers/0/resources/requests/cpu"
    repo.workload(
        "a",
        f"""
        clusters: [c1]
        tpu: v5litepod-8
        queueName: queue
        container: {{image: python:3.12, script: python train.py}}
        patches: [{{target: {{kind: JobSet}}, ops: [{{op: add, path: {place}, value: "1"}}]}}]
        """,
    )

    (found,) = repo.run("capacity", "-o", "json", code=1).json["clusters"][0]["workloads"]

    assert (False, ["FIT120"]) == (found["fits"], [problem["id"] for problem in found["problems"]])
    assert {"slice": {"google.com/tpu": "v5e-2x4-4t", "cpu": "cpu-np"}} == found["flavors"]


HEAD = (
    JOB.format(slices=1, queue="queue")
    + """
    pathways: {pathwaysDir: gs://b, head: {pool: cpu-np}}
"""
)


def run_of(found: Any, workload: str) -> Any:
    """Return the run of a workload in the JSON form."""
    return next(run for run in found["clusters"][0]["workloads"] if run["workload"] == f"default/{workload}")


def test_head_that_no_node_holds_fits_nowhere(repo: Repo) -> None:
    """Whatever validate refuses about a run and its place, capacity says NO with the same words and lines."""
    two_queues(repo)
    (repo.root / "workloads/large.yaml").unlink()
    repo.workload("pw", HEAD.lstrip("\n"))
    repo.run("render")
    assert run_of(repo.run("capacity", "-o", "json").json, "pw")["fits"]
    repo.write("clusters/c1.yaml", repo.read("clusters/c1.yaml").replace("standard-64", "standard-16"))
    repo.run("render")

    found = repo.run("capacity", "-o", "json", code=1).json
    validated = repo.run("validate", "-o", "json", code=1).json["problems"]

    def refused(problems: list[Any]) -> list[Any]:
        return sorted((one for one in problems if one["severity"] == "error"), key=str)

    pw = run_of(found, "pw")
    assert ({"FIT130"}, False, {}) == ({one["id"] for one in pw["problems"]}, pw["fits"], pw["flavors"])
    assert refused(validated) == refused(pw["problems"]) == refused(found["problems"])
    assert {"workloads/pw.yaml"} == {one["file"] for one in pw["problems"]}


def test_request_that_only_a_cpu_pool_has_is_one_mistake(repo: Repo) -> None:
    """The problem that names the field is told, by every command; not what follows for flavors."""
    two_queues(repo)
    (repo.root / "workloads/large.yaml").unlink()
    cpu = ", resources: {requests: {cpu: 4}}}"
    repo.workload("cpu", JOB.format(slices=1, queue="queue").replace("train.py}", f"train.py{cpu}"))

    found = repo.run("capacity", "-o", "json", code=1).json
    rendered = repo.run("render", "-o", "json", code=1).json["problems"]

    (told,) = run_of(found, "cpu")["problems"]
    assert ("REF151", False) == (told["id"], run_of(found, "cpu")["fits"])
    for problems in (found["problems"], rendered):
        assert [told] == [one for one in problems if one["severity"] == "error"]


@pytest.mark.parametrize("command", ["capacity", "outdated", "init", "render"])
def test_warning_that_a_cluster_acknowledges_is_silent(repo: Repo, command: str) -> None:
    """With a reason in the annotations of the TPUCluster, for each command that reads it."""
    two_queues(repo)
    (repo.root / "workloads/large.yaml").unlink()
    text = repo.read("clusters/c1.yaml").replace("nodes: 2}", "nodes: 2, nodeConfig: {gcloudFlags: [--x]}}")
    repo.write("clusters/c1.yaml", text)
    arguments = [command, *(["--upgrade"] if command == "init" else [])]
    assert "POOL043" in repo.run(*arguments).err

    note = "name: c1, annotations: {slicewright.dev/ignore-POOL043: tried there}"
    repo.write("clusters/c1.yaml", text.replace("name: c1", note))

    assert "POOL043" not in repo.run(*arguments).err


@pytest.mark.slow
def test_run_that_borrows_says_how_much(repo: Repo) -> None:
    """What is beyond the nominal quota of its queue, in JSON and in the table."""
    two_queues(repo)
    repo.workload("large", JOB.format(slices=1, queue="small"))

    runs = repo.run("capacity", "c1", "-o", "json").json["clusters"][0]["workloads"]

    assert {"default/fits": 0, "default/large": 8} == {run["workload"]: run["borrows"] for run in runs}
    shown = text(repo.run("capacity"))
    assert "JobSet queue 16 24 yes v5e-2x4-4t" in shown
    assert "JobSet small 8 8 yes, borrows 8 chips v5e-2x4-4t" in shown


@pytest.mark.slow
def test_run_borrows_what_kueue_counts_for_it(repo: Repo) -> None:
    """Kueue's configuration may count chips for a request of cpu."""
    two_queues(repo)
    counts = "[{input: cpu, strategy: Replace, outputs: {google.com/tpu: 2}}]"
    written = repo.read("clusters/c1.yaml")
    repo.write("clusters/c1.yaml", f"{written}  kueue: {{resources: {{transformations: {counts}}}}}\n")
    repo.workload(
        "large",
        """
    clusters: [c1]
    cpu: {pool: cpu-np}
    queueName: small
    container: {image: "python:3.12", script: python a.py, resources: {requests: {cpu: 4, memory: 1Gi}}}
""",
    )

    runs = repo.run("capacity", "c1", "-o", "json", code=1).json["clusters"][0]["workloads"]

    assert {"default/fits": 0, "default/large": 8} == {run["workload"]: run["borrows"] for run in runs}


@pytest.mark.slow
def test_run_beyond_the_quota_of_its_team_does_not_fit(repo: Repo) -> None:
    """Capacity takes the answer of the rule that render and validate have."""
    two_queues(repo)
    team = "  teams: [{name: n, namespace: n, resourceQuota: {requests.google.com/tpu: '8'}}]\n"
    cluster = repo.read("clusters/c1.yaml").replace("{name: queue}", "{name: queue, namespace: n}")
    repo.write("clusters/c1.yaml", cluster + team)
    (repo.root / "workloads/large.yaml").unlink()
    repo.workload("fits", JOB.format(slices=2, queue="queue"), metadata=", namespace: n")

    (run,) = repo.run("capacity", "-o", "json", code=1).json["clusters"][0]["workloads"]

    assert (False, ["FIT132"]) == (run["fits"], [problem["id"] for problem in run["problems"]])
