"""`slicewright import cluster` against a kubectl that answers as clusters do, and as they do not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner
from tests.conftest import Done
from tests.words import places

from slicewright.cli.main import cli
from slicewright.importing import kubectl

from . import stub
from .kit import TPU, flavor, queue, slice_nodes, with_labels

if TYPE_CHECKING:
    from tests.conftest import Repo

pytestmark = pytest.mark.slow  # whole repositories are rendered, compared or read

EXTEND = Path(__file__).parents[2] / "docs" / "how-to" / "extend-slicewright.md"
GROUP = {"versions": [{"version": "v1beta2"}, {"version": "v1beta1"}]}
NAME = "/apis/kueue"
FOUND: dict[str, Any] = {
    "config": "OUT ctx\nother\n",
    NAME: GROUP,
    "nodes": [*slice_nodes("np-0")],
    "resourceflavors": [flavor("mine", {"cloud.google.com/gke-nodepool": "np-0"})],
    "clusterqueues": [queue("q", ("mine", {TPU: 8}))],
}


@pytest.fixture
def program(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the stub on PATH as the only kubectl, with a cluster to answer from, and return its folder."""
    folder = tmp_path_factory.mktemp("bin")
    stub.install(folder)
    stub.answers(folder, **FOUND)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("SLICEWRIGHT_KUBECTL", raising=False)
    return folder


def run(*options: str, code: int = 0) -> Done:
    """Run the import of the context `ctx`."""
    done = CliRunner().invoke(
        cli, ["import", "cluster", "--context", "ctx", *options], prog_name="slicewright"
    )
    assert code == done.exit_code, done.output
    return Done(done.exit_code, done.stdout, done.stderr)


def test_generation_of_the_repository(program: Path, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes of a generation that only the repository's own catalogue knows become a pool."""
    (text,) = (part for part in EXTEND.read_text("utf-8").split("```yaml\n") if part.startswith("generation"))
    repo.write("catalog/v9.yaml", text.partition("```")[0])
    labels = {"gke-tpu-accelerator": "tpu-v9-slice", "gke-tpu-topology": "2x4", "gke-accelerator-count": "4"}
    labels = {f"cloud.google.com/{key}": value for key, value in {**labels, "gke-nodepool": "np-0"}.items()}
    labels["node.kubernetes.io/instance-type"] = "ct9-standard-4t"
    stub.answers(program, **FOUND | {"nodes": [with_labels(name, labels) for name in ("a", "b")]})
    monkeypatch.chdir(repo.root)

    (pool,) = yaml.safe_load(run().out)["spec"]["pools"]

    assert ("np", "v9-8", 1) == (pool["name"], pool["tpu"], pool["slices"])


def test_file_is_printed(program: Path) -> None:
    """Comments and all, on stdout; the notes are in the JSON form too."""
    done = run()

    document = yaml.safe_load(done.out)
    assert (document["metadata"]["name"], document["spec"]["managed"]) == ("ctx", False)
    assert document["spec"]["clusterQueues"] == [{"name": "q", "quota": [{"pool": "np", "nominalSlices": 1}]}]
    as_json = run("-o", "json").json
    assert document == as_json["cluster"]
    assert [note["path"] for note in as_json["notes"]] == ["", "", "spec.pools[0]"]
    assert (as_json["written"], as_json["problems"], done.err) == ("", [], "")
    assert stub.calls(program)


def test_kubectl_only_gets(program: Path) -> None:
    """And no secret; the context is named in every question, and no shell is between."""
    run("--kubeconfig", __file__)

    first, *others = stub.calls(program)
    assert first == [f"--kubeconfig={__file__}", "config", "get-contexts", "-o", "name"]
    assert {tuple(call[:2]) for call in others} == {(f"--kubeconfig={__file__}", "--context=ctx")}
    assert {call[3] for call in others} == {"get"}
    assert not [call for call in others if "secret" in " ".join(call)]
    assert "clusterqueues.v1beta2.kueue.x-k8s.io" in [call[4] for call in others]


def test_file_is_written_once(program: Path, repo: Repo) -> None:
    """To clusters/NAME.yaml; a file that exists is left alone."""
    done = run("--name", "c9", "--write", "-C", str(repo.root))

    assert (done.out, done.err) == ("", "clusters/c9.yaml written\n")
    text = repo.read("clusters/c9.yaml")
    first, second, _ = text.split("\n", 2)
    assert first.startswith("# yaml-language-server: $schema=https://slicewright.dev/docs/schemas/")
    assert second.startswith("# Read from the cluster of context 'ctx'")
    assert repo.run("render", "-o", "json").json["problems"] == []

    repo.write("clusters/c9.yaml", "mine")
    again = run("--name", "c9", "--write", "-C", str(repo.root), "-o", "json", code=1).json
    assert ([problem["id"] for problem in again["problems"]], again["written"]) == (["IMP006"], "")
    assert repo.read("clusters/c9.yaml") == "mine"
    assert stub.calls(program)


def test_folder_that_cannot_be_written_is_a_problem(program: Path, repo: Repo) -> None:
    """Where a file stands in the place of the folder."""
    (repo.root / "clusters" / "c1.yaml").unlink()
    (repo.root / "clusters").rmdir()
    repo.write("clusters", "no folder")

    assert "IMP006" in places(run("--write", "-C", str(repo.root), code=1).err)
    assert stub.calls(program)


def test_wrong_words_are_wrong_usage(program: Path) -> None:
    """A context that is not there, with the nearest; a name that no cluster may have."""
    assert (
        "did you mean 'other'?" in CliRunner().invoke(cli, ["import", "cluster", "--context", "othr"]).stderr
    )
    assert "is not a valid name for a cluster" in run("--name", "A b", code=2).err
    stub.answers(program, **{**FOUND, "config": "OUT "})
    assert "kubectl config get-contexts shows them" in run(code=2).err


def test_cluster_without_kueue_has_pools_only(program: Path) -> None:
    """A warning says so."""
    stub.answers(program, **{**FOUND, NAME: "Error from server (NotFound): the server could not find it"})

    done = run("-o", "json")

    assert done.json["cluster"]["spec"]["pools"] == [{"name": "np", "tpu": "v5litepod-8", "slices": 1}]
    assert [problem["id"] for problem in done.json["problems"]] == ["IMP004"]


def test_cluster_without_anything_is_a_warning(program: Path) -> None:
    """An empty file may be all there is to say."""
    stub.answers(program, config="OUT ctx\n", **{NAME: "Error (NotFound)"})

    done = run()

    assert "IMP005" in done.err
    assert yaml.safe_load(done.out)["spec"]["pools"] == []


def test_older_kueue_is_asked_in_its_words(program: Path) -> None:
    """Cohorts and Topologies were alpha for longer."""
    topology = {"metadata": {"name": "c"}, "spec": {"levels": [{"nodeLabel": "a"}]}}
    versions = {"versions": [{"version": "v1alpha1"}, {"version": "v1beta1"}]}
    stub.answers(program, **{**FOUND, NAME: versions, "cohorts": [], "topologies": [topology]})

    run()

    words = {word for call in stub.calls(program) for word in call if ".kueue.x-k8s.io" in word}
    assert {"cohorts.v1beta1.kueue.x-k8s.io", "cohorts.v1alpha1.kueue.x-k8s.io"} <= words
    assert "topologies.v1alpha1.kueue.x-k8s.io" not in words


FORBIDDEN = 'Error from server (Forbidden): {0} is forbidden: User "u" cannot list resource "{0}"'


def test_what_may_not_be_read_is_named(program: Path) -> None:
    """All of it at once, exit 1; what is only nice to know is left out in silence."""
    refused = {
        name: FORBIDDEN.format(name) for name in ("nodes", "clusterqueues", "deployments", "priorityclasses")
    }
    stub.answers(program, **{**FOUND, **refused})

    found = run("-o", "json", code=1).json["problems"]

    assert [(problem["id"], problem["message"].partition(":")[0]) for problem in found] == [
        ("IMP003", "you may not read nodes"),
        ("IMP003", "you may not read clusterqueues.v1beta2.kueue.x-k8s.io"),
    ]
    stub.answers(program, **{**FOUND, NAME: FORBIDDEN.format("x")})
    assert "IMP003" in run(code=1).err


SAYS = [
    ("Unable to connect to the server: dial tcp: i/o timeout", "i/o timeout", "try kubectl get nodes"),
    (
        "Unable to connect: getting credentials: exec: executable gke-gcloud-auth-plugin not found",
        "getting credentials",
        "install it and put it on PATH",
    ),
    ("", "the cluster does not answer", "try kubectl get nodes"),
    ("OUT no json", "kubectl did not print JSON", "try kubectl get nodes"),
]


@pytest.mark.parametrize(("said", "message", "hint"), SAYS)
def test_cluster_that_does_not_answer_is_exit_3(program: Path, said: str, message: str, hint: str) -> None:
    """With what kubectl said, and what to do about a helper program that is missing."""
    stub.answers(program, **{**FOUND, "nodes": said})

    done = run(code=3)

    assert done.err.startswith("IMP002 ")
    assert message in done.err
    assert hint in done.err


def test_cluster_that_never_answers_is_given_up(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a time."""
    stub.answers(program, **{**FOUND, "nodes": "SLEEP"})
    monkeypatch.setattr(kubectl, "_SECONDS", 1)

    assert "no answer within 1 s" in run(code=3).err


def test_kubectl_that_is_missing_is_exit_3(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On PATH and in the cache; one that a variable names has to be one; one that does not start is none."""
    (program / "kubectl").write_text("#!/nowhere\n", encoding="utf-8")
    assert "IMP001" in run(code=3).err
    (program / "kubectl").unlink()
    monkeypatch.setenv("SLICEWRIGHT_CACHE", str(program))
    assert "IMP001" in places(run(code=3).err)
    monkeypatch.setenv("SLICEWRIGHT_KUBECTL", str(program / "none"))
    assert "TOOL002" in run(code=3).err


def test_what_a_file_may_not_say_is_a_problem_of_the_file(program: Path) -> None:
    """Such as a flex-start node pool of a machine that cannot be had so: it is shown with its place."""
    labels = {
        "cloud.google.com/gke-flex-start": "true",
        "cloud.google.com/gke-max-run-duration-seconds": "31",
    }
    stub.answers(program, **{**FOUND, "nodes": slice_nodes("np-0", **labels)})

    done = run("--name", "c9", code=1)

    assert "clusters/c9.yaml:" in done.err
    assert "POOL012" in done.err
    assert yaml.safe_load(done.out)["kind"] == "TPUCluster"


AT = "items[0].spec.resourceGroups[0].flavors[0].resources[0]"


def named(name: object = "x", **fields: object) -> dict[str, Any]:
    """Return an object of a list."""
    return {"metadata": {"name": name}, **fields}


def quota(value: object) -> dict[str, Any]:
    """Return a queue with a quota of chips."""
    return queue("q", ("mine", {TPU: value}))


@pytest.mark.ci
@pytest.mark.parametrize(
    ("resource", "answer", "where"),
    [
        ("priorityclasses", {"items": 5}, "items"),
        ("priorityclasses", "OUT [1.5]", "the list"),
        ("priorityclasses", "OUT {}", "the list"),
        ("priorityclasses", [named([], value=1)], "items[0].metadata.name"),
        ("workloadpriorityclasses", [named(value={})], "items[0].value"),
        ("workloadpriorityclasses", [named(value=True)], "items[0].value"),
        ("clusterqueues", [quota([])], f"{AT}.nominalQuota"),
        ("clusterqueues", [quota("1e")], f"{AT}.nominalQuota"),
        ("clusterqueues", [named(spec={"preemption": 1})], "items[0].spec.preemption"),
        ("cohorts", [{"spec": {}}], "items[0]"),
        ("cohorts", [{"metadata": {}}], "items[0].metadata"),
        ("localqueues", [named(spec={"fairSharing": {"weight": {}}})], "items[0].spec.fairSharing.weight"),
        ("nodes", [named("x" * 300)], "items[0].metadata.name"),
        ("nodes", [{"metadata": {"name": "a", "labels": {"a": 1}}}], "items[0].metadata.labels.a"),
        ("nodes", [5], "items[0]"),
    ],
)  # fmt: skip
def test_answer_that_no_api_server_gives_is_a_problem(
    program: Path, resource: str, answer: object, where: str
) -> None:
    """The resource and the place are named; nothing is made of the rest."""
    stub.answers(program, **{**FOUND, resource: answer})
    done = run(code=3)
    said = done.err.splitlines()[0]
    assert said.startswith(f"IMP010 the answer about {resource}."[:40]) or resource == "nodes"
    assert f" is not a list of objects: {where}" in said


def test_answer_has_a_size(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is larger than the largest clusters are is not read to its end."""
    monkeypatch.setattr(kubectl, "_LARGEST", 1 << 20)
    stub.answers(program, **{**FOUND, "nodes": "OUT " + "[" * 1_100_000})
    assert "IMP011" in places(run(code=3).err)
    stub.answers(program, **{**FOUND, "nodes": "OUT " + "[" * 500_000})
    assert "IMP002" in places(run(code=3).err)
