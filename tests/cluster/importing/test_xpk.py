"""`slicewright import xpk`: the TPUWorkload renders what xpk's own dry run asks for."""

import json
import re
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

from slicewright.catalogue.resolve import Refusal, TpuRequest, resolve
from slicewright.cluster.importing.command_line import ImportedCommand, imported_command
from slicewright.cluster.importing.workload import rendered
from slicewright.cluster.importing.xpk import OPTIONS, XPK
from slicewright.intent.source import SourceFile
from slicewright.kubernetes.problem import Problem, errors
from slicewright.kubernetes.types import Object
from slicewright.rendering.io.package_data import catalogue, package
from slicewright.rendering.repository import Repository, Settings, read_repository

from .facts import facts, flat
from .xpk_facts import ALWAYS, BASES, FILE

PROJECT = Path(__file__).resolve().parents[3]
HEAD = {"apiVersion": "slicewright.dev/v1alpha1"}
DATA = yaml.safe_load(FILE.read_text(encoding="utf-8"))
TPUS = ("v6e-16", "v6e-8", "v5litepod-8", "tpu7x-16", "v5p-128")
POOLS: list[Object] = [
    *({"name": tpu, "tpu": tpu, "slices": 9} for tpu in TPUS),
    {"name": "cpu-np", "machineType": "n2-standard-64", "nodes": 4},
]
ACCEPTED = ("--spot --on-demand", "--use-pathways")
"""What xpk takes and we refuse: two ways to get nodes, of which it reads none here."""
LISTED = {
    "/backoffLimit": "of workers under Pathways, which restart in their place",
    "/components/pathways-proxy/env": "variables of the base",
    "/components/pathways-rm/env": "variables of the base",
    "/components/pathways-worker/env": "variables of the base",
    "/head/nodeSelector": "the node pools of cpu-np have numbers here",
    "/pods/exitCodes": "no exit code matters where nothing restarts",
    "/pods/tolerations": "those of labels that other pools of the cluster have",
    "/pods/nodeSelector/cloud.google.com/placement-policy-name": "the topology selects the slice",
}
"""Facts in which each render may differ from xpk's."""
LISTED_FOR = {
    "--enable-debug-logs": "/program/",
    "--deploy-stacktrace-sidecar": "/program/mounts",
    "--elastic-slices": "/components/pathways-",
    "--colocated": "/components/pathways-proxy/args",
    "create-pathways": "/maxRestarts",  # missing is 0
}
"""Ways to facts that differ for some arguments: what xpk exports in the script is a variable here."""


def repository(*queues: str, classes: str = "*") -> Repository:
    """Return a repository with a cluster that has LocalQueues in `default`, and PriorityClasses."""
    own = [{"name": name} for name in queues]
    cluster_queue = {"name": "q", "quota": [{"pool": "v6e-16", "nominalSlices": 9}], "localQueues": own}
    body: Object = {"mode": "Standard", "managed": False, "project": "p", "location": "us-west4"}
    body |= {"pools": POOLS, **({"clusterQueues": [cluster_queue]} if queues else {})}
    body |= {"existing": [{"kind": "PriorityClass", "name": classes}]}
    cluster = {**HEAD, "kind": "TPUCluster", "metadata": {"name": "c1"}, "spec": body}
    files = [SourceFile("clusters/c1.yaml", json.dumps(cluster))]
    return read_repository(files, Settings(), package(), read_text)


def words(args: str) -> list[str]:
    """Return the words of a command."""
    verb, _, rest = args.partition(" ")
    base = shlex.split(BASES["pathways" if verb == "create-pathways" else "plain"])
    program = "" if "--headless" in rest else base[1:]
    tpu = [] if "--device-type" in rest else [ALWAYS[2]]
    return ["xpk", "workload", verb, *ALWAYS[:2], *tpu, ALWAYS[3], *program, *shlex.split(rest)]


def imported(args: str, *queues: str) -> ImportedCommand | tuple[Problem, ...]:
    """Return what is imported of arguments."""
    return imported_command(words(args), XPK, "c1", repository(*queues))


def spec(args: str, *queues: str) -> Any:
    """Return the spec of arguments that can be imported."""
    found = imported(args, *queues)
    assert isinstance(found, ImportedCommand), found
    return found.document["spec"]


def remarks(args: str, *queues: str) -> list[str]:
    """Return what is said of arguments beside the cluster and the wrapper of the command."""
    found = imported(args, *queues)
    assert isinstance(found, ImportedCommand), found
    usual = ("--cluster is left out", "--command runs without", "hostNetwork, privileged")
    return [problem.message for problem in found.remarks if not problem.message.startswith(usual)]


def refusals(args: str, *queues: str) -> list[str]:
    """Return the messages of the errors of arguments."""
    found = imported(args, *queues)
    assert not isinstance(found, ImportedCommand), found.document
    assert {"IMP030"} >= {place.partition(" ")[0] for place in places(errors(found))}
    return [problem.message for problem in errors(found)]


@pytest.mark.parametrize("row", DATA["flags"], ids=lambda row: row["args"])
def test_options_render_what_xpk_renders(row: Object) -> None:
    """Each option has the effect that it has in xpk's dry run, but for what is listed, or is refused."""
    args = row["args"]
    found = imported(args)
    if "refused" in row or any(word in args for word in ACCEPTED):
        if "--device-type" not in args:  # beside --tpu-type, which the dry run has too
            assert not isinstance(found, ImportedCommand), found.document
        return
    assert isinstance(found, ImportedCommand), found

    found.document["spec"]["naming"] = "Fixed"
    jobset, _ = rendered(found.document, "JobSet", repository())
    assert jobset is not None

    base = DATA["bases"]["pathways" if args.startswith("create-pathways") else "plain"]
    wanted = {key: value for key, value in {**flat(base), **row["facts"]}.items() if value is not None}
    ours = flat(facts(jobset))
    listed = [*LISTED, *(way for word, way in LISTED_FOR.items() if word in args)]
    differ = [key for key in sorted({*wanted, *ours}) if wanted.get(key) != ours.get(key)]
    assert [] == [
        (key, wanted.get(key), ours.get(key)) for key in differ if not key.startswith(tuple(listed))
    ]
    if "--max-restarts" in args and "pathways" not in args:
        assert wanted["/pods/exitCodes"] == ours["/pods/exitCodes"]


@pytest.mark.parametrize("row", DATA["slices"], ids=lambda row: f"{row['accelerator']}-{row['chips']}")
def test_every_name_of_xpk_means_the_same_slice(row: Object) -> None:
    """Accelerator, topology, hosts and chips of a host are those of xpk; a name that GKE lacks is refused."""
    for one in row["names"].split():
        written, _, hosts = one.partition("*")
        name, _, topology = written.partition("=")
        found = resolve(catalogue(), TpuRequest(name=name))
        if isinstance(found, Refusal):
            continue
        wanted = (row["accelerator"], topology or name.partition("-")[2], int(hosts), row["chips"])
        assert wanted == (found.accelerator, found.topology, found.hosts, found.chips_per_host), name


def test_every_option_of_both_commands_is_in_the_table() -> None:
    """The parsers of xpk have no option that is unknown here, and none is on the other command only."""
    declared = yaml.safe_load(Path(__file__).with_name("xpk_options.yaml").read_text(encoding="utf-8"))
    verbs = ("create", "create-pathways")
    wanted = {(name, verb) for verb in verbs for name in (*declared["both"], *declared[verb])}

    assert set() == wanted - {
        (option.name, verb) for option in OPTIONS for verb in verbs if option.only in ("", verb)
    }


def test_page_has_every_option() -> None:
    """docs/reference/xpk.md lists each option once: those that become fields, and the others."""
    page = (PROJECT / "docs/reference/xpk.md").read_text(encoding="utf-8")
    fields, others = page.split("| flag without a field |")
    listed = {
        part: sorted(
            re.findall(r"`--([a-z-]+)`", "".join(re.findall(r"^\| (`--.*?) \|", text, re.MULTILINE)))
        )
        for part, text in (("fields", fields), ("others", others.partition("\n## ")[0]))
    }

    assert listed == {
        "fields": sorted(option.name for option in OPTIONS if option.becomes),
        "others": sorted(option.name for option in OPTIONS if not option.becomes),
    }


def test_the_file_is_short() -> None:
    """A plain command becomes the fields that it says, and what xpk gives every run."""
    assert {
        "clusters": ["c1"],
        "queueName": "multislice-queue",
        "tpu": "v6e-16",
        "hostNetwork": True,
        "privileged": True,
        "container": {
            "name": "jax-tpu",
            "image": "python:3.12",
            "script": "python train.py",
            "volumeMounts": [{"name": "dshm-2", "mountPath": "/dev/shm"}],  # noqa: S108
        },
        "podTemplate": {
            "spec": {
                "priorityClassName": "medium",
                "volumes": [{"name": "dshm-2", "emptyDir": {"medium": "Memory"}}],
            }
        },
    } == spec("create")
    assert {"maxRestarts": 2, "restartOnExitCodes": [42, "127-255"]} == spec("create --max-r 2")[
        "failurePolicy"
    ]


def test_what_is_not_taken_over_is_said() -> None:
    """A note says what an option does not become, or becomes beside."""
    assert [
        "--ttl-seconds-after-finished is left out: the next sync would start a deleted run again"
    ] == remarks("create --ttl-seconds-after-finished 9")
    assert [
        "--restart-on-exit-codes is left out: no code restarts a run whose --max-restarts is 0"
    ] == remarks("create --restart-on-exit-codes 7")
    pathways = "create-pathways --pathways-gcs-location gs://b/d"
    assert ["--max-restarts is left out: xpk writes it to no JobSet of Pathways"] == remarks(
        f"{pathways} --max-restarts 3"
    )
    assert ["--max-slice-restarts is left out: it counts only with elastic slices"] == remarks(
        f"{pathways} --max-slice-restarts 3"
    )
    assert "--command is left out, and --docker-image: a headless Pathways starts no program" in remarks(
        "create-pathways --headless"
    )


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("", ["IMP033"]),
        ("gs://cloud-pathways-staging/me", ["IMP033"]),
        ("gs://cloud-pathways-staging-2/me", []),
    ],
)
def test_a_bucket_that_others_cannot_write_is_warned_of(folder: str, expected: list[str]) -> None:
    """The default bucket of xpk belongs to Google; `--pathways-gcs-location` names another one."""
    found = imported(f"create-pathways --pathways-gcs-location '{folder}'")

    assert isinstance(found, ImportedCommand), found
    assert expected == [one.id for one in found.remarks if one.severity == "warning"]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ("--spot", "Spot"),
        ("--flex", "FlexStart"),
        ("--reservation projects/p/reservations/r1", {"type": "Reservation", "name": "r1"}),
    ],
)
def test_ways_to_get_nodes_become_provisioning(args: str, expected: str | Object) -> None:
    """Nodes on demand are those of no word."""
    assert expected == spec(f"create {args}")["provisioning"]
    assert "provisioning" not in spec("create --on-demand")


def test_queue_is_that_of_the_cluster_where_it_has_one() -> None:
    """The queue of xpk where the cluster has it, or has none that is known."""
    assert "multislice-queue" == spec("create", "a", "multislice-queue")["queueName"]
    assert "a" == spec("create", "a")["queueName"]
    assert ["--cluster has no 'multislice-queue' of xpk: queueName is 'a'"] == remarks("create", "a")
    assert [
        "--cluster cannot be imported: namespace 'default' has no LocalQueue 'multislice-queue', only a, b"
    ] == refusals("create", "a", "b")


def test_run_can_be_one_of_my_queues_namespaces_and_pools() -> None:
    """What is chosen counts instead of what xpk takes, and the file says what comes from xpk's habits."""
    team = {"name": "mine", "namespace": "team"}
    quota = [{"pool": "v6e-16", "nominalSlices": 9}]
    body: Object = {"managed": False, "project": "p", "location": "us-west4"}
    body["pools"] = [*POOLS, {"name": "heads", "machineType": "n2-standard-64"}]
    body["clusterQueues"] = [{"name": "q", "quota": quota, "localQueues": [team]}]
    cluster = {**HEAD, "kind": "TPUCluster", "metadata": {"name": "c1"}, "spec": body}
    known = read_repository(
        [SourceFile("clusters/c1.yaml", json.dumps(cluster))], Settings(), package(), read_text
    )
    command = words("create-pathways")

    refused = imported_command(command, XPK, "c1", known)
    chosen = {"queue": "mine", "namespace": "team", "head-pool": "heads"}
    found = imported_command(command, XPK, "c1", known, chosen)

    assert not isinstance(refused, ImportedCommand)
    assert ["add --namespace NAMESPACE before the command"] == [one.hint for one in errors(refused)]
    assert isinstance(found, ImportedCommand), found
    document = found.document
    assert ("team", "mine", "heads") == (
        document["metadata"]["namespace"],
        document["spec"]["queueName"],
        document["spec"]["pathways"]["head"]["pool"],
    )
    assert 1 == sum("what xpk gives every run" in remark.message for remark in found.remarks)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ("create --base-docker-image a --script-dir .", "xpk builds an image"),
        ("create --env-file f", "slicewright does not read the file"),
        ("create --storage s", "xpk looks it up in the cluster"),
        ("create --priority urgent", "'urgent' is not known"),
        ("create --num-slices two", "'two' is not a whole number"),
        ("create --max-restarts 1 --restart-on-exit-codes 4x", "'4x' is not an exit code"),
        ("create --env A", "'A' is not a valid variable"),
        ("create --device-type v6e-8 --tpu-type v6e-8", "it excludes --tpu-type"),
        ("create --docker-image ''", "--docker-image is missing, so xpk would build an image"),
        ("create --command ''", "--command is missing"),
        ("create --tpu-type ''", "--tpu-type is missing"),
        ("create --foo", "unknown option 'foo'"),
        ("create --headless", "unknown option 'headless'"),
        ("create --de", "'--de' can mean several options"),
        ("create --command --version", "its value is missing"),
        ("create --quiet=yes", "'yes' is not true or false"),
        ("create train.py", "'train.py' does not belong to an option"),
        ("create --use-pathways", "xpk refuses it"),
        ("delete", "only 'xpk workload create' or 'xpk workload create-pathways' can be imported"),
    ],
)
def test_what_cannot_be_imported_is_refused(args: str, why: str) -> None:
    """Each refusal says what is wrong."""
    assert any(why in message for message in refusals(args)), refusals(args)


@pytest.mark.parametrize("program", ["xpk", "./xpk", "python3 xpk.py", "/usr/bin/python3.11 src/xpk.py"])
def test_program_may_have_a_path_or_an_interpreter(program: str) -> None:
    """Documents begin commands in all of these ways."""
    found = imported_command([*program.split(), *words("create")[1:]], XPK, "c1", repository())

    assert isinstance(found, ImportedCommand), found


def test_other_commands_are_refused() -> None:
    """Only the two commands start a run."""
    for line in ("", "python3", "gcluster job submit", "xpk cluster create --cluster c"):
        found = imported_command(line.split(), XPK, "c1", repository())
        assert not isinstance(found, ImportedCommand)
        assert "xpk workload create" in errors(found)[0].hint


def test_placeholders_stay_where_they_can() -> None:
    """A variable of a shell stays in the command, and is refused in a name."""
    assert "python $MODEL" == spec("create --command 'python $MODEL'")["container"]["script"]
    found = imported("create --workload '${NAME}'")
    assert not isinstance(found, ImportedCommand)
    assert ["IMP022"] == [one.id for one in errors(found)]


NAMES = [f"--{option.name}" for option in OPTIONS]
VALUES = st.sampled_from(
    ["", "a", "-1", "0", "1", "9" * 30, "x=y", "1-2,3", "v6e-8", "\n", "é", "--spot", "${A}"]
)


@settings(max_examples=share(60), deadline=None)
@given(
    st.sampled_from(["create", "create-pathways"]),
    st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=4),
)
def test_any_value_becomes_a_field_or_a_problem(verb: str, pairs: list[tuple[str, str]]) -> None:
    """No value ends the import with a traceback."""
    line = [*words(verb), *(word for pair in pairs for word in (f"{pair[0]}={pair[1]}",))]

    found = imported_command(line, XPK, "c1", repository())

    assert isinstance(found, ImportedCommand) or errors(found)


def test_command_prints_or_writes_the_file(repo: Repo) -> None:
    """Everything after `--` is the command; the file is rendered next."""
    repo.cluster("c1", "pools: [{name: v6e, tpu: v6e-16, slices: 2}]")
    line = shlex.join(words("create --zone z"))

    shown = repo.run(*shlex.split(f"import xpk --cluster c1 -- {line}"))
    written = repo.run(*shlex.split(f"import xpk --cluster c1 --write -o json -- {line}")).json

    assert "script: python train.py" in shown.out
    assert "IMP031 --zone is left out: the TPUCluster has it" in shown.err
    assert (["workloads/x.yaml"], "v6e-16") == (written["written"], written["workload"]["spec"]["tpu"])


@pytest.mark.parametrize("args", ["create --priority high", "create-pathways --priority high"])
def test_priority_is_that_of_the_queue_where_pods_have_no_class(args: str) -> None:
    """A PriorityClass that a cluster does not have would keep all pods from starting; the note says it."""
    found = imported_command(words(args), XPK, "c1", repository("q", classes="other"))

    assert isinstance(found, ImportedCommand), found
    made = found.document["spec"]
    assert "high" == made["workloadPriorityClassName"]
    assert "priorityClassName" not in json.dumps(made)
    (note,) = (one for one in found.remarks if one.message.startswith("--priority"))
    assert "becomes workloadPriorityClassName" in note.message
