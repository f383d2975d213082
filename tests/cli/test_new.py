"""`slicewright new`: a TPUWorkload file from a few options, checked before it is written."""

from typing import Any

import pytest
import yaml
from tests.conftest import CLUSTER, Repo
from tests.words import places

from slicewright.documentation import DOCS
from slicewright.project.new_files import SCHEMAS

SCHEMA = "slicewright/tpuworkload.json"
NEW = ("new", "b", "--tpu", "v5litepod-8", "--image", "python:3.12")


def test_file_has_what_was_asked_for_and_no_more(repo: Repo) -> None:
    """The only cluster and the only queue are taken; the command follows `--`."""
    done = repo.run(*NEW, "--slices", "2", "--", "python", "train.py", "--steps", "10")

    assert done.out == (
        "workloads/b.yaml: 2 slices of 2x4, 16 chips in all\nthe next render starts it: slicewright render\n"
    )
    assert (
        repo.read("workloads/b.yaml")
        == """\
# yaml-language-server: $schema=https://slicewright.dev/docs/schemas/slicewright/tpuworkload.json
apiVersion: slicewright.dev/v1alpha1
kind: TPUWorkload
metadata:
  name: b
spec:
  clusters:
  - c1
  tpu: v5litepod-8
  slices: 2
  queueName: queue
  container:
    image: python:3.12
    command:
    - python
    - train.py
    - --steps
    - "10"
"""
    )
    assert len(repo.effects()) == 2


def test_editors_are_told_of_the_schema(repo: Repo) -> None:
    """The first line names the copy in the repository; without one, the copy that the documentation has."""
    repo.run(*NEW)
    without = repo.read("workloads/b.yaml").partition("\n")[0]
    repo.write(f"schemas/{SCHEMA}", "{}")
    repo.run("new", "c", *NEW[2:])
    within = repo.read("workloads/c.yaml").partition("\n")[0]

    address = without.partition("$schema=")[2]
    path = within.partition("$schema=")[2]
    assert DOCS + "schemas/" == address.removesuffix(SCHEMA)
    assert SCHEMA in SCHEMAS
    assert (repo.root / "schemas" / SCHEMA) == (repo.root / "workloads" / path).resolve()


def test_line_for_editors_changes_no_run(repo: Repo) -> None:
    """It is a comment: without it the tree is the same, byte for byte, and `rerun` leaves it where it is."""
    repo.run(*NEW)
    repo.run("render")
    tree, (line, _, rest) = repo.tree(), repo.read("workloads/b.yaml").partition("\n")
    repo.write("workloads/b.yaml", rest)
    repo.run("render")
    repo.write("workloads/b.yaml", f"{line}\n{rest}")
    repo.run("rerun", "b")

    assert tree == repo.tree()
    assert f"{line}\n" == repo.read("workloads/b.yaml")[: len(line) + 1]
    assert "  run: 2\n" in repo.read("workloads/b.yaml")


def test_a_workload_without_a_queue_is_told_of_those_that_there_are(repo: Repo) -> None:
    """The run bypasses Kueue; the message names the queues of the namespace, or else those of others."""
    two = """
        pools: [{name: tpus, tpu: v5litepod-8}]
        clusterQueues: [{name: q, localQueues: [{name: a, namespace: team}, {name: b, namespace: team}]}]
    """
    repo.cluster("c2", two)
    repo.cluster("c3", "pools: [{name: tpus, tpu: v5litepod-8}]")
    said = {
        name: repo.run("new", name, *NEW[2:], "--cluster", cluster, "--namespace", namespace).out
        for name, cluster, namespace in (("x", "c1", "other"), ("y", "c2", "team"), ("z", "c3", "team"))
    }

    first = "no queue: it starts immediately, without Kueue; "
    assert {
        "x": f"{first}'other' has no LocalQueue, but there is --namespace default --queue queue",
        "y": f"{first}for one of 'team': --queue a or --queue b",
        "z": f"{first}'team' has no LocalQueue",
    } == {name: text.splitlines()[1] for name, text in said.items()}


@pytest.mark.parametrize(
    ("option", "lines"),
    [
        ("Spot", "  provisioning: Spot\n"),
        ("Reservation=mine", "  provisioning:\n    type: Reservation\n    name: mine\n"),
    ],
)
def test_provisioning_is_written_as_the_field_has_it(repo: Repo, option: str, lines: str) -> None:
    """A word, or a mapping with the name of the reservation or ComputeClass."""
    repo.run(*NEW, "--provisioning", option)

    assert f"  slices: 1\n{lines}  queueName: queue\n" in repo.read("workloads/b.yaml")


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("Sport", "there is no 'Sport'; did you mean 'Spot'?"),
        ("Reservation", "write --provisioning Reservation=NAME"),
        ("ComputeClass=", "write --provisioning ComputeClass=NAME"),
        ("Spot=x", "write --provisioning Spot"),
    ],
)
def test_provisioning_that_is_none_is_wrong_usage(repo: Repo, option: str, said: str) -> None:
    """Exit 2, with what to write; there is no file."""
    done = repo.run(*NEW, "--provisioning", option, code=2)

    assert done.err.endswith(f"Error: Invalid value for '--provisioning': {said}\n")
    assert not (repo.root / "workloads/b.yaml").exists()


def test_json_form_says_what_was_written(repo: Repo) -> None:
    """For scripts that go on with it."""
    repo.cluster("c2", "pools: [{name: tpus, tpu: v5litepod-8}]")

    found = repo.run(*NEW, "--cluster", "c1", "--cluster", "c2", "--namespace", "team", "-o", "json").json

    assert found == {
        "file": "workloads/b.yaml",
        "workload": "team/b",
        "clusters": ["c1", "c2"],
        "chips": 8,
        "problems": [],
    }
    text = repo.read("workloads/b.yaml")
    assert "metadata:\n  name: b\n  namespace: team\n" in text
    assert "queueName" not in text


def test_queue_may_be_named_or_left_out(repo: Repo) -> None:
    """`--queue ''` is for a workload that starts at once."""
    repo.run(*NEW, "--queue", "")

    assert "queueName" not in repo.read("workloads/b.yaml")


REFUSED = {
    "a name that is not a valid name": (("new", "../x", *NEW[2:]), "workloads/../x.yaml: IN005\n"),
    "a name that is too long": (("new", "n" * 60, *NEW[2:]), f"workloads/{'n' * 60}.yaml: NAME001"),
    "a namespace that is none": ((*NEW, "--namespace", "A"), "workloads/b.yaml: IN005\n"),
    "an unknown cluster": ((*NEW, "--cluster", "cc1"), ("workloads/b.yaml: REF001\n")),
    "an unknown queue": ((*NEW, "--queue", "queu"), "REF002"),
    "an impossible TPU": (("new", "b", "--tpu", "v5litepod-7", "--image", "x"), "workloads/b.yaml: TPU005\n"),
    "slices that cannot be joined": (
        ("new", "b", "--tpu", "v3-32", "--slices", "2", "--image", "x"),
        "b.yaml: TPU010\n",
    ),
    "no image": ((*NEW[:-1], " "), "workloads/b.yaml: IN005\n"),
    "a file that exists": (("new", "a", *NEW[2:]), "workloads/a.yaml: FILE007\n"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_render_would_refuse_is_not_written(repo: Repo, what: str) -> None:
    """The problems are those of a render, before there is a file."""
    arguments, expected = REFUSED[what]
    before = repo.stamps("workloads")

    done = repo.run(*arguments, code=1)

    assert expected in places(done.err)
    assert ("", before) == (done.out, repo.stamps("workloads"))
    assert not (repo.root / "x.yaml").exists()


def test_workload_of_another_file_is_not_declared_twice(repo: Repo) -> None:
    """The identity counts, not the file."""
    repo.workload("b", file="workloads/elsewhere.yaml")

    done = repo.run(*NEW, code=1)

    assert places(done.err).startswith("workloads/b.yaml: NAME002\n")


def test_warning_does_not_stop(repo: Repo) -> None:
    """A shape that no pool has is written, and said."""
    done = repo.run("new", "b", "--tpu", "v6e-8", "--image", "x")

    assert places(done.err).startswith("workloads/b.yaml: warning: REF006")
    assert (repo.root / "workloads/b.yaml").exists()


def test_wrong_files_of_others_do_not_stop(repo: Repo) -> None:
    """Only the new workload is judged, unless its cluster's own file is wrong."""
    repo.write("workloads/wrong.yaml", "a: [")
    repo.run(*NEW)

    repo.cluster("c2", "pools: [{name: tpus}]")
    done = repo.run("new", "c", *NEW[2:], "--cluster", "c2", code=1)

    assert "clusters/c2.yaml:6:11: IN003" in places(done.err)
    assert not (repo.root / "workloads/c.yaml").exists()


def test_cluster_has_to_be_named_where_there_is_not_one(empty: Repo) -> None:
    """None and several are usage errors."""
    none = empty.run(*NEW, code=2)
    for name in ("c2", "c1"):
        empty.cluster(name)

    several = empty.run(*NEW, code=2)

    assert none.err == (
        "Error: the repository has no TPUCluster, so the workload has no cluster to run on\n"
        "  hint: declare a TPUCluster in a file of clusters/\n"
    )
    assert several.err.endswith("Error: name a cluster with --cluster: c1, c2\n")


@pytest.mark.parametrize("options", [("--slices", "0"), ("--slices", "x"), ("--nonsense",)])
def test_wrong_options_are_usage_errors(repo: Repo, options: tuple[str, ...]) -> None:
    """Exit 2, as click says it."""
    assert "Error: " in repo.run(*NEW, *options, code=2).err


def test_matrix_writes_a_sweep(repo: Repo) -> None:
    """Values of variables stay as they are typed, `slices` is a field, and chips are those of all runs."""
    done = repo.run(*NEW, "--matrix", "LR=1e-4,0.5", "--matrix", "slices=1,2", "--", "python", "--lr=$(LR)")

    assert done.out == (
        "workloads/b.yaml: 4 runs, 48 chips in all\nthe next render starts them: slicewright render\n"
    )
    matrix = '  matrix:\n    env:\n      LR:\n      - "1e-4"\n      - "0.5"\n    slices:\n    - 1\n    - 2\n'
    assert matrix in repo.read("workloads/b.yaml")
    assert len(repo.effects()) == 5


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("LR", "write --matrix NAME=A,B"),
        ("LR=", "write --matrix NAME=A,B"),
        ("=1", "write --matrix NAME=A,B"),
        ("slices=one", "write numbers: --matrix slices=1,2"),
    ],
)
def test_matrix_of_another_form_is_refused(repo: Repo, value: str, said: str) -> None:
    """A name, and values between commas."""
    assert said in repo.run(*NEW, "--matrix", value, code=2).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--matrix", "LR=1,2", "--matrix", "LR=3"), "duplicate name LR"),
        (("--env", "A=1", "--env", "A=2"), "duplicate name A"),
        (("--script", "empty.sh"), "--script is empty"),
        (("--service-account", ""), "--service-account is empty"),
        (("--", "", "a"), "the command after -- is empty"),
    ],
)
def test_what_would_start_another_run_is_refused(repo: Repo, words: tuple[str, ...], said: str) -> None:
    """Values that would be lost, and programs that are empty, start nothing."""
    repo.write("empty.sh", "")

    assert (
        said
        in repo.run(*NEW, *(str(repo.root / one) if one == "empty.sh" else one for one in words), code=2).err
    )


def test_everything_common_can_be_said(repo: Repo) -> None:
    """Each option is a field of the file, in the order of the reference."""
    repo.write("train.sh", "echo $A\n")
    repo.write("configs/a.yaml", "a: 1\n")
    options = ("--script", str(repo.root / "train.sh"), "--env", "A=1=2", "--request", "memory=1Gi")
    mounts = ("--bucket", "my-data=/data", "--file", "configs/a.yaml=/etc/a.yaml")
    done = repo.run(*NEW, *options, *mounts, "--priority", "high", "--service-account", "trainer")

    assert (done.code, done.out.partition("\n")[0]) == (0, "workloads/b.yaml: 1 slice of 2x4, 8 chips in all")
    assert yaml.safe_load(repo.read("workloads/b.yaml"))["spec"] == {
        "clusters": ["c1"],
        "tpu": "v5litepod-8",
        "slices": 1,
        "queueName": "queue",
        "workloadPriorityClassName": "high",
        "container": {
            "image": "python:3.12",
            "script": "echo $A\n",
            "env": [{"name": "A", "value": "1=2"}],
            "resources": {"requests": {"memory": "1Gi"}},
        },
        "podTemplate": {"spec": {"serviceAccountName": "trainer"}},
        "gcsFuse": [{"bucket": "my-data", "mountPath": "/data"}],
        "files": [{"path": "configs/a.yaml", "mountPath": "/etc/a.yaml"}],
    }


PATHWAYS = (*NEW, "--pathways", "gs://b/tmp")


def test_pathways_run_has_version_head_pool_and_account(repo: Repo) -> None:
    """The images are pinned, the head has a CPU pool, and both pods have the account of the run."""
    done = repo.run(*PATHWAYS, "--pathways-version", "jax-0.9.2", "--service-account", "trainer")
    spec = yaml.safe_load(repo.read("workloads/b.yaml"))["spec"]
    template = {"spec": {"serviceAccountName": "trainer"}}

    assert "GIT120" not in done.err
    assert spec["podTemplate"] == template
    assert spec["pathways"] == {
        "pathwaysDir": "gs://b/tmp",
        "pathwaysVersion": "jax-0.9.2",
        "head": {"pool": "cpu-np", "podTemplate": template},
    }


def test_pathways_of_the_defaults(repo: Repo) -> None:
    """What TPUDefaults say about Pathways is neither asked for nor written."""
    repo.cluster(spec=CLUSTER)
    repo.write(
        "defaults/all.yaml",
        "apiVersion: slicewright.dev/v1alpha1\nkind: TPUDefaults\nmetadata: {name: all}\n"
        "spec: {pathways: {pathwaysVersion: jax-0.9.2, head: {pool: cpu-np}}}\n",
    )
    repo.run(*PATHWAYS)

    assert yaml.safe_load(repo.read("workloads/b.yaml"))["spec"]["pathways"] == {"pathwaysDir": "gs://b/tmp"}


def test_pathways_version_is_asked_for(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal it is asked for, as the image is."""
    monkeypatch.setattr("slicewright.cli.new._can_ask", lambda: True)
    monkeypatch.setattr("click.prompt", lambda *_what, **_how: "jax-0.9.2")
    repo.run(*PATHWAYS)
    spec = yaml.safe_load(repo.read("workloads/b.yaml"))["spec"]

    assert "jax-0.9.2" == spec["pathways"]["pathwaysVersion"]


def test_pathways_without_a_pool_for_its_head(repo: Repo) -> None:
    """Where the cluster has no CPU pool, the file and stdout say what to add."""
    repo.cluster(spec="\n    pools:\n    - {name: tpus, tpu: v5litepod-8, slices: 3}\n")
    done = repo.run(*PATHWAYS, "--pathways-version", "jax-0.9.2")
    need = "the head of Pathways, which needs 24 vCPU and 132 GB besides the program"
    notes = [
        f"cluster 'c1' has no CPU pool for {need}",
        "add to spec.pools of clusters/c1.yaml: {name: cpu, machineType: n2-standard-64, nodes: 1}",
        "add to the quota of the queue: {pool: cpu}",
        "add to spec.pathways of the workload: {head: {pool: cpu}}",
    ]

    assert notes == done.out.splitlines()[1:5]
    assert [f"# {note}" for note in notes] == repo.read("workloads/b.yaml").splitlines()[1:5]


def test_pathways_on_clusters_with_different_pools(repo: Repo) -> None:
    """A run names one pool, so clusters need one of the same name."""
    repo.cluster(spec=CLUSTER)
    repo.cluster("c2", spec=CLUSTER.replace("cpu-np", "heads"))
    done = repo.run(*PATHWAYS, "--pathways-version", "jax-0.9.2", "--cluster", "c1", "--cluster", "c2")
    note = (
        "the clusters have no CPU pool of one name for the head of Pathways, which needs 24 vCPU and 132 GB"
    )

    assert f"{note} besides the program" == done.out.splitlines()[1]


def test_run_without_tpus(repo: Repo) -> None:
    """`--cpu` takes the place of `--tpu`."""
    repo.cluster(spec=CLUSTER.replace("machineType: n2-standard-64", "machineType: n2-standard-8, nodes: 4"))
    done = repo.run("new", "b", "--cpu", "cpu-np", "--nodes", "2", "--image", "i:1", "--request", "cpu=4")

    assert done.out.partition("\n")[0] == "workloads/b.yaml: 2 nodes of cpu-np"
    assert yaml.safe_load(repo.read("workloads/b.yaml"))["spec"]["cpu"] == {"pool": "cpu-np", "nodes": 2}


def test_image_of_the_defaults(repo: Repo) -> None:
    """Without `--image` the run has the image of the TPUDefaults, and the file names none."""
    repo.cluster(spec=CLUSTER)
    repo.write(
        "defaults/all.yaml",
        "apiVersion: slicewright.dev/v1alpha1\nkind: TPUDefaults\nmetadata: {name: all}\n"
        "spec: {container: {image: 'python:3.12.11'}}\n",
    )
    repo.run("new", "b", "--tpu", "v5litepod-8", "--", "python", "x.py")

    assert yaml.safe_load(repo.read("workloads/b.yaml"))["spec"]["container"] == {
        "command": ["python", "x.py"]
    }


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--image", "i"), "Missing option '--tpu', or '--cpu' for a run without TPUs."),
        (("--tpu", "v5litepod-8"), "Missing option '--image'."),
        (("--tpu", "v5litepod-8", "--image", "i", "--nodes", "2"), "--nodes needs --cpu POOL"),
        (
            ("--tpu", "v5litepod-8", "--image", "i", "--pathways", "gs://b/d"),
            "--pathways needs --pathways-version: the version of JAX in the image, such as jax-0.9.2",
        ),
        (
            ("--tpu", "v5litepod-8", "--image", "i", "--pathways-version", "jax-0.9.2"),
            "--pathways-version needs --pathways gs://DIR",
        ),
        (("--tpu", "v5litepod-8", "--image", "i", "--env", "A"), "write --env NAME=VALUE"),
        (
            ("--tpu", "v5litepod-8", "--image", "i", "--script", __file__, "--", "x"),
            "write either --script, or a command after --",
        ),
    ],
)
def test_without_a_terminal_nothing_is_asked(repo: Repo, options: tuple[str, ...], said: str) -> None:
    """What is missing, or makes no sense, is an error that names the option."""
    done = repo.run("new", "b", *options, code=2)

    assert done.err.rstrip().endswith(f": {said}")


def test_on_a_terminal_it_asks_for_what_is_missing(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cluster, TPU and queue are chosen from what there is."""
    monkeypatch.setattr("slicewright.cli.new._can_ask", lambda: True)
    answers = iter(["c2", "v5litepod-8", "second", "python:3.12", "python 'my train.py'"])
    asked: list[tuple[str, list[str]]] = []

    def prompt(what: str, type: Any = None, **_default: object) -> str:  # noqa: A002
        asked.append((what, list(getattr(type, "choices", []))))
        return next(answers)

    monkeypatch.setattr("click.prompt", prompt)
    cluster = repo.read("clusters/c1.yaml").replace("name: c1", "name: c2")
    repo.write("clusters/c2.yaml", cluster.replace("{name: queue", "{name: second}, {name: queue"))
    done = repo.run("new", "b")

    assert (done.code, asked) == (
        0,
        [
            ("Cluster", ["c1", "c2"]),
            ("TPU", ["v5litepod-8"]),
            ("Queue", ["queue", "second"]),
            ("Image of the container", []),
            ("Command, or nothing for that of the image", []),
        ],
    )
    spec = yaml.safe_load(repo.read("workloads/b.yaml"))["spec"]
    assert ("second", ["python", "my train.py"]) == (spec["queueName"], spec["container"]["command"])


def test_a_command_whose_quote_does_not_end_is_wrong_usage(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a person types is split as a shell would."""
    monkeypatch.setattr("slicewright.cli.new._can_ask", lambda: True)
    answers = iter(["v5litepod-8", "python:3.12", "python 'train.py"])
    monkeypatch.setattr("click.prompt", lambda *_what, **_how: next(answers))

    assert "No closing quotation" in repo.run("new", "b", code=2).err
