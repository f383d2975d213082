"""`slicewright import gcluster`: the TPUWorkload renders what gcluster's own dry run asks for."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import Repo
from tests.files import read_text
from tests.properties import share
from tests.words import places

from slicewright.cluster.importing.command_line import ImportedCommand, imported_command
from slicewright.cluster.importing.gcluster import GCLUSTER, OPTIONS
from slicewright.cluster.importing.workload import rendered
from slicewright.intent.source import SourceFile
from slicewright.kubernetes.problem import Problem, errors
from slicewright.kubernetes.types import Object
from slicewright.rendering.io.package_data import package
from slicewright.rendering.repository import Repository, Settings, read_repository

from .facts import facts, flat
from .gcluster_facts import ALWAYS, BASE, FILE, SLICE

PROJECT = Path(__file__).resolve().parents[3]
HEAD = {"apiVersion": "slicewright.dev/v1alpha1"}
DATA = yaml.safe_load(FILE.read_text(encoding="utf-8"))
SPOT = {"name": "spot", "tpu": "v6e-16", "slices": 9, "provisioning": "Spot"}
RESERVED: Object = {**SPOT, "name": "reserved", "provisioning": {"type": "Reservation", "name": "r1"}}
POOLS: list[Object] = [
    {"name": "v6e", "tpu": "v6e-16", "slices": 9},
    {"name": "tpu7x", "tpu": "tpu7x-2x2x2", "slices": 9},
    {"name": "cpu-np", "machineType": "n2-standard-64", "nodes": 4},
]
REFUSED = {"filestore": "IMP030", "gke-tpu-accelerator": "IMP030", "gke-tpu-topology": "IMP030"}
"""Words of arguments that gcluster takes and we refuse."""
ACCEPTED = ("--name abcdefghijklmnopqrstuvwxyz012",)
"""Arguments that gcluster refuses and we take: names may be longer here."""
LISTED = {
    "/components/pathways-proxy/env/ABSL_FLAGS": "a timeout that the base leaves at its default",
    "/components/pathways-rm/env/ABSL_FLAGS": "a timeout that the base leaves at its default",
    "/components/pathways-worker/env/ABSL_FLAGS": "a timeout that the base leaves at its default",
    "/program/env/ABSL_FLAGS": "a timeout that the base leaves at its default",
    "/components/pathways-worker/env/TF_CPP_MIN_LOG_LEVEL": "the base has it, --verbose or not",
    "/components/pathways-worker/env/TPU_MIN_LOG_LEVEL": "the base has it, --verbose or not",
    "/pods/tolerations": "those of labels that other pools of the cluster have",
}
"""Facts in which each render may differ from gcluster's."""
LISTED_FOR = {
    "--gke-nap-provisioning": "/pods/nodeSelector/cloud.google.com/gke-",
    "--restart-on-exit-codes 42": "/pods/exitCodes",
    "--pathways-colocated": "/components/pathways-",
    "--pathways-head-np": "/head/nodeSelector",
}
"""Ways to facts that differ for some arguments; a remark says so."""


def repository(*more: Object, queues: tuple[str, ...] = ()) -> Repository:
    """Return a repository with a cluster that has some further pools, and LocalQueues in `default`."""
    cluster_queue = {
        "name": "q",
        "quota": [{"pool": "v6e", "nominalSlices": 9}],
        "localQueues": [{"name": name} for name in queues],
    }
    body: Object = {"mode": "Standard", "managed": False, "project": "p", "location": "us-west4"}
    body |= {"pools": [*POOLS, *more], **({"clusterQueues": [cluster_queue]} if queues else {})}
    body |= {"existing": [{"kind": "PriorityClass", "name": "*"}]}
    cluster = {**HEAD, "kind": "TPUCluster", "metadata": {"name": "c1"}, "spec": body}
    files = [SourceFile("clusters/c1.yaml", json.dumps(cluster))]
    return read_repository(files, Settings(), package(), read_text)


REPOSITORY = repository()


def words(args: str, slice_args: str = SLICE) -> list[str]:
    """Return the words of a command."""
    return ["gcluster", "job", "submit", *ALWAYS, *shlex.split(f"{BASE} {slice_args} {args}")]


def imported(args: str, slice_args: str = SLICE, *more: Object) -> ImportedCommand | tuple[Problem, ...]:
    """Return what is imported of arguments."""
    return imported_command(words(args, slice_args), GCLUSTER, "c1", repository(*more))


def spec(args: str, slice_args: str = SLICE) -> Any:
    """Return the spec of arguments that can be imported."""
    found = imported(args, slice_args)
    assert isinstance(found, ImportedCommand), found
    return found.document["spec"]


def refusals(args: str) -> list[str]:
    """Return the messages of the errors of arguments."""
    found = imported(args)
    assert not isinstance(found, ImportedCommand), found.document
    return [problem.message for problem in errors(found)]


def remarks(args: str) -> list[str]:
    """Return what is said of arguments beside cluster, location, project and queue."""
    found = imported(args)
    assert isinstance(found, ImportedCommand), found
    said = [problem.message for problem in found.remarks]
    return [one for one in said if one.split()[0] not in ("--cluster", "--location", "--project", "--queue")]


def pools_of(args: str) -> list[Object]:
    """Return the pools that arguments need beside the others."""
    head = {"name": "head", "machineType": "n2-standard-64", "nodes": 4}
    wanted = {"SPOT": SPOT, "gke-nap-reservation": RESERVED, "pathways-head-np": head}
    return [pool for word, pool in wanted.items() if word in args]


def _name(row: Object) -> str:
    return f"{row['args']} {row.get('slice', '')}".strip()


@pytest.mark.parametrize("row", DATA["flags"], ids=_name)
def test_flags_render_what_gcluster_renders(row: Object) -> None:
    """Each flag has the effect that it has in gcluster's dry run, but for what is listed, or is refused."""
    args = row["args"]
    found = imported(args, row.get("slice", SLICE), *pools_of(args))
    known = [ident for word, ident in REFUSED.items() if word in args]
    if known or ("refused" in row and args not in ACCEPTED):
        assert not isinstance(found, ImportedCommand), found.document
        assert set(known) <= set(places(errors(found)))
        return
    assert isinstance(found, ImportedCommand), found
    if "refused" in row:
        return

    found.document["spec"]["naming"] = "Fixed"
    jobset, _ = rendered(found.document, "JobSet", repository(*pools_of(args)))
    assert jobset is not None

    base = DATA["bases"]["pathways" if "pathways-gcs-location" in args else "plain"]
    wanted = {key: value for key, value in {**flat(base), **row["facts"]}.items() if value is not None}
    ours = flat(facts(jobset))
    for one in (wanted, ours):
        one["/program/mounts"] = sorted(one.get("/program/mounts", ()))
    listed = [*LISTED, *(way for word, way in LISTED_FOR.items() if word in args)]
    differ = [key for key in sorted({*wanted, *ours}) if wanted.get(key) != ours.get(key)]
    assert [] == [key for key in differ if not key.startswith(tuple(listed))]


def test_the_file_is_short() -> None:
    """A plain command becomes the fields that it says, and gcluster's host network and restart."""
    assert {
        "clusters": ["c1"],
        "queueName": "multislice-queue",
        "tpu": "v6e-4x4",
        "hostNetwork": True,
        "container": {"image": "python:3.12", "script": "python train.py"},
        "failurePolicy": {"maxRestarts": 1},
    } == spec("")


def test_every_flag_of_the_command_is_said_or_taken() -> None:
    """A flag becomes a field, or a note says why it does not."""
    assert [
        "--gke-ttl-after-finished is left out: the next sync would start a deleted run again",
        "--platform is left out: it is that of an image that gcluster builds",
        "--no-color is left out: it is about the machine that submits",
    ] == remarks("--gke-ttl-after-finished 90s --platform linux/arm64 --no-color")
    assert ["--compute-type is 'tpu7x-64': gcluster takes --topology 2x2x2 instead of its number"] == remarks(
        "--compute-type tpu7x-64 --topology 2x2x2"
    )
    assert ["--restart-on-exit-codes is left out: no code restarts a run whose --restarts is 0"] == remarks(
        "--restarts 0 --restart-on-exit-codes 42"
    )


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ("--base-image a --build-context .", "gcluster builds an image"),
        ("--num-nodes 4", "gcluster refuses it for TPUs"),
        ("--compute-type n2-standard-64", "'n2-standard-64' is not a TPU of gcluster"),
        ("--compute-type tpu7x-128", "gcluster has no topology for 'tpu7x-128'"),
        ("--gke-scheduler gke.io/tpu-provisioning-request", "it asks for queued provisioning"),
        ("--gke-mtc-enabled", "the volumes that it adds are not known"),
        ("--num-slices two", "'two' is not a whole number"),
        ("--grace-period soon", "'soon' is not a duration"),
        ("--grace-period=-5s", "'-5s' is not a duration"),
        ("--restart-on-exit-codes 4x", "'4x' is not an exit code"),
        ("--mount 'a:/a\nb:/b'", "is not a line of CSV"),
        (f"--grace-period {'9' * 400}h", "is not a duration"),
        ("--node-constraint ,", "'' is not a pair"),
        ("--node-constraint cloud.google.com/gke-spot=false", "gke-spot is not a kind of provisioning"),
        (
            "--node-constraint cloud.google.com/gke-spot=true --gke-nap-provisioning on-demand",
            "gke-spot is not a kind of provisioning of its own",
        ),
        (
            "--node-constraint cloud.google.com/gke-spot=true,cloud.google.com/gke-accelerator-count=4",
            "gke-accelerator-count is not a kind of provisioning of its own",
        ),
        ("--gke-nap-provisioning reservation", "it needs --gke-nap-reservation"),
        ("--mount 'gs://b;/data;profile=training'", "'profile=training' is not known"),
        ("--gke-nap-reservation r1", "it needs --gke-nap-provisioning=reservation"),
        ("--image=", "--image is missing"),
        ("--foo", "unknown option 'foo'"),
        ("-xyz", "unknown option 'x'"),
        ("--queue", "its value is missing"),
        ("--verbose=maybe", "'maybe' is not true or false"),
        ("train.py", "'train.py' does not belong to an option"),
        ("-- --verbose", "'--verbose' does not belong to an option"),
        ("-", "'-' does not belong to an option"),
    ],
)
def test_what_cannot_be_imported_is_refused(args: str, why: str) -> None:
    """Each refusal says what is wrong."""
    assert any(why in message for message in refusals(args)), refusals(args)


@settings(max_examples=share(200), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([option.name for option in OPTIONS]),
            st.text()
            | st.sampled_from(["gs://:/x", ";;", "k=|", "9" * 5000, "1e9", "a\nb", "4x", "v6e-16", "/"]),
        ),
        max_size=5,
    )
)
def test_no_values_break_the_import(flags: list[tuple[str, str]]) -> None:
    """Whatever a command says, it becomes a file or problems."""
    command = [*words(""), *(f"--{name}={value}" for name, value in flags)]

    found = imported_command(command, GCLUSTER, "c1", REPOSITORY)

    assert isinstance(found, ImportedCommand) or errors(found)


def test_all_refusals_come_at_once() -> None:
    """Nobody mends a command flag by flag."""
    assert 3 == len(refusals("--num-nodes 4 --foo --gke-mtc-enabled"))
    assert 3 == len(refusals("--num-slices two --grace-period soon --env A"))


def test_words_that_are_no_submit_are_refused() -> None:
    """Only `gcluster job submit` starts a run."""
    for line in ("", "xpk workload create", "gcluster job list --name x", "gcluster deploy blueprint"):
        found = imported_command(line.split(), GCLUSTER, "c1", repository())
        assert not isinstance(found, ImportedCommand)
        assert "gcluster job submit" in errors(found)[0].hint


def test_flags_may_be_anywhere() -> None:
    """Persistent flags may be before the verb, and the program may have a path."""
    line = f"./gcluster --no-color job -c c submit -n x {BASE} {SLICE}"
    found = imported_command(shlex.split(line), GCLUSTER, "c1", repository())

    assert isinstance(found, ImportedCommand), found
    assert {"name": "x"} == found.document["metadata"]


def test_placeholders_stay_where_they_can() -> None:
    """A variable of a shell stays in the command, and is refused in a name."""
    assert "python $MODEL" == spec("--command 'python $MODEL'")["container"]["script"]
    found = imported("--name '${NAME}' --num-slices '<slices>' --queue YOUR_QUEUE")
    assert not isinstance(found, ImportedCommand)
    assert [
        ("IMP022", "--name is '${NAME}'", "write the value of NAME"),
        ("IMP022", "--num-slices is '<slices>'", "write the value of slices"),
        ("IMP022", "--queue is 'YOUR_QUEUE'", "write the value"),
    ] == [(one.id, one.message, one.hint) for one in errors(found)]


def test_variables_of_the_machine_are_not_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the shell left is what the person meant to write."""
    monkeypatch.setenv("HOME", "/root")

    assert [{"name": "A", "value": "$HOME"}] == spec("--env 'A=$HOME'")["container"]["env"]


def test_mounts_of_later_releases() -> None:
    """Semicolons separate the parts of a mount, and a folder of a bucket is mounted alone."""
    found = spec(
        "--mount 'gs://b/run/1;/data;rw;options=implicit-dirs,debug' --mount 'pvc://claim;/claim'"
        " --mount 'c;/c;rw'"
    )

    assert [{"bucket": "b", "mountPath": "/data", "options": "only-dir=run/1,implicit-dirs,debug"}] == found[
        "gcsFuse"
    ]
    assert [
        {"name": "vol-1", "persistentVolumeClaim": {"claimName": "claim"}},
        {"name": "vol-2", "persistentVolumeClaim": {"claimName": "c"}},
    ] == found["podTemplate"]["spec"]["volumes"]
    assert [
        {"name": "vol-1", "mountPath": "/claim", "readOnly": True},
        {"name": "vol-2", "mountPath": "/c"},
    ] == found["container"]["volumeMounts"]


def test_labels_of_nodes_become_provisioning() -> None:
    """A constraint that `provisioning` selects goes there."""
    found = imported("--node-constraint cloud.google.com/gke-spot=true,disk=ssd", SLICE, SPOT)

    assert isinstance(found, ImportedCommand), found
    assert "Spot" == found.document["spec"]["provisioning"]
    assert {"disk": "ssd"} == found.document["spec"]["podTemplate"]["spec"]["nodeSelector"]


def test_pathways_mounts_into_the_program() -> None:
    """The head mounts the volumes, as the program runs there; its pods have the same account."""
    found = spec("--pathways --pathways-gcs-location gs://b/t --mount claim:/claim --service-account sa")

    assert {
        "pathwaysDir": "gs://b/t",
        "head": {
            "podTemplate": {
                "spec": {
                    "serviceAccountName": "sa",
                    "volumes": [{"name": "vol-0", "persistentVolumeClaim": {"claimName": "claim"}}],
                }
            }
        },
    } == found["pathways"]
    assert {"spec": {"serviceAccountName": "sa"}} == found["podTemplate"]


def test_a_headless_pathways_has_no_program() -> None:
    """What is the program's is left out, and said."""
    args = "--pathways --pathways-gcs-location gs://b/t --pathways-headless --env A=1 --mount gs://b:/data"

    assert not {"container", "gcsFuse"} & spec(args).keys()
    assert [
        f"--{flag} is left out: a headless Pathways starts no program"
        for flag in ("command", "env", "image", "mount")
    ] == remarks(args)


def test_problems_of_the_render_are_those_of_the_import() -> None:
    """A name that no object may have is refused with the reason."""
    assert any("Not_a_name" in message for message in refusals("--name Not_a_name"))


def test_the_queue_is_the_only_one_of_the_namespace() -> None:
    """It is that of gcluster; where there are several, somebody must choose."""
    of_one, of_two = (
        imported_command(words(""), GCLUSTER, "c1", repository(queues=queues))
        for queues in (("a",), ("a", "b"))
    )

    assert isinstance(of_one, ImportedCommand), of_one
    assert "a" == of_one.document["spec"]["queueName"]
    assert "--queue is missing: 'a' is that of 'default'" in [said.message for said in of_one.remarks]
    assert not isinstance(of_two, ImportedCommand)
    assert ["--queue is missing"] == [said.message for said in errors(of_two)]


def test_command_writes_the_file_once(repo: Repo) -> None:
    """`--write` makes the file; notes say what is left out."""
    command = ("import", "gcluster", "--cluster", "c1")
    repo.cluster()
    line = "gcluster job submit --name=llama --image=python:3.12 --compute-type v5litepod-16 --project=p"
    submit = [*line.split(), "--command=python train.py"]
    shown = repo.run(*command, "--", *submit)
    done = repo.run(*command, "--write", "-o", "json", "--", *submit)
    again = repo.run(*command, "--write", "--", *submit, code=1)
    other = repo.run(*command, "--write", "--", *submit, "--name=other")
    refused = repo.run(*command, "--", *submit, "--num-nodes=2", code=1)

    assert "tpu: v5e-4x4\n" in shown.out
    assert "workloads/other.yaml: the next render starts it: slicewright render\n" == other.out
    assert "note: IMP031 --project is left out: the TPUCluster has it" in shown.err
    assert ["workloads/llama.yaml"] == done.json["written"]
    assert "IMP006" in again.err
    assert "nothing is written" in again.err
    assert "IMP030 --num-nodes cannot be imported: gcluster refuses it for TPUs" in refused.err
    assert yaml.safe_load((repo.root / "workloads/llama.yaml").read_text()) == done.json["workload"]
