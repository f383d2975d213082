"""`slicewright import cluster` on clusters that answer as API servers do, and as they do not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner
from tests.cluster.api.served import Served
from tests.conftest import Done
from tests.words import places

from slicewright.cli import reach
from slicewright.cli.main import cli

from .kit import TPU, flavor, queue, slice_nodes, with_labels
from .served import GROUP, answers

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Repo

    Answering = Callable[[dict[str, Any]], Served]

pytestmark = pytest.mark.slow  # whole repositories are rendered, compared or read

EXTEND = Path(__file__).parents[3] / "docs" / "how-to" / "extend-slicewright.md"
FOUND: dict[str, Any] = {
    "Node": [*slice_nodes("np-0")],
    "ResourceFlavor": [flavor("mine", {"cloud.google.com/gke-nodepool": "np-0"})],
    "ClusterQueue": [queue("q", ("mine", {TPU: 8}))],
}
BOTH = ("v1beta2", "v1beta1")


@pytest.fixture
def kubeconfig(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a kubeconfig of the contexts `ctx` and `other`, and name it in KUBECONFIG."""
    names = ("ctx", "other")
    document: Any = {
        "clusters": [{"name": name, "cluster": {"server": "https://127.0.0.1:1"}} for name in names],
        "users": [{"name": name, "user": {"token": "t"}} for name in names],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in names],
    }
    path = tmp_path_factory.mktemp("kube") / "config"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", f"/nowhere:{path}")
    return path


@pytest.fixture
def answering(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> Answering:
    """Return a function that says what the cluster of both contexts answers; at first it is `FOUND`."""
    del kubeconfig

    def serve(found: dict[str, Any]) -> Served:
        api = Served(found)
        monkeypatch.setattr(reach, "ReadOnly", lambda _: api)
        return api

    serve(answers(FOUND, *BOTH))
    return serve


def run(*options: str, code: int = 0) -> Done:
    """Run the import of the context `ctx`."""
    done = CliRunner().invoke(
        cli, ["import", "cluster", "--context", "ctx", *options], prog_name="slicewright"
    )
    assert code == done.exit_code, done.output
    return Done(done.exit_code, done.stdout, done.stderr)


def test_generation_of_the_repository(
    answering: Answering, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes of a generation that only the repository's own catalogue knows become a pool."""
    (text,) = (part for part in EXTEND.read_text("utf-8").split("```yaml\n") if part.startswith("generation"))
    repo.write("catalog/v9.yaml", text.partition("```")[0])
    labels = {"gke-tpu-accelerator": "tpu-v9-slice", "gke-tpu-topology": "2x4", "gke-accelerator-count": "4"}
    labels = {f"cloud.google.com/{key}": value for key, value in {**labels, "gke-nodepool": "np-0"}.items()}
    labels["node.kubernetes.io/instance-type"] = "ct9-standard-4t"
    answering(answers(FOUND | {"Node": [with_labels(name, labels) for name in ("a", "b")]}, *BOTH))
    monkeypatch.chdir(repo.root)

    (pool,) = yaml.safe_load(run().out)["spec"]["pools"]

    assert ("np", "v9-8", 1) == (pool["name"], pool["tpu"], pool["slices"])


@pytest.mark.usefixtures("answering")
def test_file_is_printed() -> None:
    """Comments and all, on stdout; the notes are in the JSON form too."""
    done = run()

    document = yaml.safe_load(done.out)
    assert (document["metadata"]["name"], document["spec"]["managed"]) == ("ctx", False)
    assert document["spec"]["clusterQueues"] == [{"name": "q", "quota": [{"pool": "np", "nominalSlices": 1}]}]
    as_json = run("-o", "json").json
    assert document == as_json["cluster"]
    assert [note["path"] for note in as_json["notes"]] == ["", "", "spec.pools[0]"]
    assert (as_json["written"], as_json["problems"], done.err) == ("", [], "")


def test_no_secret_is_read(answering: Answering) -> None:
    """The kubeconfig of the command line is read; Kueue's newest version that we know is asked for."""
    api = answering(answers(FOUND, "v1", *BOTH))
    run("--kubeconfig", str(reach._files()[0]))

    paths = [path for path, _ in api.asked]
    assert f"{GROUP}/v1beta2/clusterqueues" in paths
    assert [] == [path for path in paths if "secret" in path or "v1/clusterqueues" in path]


@pytest.mark.usefixtures("answering")
def test_file_is_written_once(repo: Repo) -> None:
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


@pytest.mark.usefixtures("answering")
def test_folder_that_cannot_be_written_is_a_problem(repo: Repo) -> None:
    """Where a file stands in the place of the folder."""
    (repo.root / "clusters" / "c1.yaml").unlink()
    (repo.root / "clusters").rmdir()
    repo.write("clusters", "no folder")

    assert "IMP006" in places(run("--write", "-C", str(repo.root), code=1).err)


def test_wrong_words_are_wrong_usage(kubeconfig: Path) -> None:
    """A context that no kubeconfig file has, with the nearest; a name that no cluster may have."""
    othr = CliRunner().invoke(cli, ["import", "cluster", "--context", "othr"])
    assert (2, True) == (othr.exit_code, "did you mean 'other'?" in othr.stderr)
    assert "is not a valid name for a cluster" in run("--name", "A b", code=2).err
    kubeconfig.write_text(kubeconfig.read_text(encoding="utf-8").replace("ctx", "x9"), encoding="utf-8")
    assert f"there is no context 'ctx' in {kubeconfig}" in run(code=2).err


def test_cluster_without_kueue_has_pools_only(answering: Answering) -> None:
    """A warning says so."""
    answering(answers(FOUND))

    done = run("-o", "json")

    assert done.json["cluster"]["spec"]["pools"] == [{"name": "np", "tpu": "v5litepod-8", "slices": 1}]
    assert [problem["id"] for problem in done.json["problems"]] == ["IMP004"]


def test_cluster_without_anything_is_a_warning(answering: Answering) -> None:
    """An empty file may be all there is to say."""
    answering(answers({}))

    done = run()

    assert "IMP005" in done.err
    assert yaml.safe_load(done.out)["spec"]["pools"] == []


def test_kind_is_read_in_the_version_that_has_it(answering: Answering) -> None:
    """Cohorts and Topologies were alpha for longer; a kind that no version has is left out."""
    served = answers(
        {**FOUND, "Topology": [{"metadata": {"name": "c"}, "spec": {"levels": [{"nodeLabel": "a"}]}}]},
        version="v1beta1",
    )
    beta = served[f"{GROUP}/v1beta1"]["resources"]
    alpha = [entry for entry in beta if entry["kind"] == "Topology"]
    others = [entry for entry in beta if entry["kind"] not in ("Topology", "Cohort")]
    served[f"{GROUP}/v1alpha1/topologies"] = served.pop(f"{GROUP}/v1beta1/topologies")
    served |= {f"{GROUP}/v1beta1": {"resources": others}, f"{GROUP}/v1alpha1": {"resources": alpha}}
    served[GROUP] = {"versions": [{"version": "v1alpha1"}, {"version": "v1beta1"}]}
    api = answering(served)

    run()

    paths = {path for path, _ in api.asked}
    assert {f"{GROUP}/v1beta1/clusterqueues", f"{GROUP}/v1alpha1/topologies"} <= paths
    assert not any(path.endswith("/cohorts") for path in paths)


def test_what_may_not_be_read_is_named(answering: Answering) -> None:
    """All of it at once, exit 1; what the file needs least is left out in silence."""
    answering(
        answers(FOUND | dict.fromkeys(("Node", "ClusterQueue", "Deployment", "PriorityClass"), 403), *BOTH)
    )

    found = run("-o", "json", code=1).json["problems"]

    assert [(problem["id"], problem["message"].partition(":")[0]) for problem in found] == [
        ("IMP003", "you may not list Node"),
        ("IMP003", "you may not list ClusterQueue"),
    ]


@pytest.mark.parametrize("code", [401, 500])
def test_cluster_that_breaks_is_exit_3(answering: Answering, code: int) -> None:
    """With the context and what the API server said, as in `status`."""
    answering(answers(FOUND | {"ClusterQueue": code}, *BOTH))

    assert f"STA001 the cluster of context ctx cannot be read: {code}" in run(code=3).err


@pytest.mark.usefixtures("kubeconfig")
def test_cluster_that_does_not_answer_is_exit_3() -> None:
    """As in `status`."""
    assert "STA001 the cluster of context ctx cannot be read" in run(code=3).err


def test_kubeconfig_that_cannot_be_used_is_exit_3(kubeconfig: Path) -> None:
    """Without its server."""
    kubeconfig.write_text(kubeconfig.read_text(encoding="utf-8").replace("server", "serve"), encoding="utf-8")

    assert "BED004" in run(code=3).err


def test_what_a_file_may_not_say_is_a_problem_of_the_file(answering: Answering) -> None:
    """Such as a flex-start node pool of a machine that cannot be had so: it is shown with its place."""
    labels = {
        "cloud.google.com/gke-flex-start": "true",
        "cloud.google.com/gke-max-run-duration-seconds": "31",
    }
    answering(answers(FOUND | {"Node": slice_nodes("np-0", **labels)}, *BOTH))

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
    ("kind", "answer", "where"),
    [
        ("PriorityClass", [named([], value=1)], "items[0].metadata.name"),
        ("WorkloadPriorityClass", [named(value={})], "items[0].value"),
        ("WorkloadPriorityClass", [named(value=True)], "items[0].value"),
        ("ClusterQueue", [quota([])], f"{AT}.nominalQuota"),
        ("ClusterQueue", [quota("1e")], f"{AT}.nominalQuota"),
        ("ClusterQueue", [named(spec={"preemption": 1})], "items[0].spec.preemption"),
        ("Cohort", [{"spec": {}}], "items[0]"),
        ("Cohort", [{"metadata": {}}], "items[0].metadata"),
        ("LocalQueue", [named(spec={"fairSharing": {"weight": {}}})], "items[0].spec.fairSharing.weight"),
        ("Node", [named("x" * 300)], "items[0].metadata.name"),
        ("Node", [{"metadata": {"name": "a", "labels": {"a": 1}}}], "items[0].metadata.labels.a"),
        ("Node", [5], "items[0]"),
    ],
)  # fmt: skip
def test_answer_that_no_api_server_gives_is_a_problem(
    answering: Answering, kind: str, answer: object, where: str
) -> None:
    """The kind and the place are named; nothing is made of the rest."""
    answering(answers(FOUND | {kind: answer}, *BOTH))

    said = run(code=3).err.splitlines()[0]

    assert f"IMP010 the answer about {kind} is not a list of objects: {where}" in said
