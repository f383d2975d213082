"""Objects that the runs of a namespace share: shared/<cluster>/<namespace>/."""

import pytest
import yaml
from tests.conftest import Repo
from tests.words import places

HERE = "overlays/c1/default"
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: team}\ndata: {lr: '0.1'}\n"
CLAIM = (
    "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: dataset}\n"
    "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
)
SPEC = "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}\n"
KEPT = {
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}
SYNCED = "\ngitops:\n  argocd: {repoURL: 'https://example.com/r.git'%s}\n  flux: {sourceRef: {name: f}}\n"


def listed(repo: Repo, folder: str = HERE) -> list[str]:
    """Return what the list in a folder names."""
    return list(yaml.safe_load(repo.read(f"{folder}/kustomization.yaml"))["resources"])


def said(repo: Repo, text: str, file: str = "shared/c1/default/a.yaml") -> str:
    """Return what a render says of a file; nothing is written."""
    repo.cluster()
    repo.write(file, text)
    done = repo.run("render", code=1)
    assert (done.out, (repo.root / "overlays").exists()) == ("", False)
    return done.err


def test_shared_objects_come_before_the_runs_of_their_namespace(repo: Repo) -> None:
    """They get the namespace of their folder; claims are in a list of their own, and keep their data."""
    repo.cluster()
    repo.workload("a", SPEC)
    repo.write("shared/c1/default/deep/a.yaml", f"{CONFIG}---\n{CLAIM}")

    repo.run("render")

    config, claim = (
        yaml.safe_load(repo.read(f"{HERE}/_shared/{name}.yaml")) for name in ("objects", "claims")
    )
    assert ["_shared", "a"] == listed(repo)
    assert ["claims.yaml", "objects.yaml"] == listed(repo, f"{HERE}/_shared")
    assert {"name": "team", "namespace": "default"} == config["metadata"]
    assert {"name": "dataset", "namespace": "default", "annotations": KEPT} == claim["metadata"]
    repo.run("render", "--check")


def test_change_of_shared_objects_starts_and_ends_no_run(repo: Repo) -> None:
    """Neither a new object, nor another value, nor the end of all of them touches a run."""
    repo.cluster()
    repo.workload("a", SPEC)
    repo.run("render")
    runs = repo.runs()

    for text in (CONFIG, CONFIG.replace("0.1", "0.2"), CLAIM):
        repo.write("shared/c1/default/a.yaml", text)
        assert [] == repo.effects()
    (repo.root / "shared/c1/default/a.yaml").unlink()
    assert [] == repo.effects()

    assert (runs, ["a"]) == (repo.runs(), listed(repo))
    assert not (repo.root / HERE / "_shared").exists()


def test_claim_that_leaves_the_tree_is_named_with_the_command_that_deletes_it(repo: Repo) -> None:
    """Nothing prunes a claim, and nothing in the tree says so afterwards; a ConfigMap goes without a word."""
    repo.cluster()
    repo.write("shared/c1/default/a.yaml", f"{CONFIG}---\n{CLAIM}")
    repo.run("render")
    (repo.root / "shared/c1/default/a.yaml").unlink()

    err = repo.run("render").err

    assert 1 == err.count("warning: ")
    said = "SHARED004 PersistentVolumeClaim 'dataset' is removed from the tree, but stays in cluster 'c1'"
    assert f"shared/c1/default: warning: {said}" in err
    assert "kubectl delete persistentvolumeclaim dataset --namespace=default" in err
    assert "" == repo.run("render").err


def test_mistake_in_a_shared_object_is_at_the_line_of_its_file(repo: Repo) -> None:
    """Validate checks the overlay, and names the file that a person changes."""
    repo.cluster()
    repo.workload("a", SPEC)
    text = (
        f"{CONFIG}---\napiVersion: v1\nkind: Service\nmetadata: {{name: tb}}\nspec:\n  ports: [{{port: a}}]\n"
    )
    repo.write("shared/c1/default/a.yaml", text)
    repo.run("render")

    out = repo.run("validate", code=1).out

    line = text.partition("ports")[0].count("\n") + 1
    assert (
        f"shared/c1/default/a.yaml:{line}:18: SCHEMA003 spec.ports[0].port in cluster c1, Service default/tb"
        in out
    )
    assert "overlays/c1/default/_shared: " not in out


def test_render_of_a_workload_writes_what_its_namespace_shares_and_nothing_else(repo: Repo) -> None:
    """Its list names the folder; what other namespaces share stays as it is."""
    repo.cluster()
    repo.workload("a", SPEC)
    for namespace in ("default", "other"):
        repo.write(f"shared/c1/{namespace}/a.yaml", f"{CONFIG}---\n{CLAIM}")
    repo.run("render")
    before = repo.tree("overlays/c1/other")
    for namespace in ("default", "other"):
        repo.write(f"shared/c1/{namespace}/a.yaml", CONFIG)

    repo.run("render", "a")

    assert ["objects.yaml"] == listed(repo, f"{HERE}/_shared")
    assert not (repo.root / HERE / "_shared/claims.yaml").exists()
    assert before == repo.tree("overlays/c1/other")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CONFIG.replace("name: team", "name: team, namespace: other"), "3:35: SHARED002"),
        ("apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n", "2:7: SHARED002"),
        ("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x}\n", "2:7: SHARED002"),
        ("apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n", "2:7: SHARED002"),
        ("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n", "2:7: SHARED002"),
        ("apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: x}\n", "2:7: SHARED002"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x-}\n", "3:26: SHARED002"),
        ("apiVersion: v1\nkind: ConfigMapList\nmetadata: {name: x}\nitems: []\n", "1:1: SHARED002"),
        ("kind: Kustomization\nresources: []\n", "1:1: SHARED002"),
        ("- x\n", "1:1: SHARED002"),
        (CONFIG.replace("team", "slicewright-anchor"), "3:18: SHARED002"),
        ("apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {a: b}\n", "2:7: SHARED003"),
        (
            "apiVersion: isindir.github.com/v1alpha3\nkind: SopsSecret\nmetadata: {name: x}\nspec: {}\n",
            "2:7: SHARED003",
        ),
        (
            (
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n"
                "  annotations: {config.kubernetes.io/local-config: 'true'}\n"
            ),
            "5:52: SHARED002",
        ),
        (f"{CONFIG}---\n{CONFIG}", "8:18: KUS005"),
        (CONFIG.replace("'0.1'", '"\\x7f"'), "1:1: BUILD002"),
    ],
    ids=[
        *("other namespace", "no namespace", "what is synced", "run", "pods", "queue", "generated name"),
        *("list", "kustomization", "no object", "anchor", "secret", "plain", "local", "twice", "character"),
    ],
)
def test_object_that_cannot_be_shared_is_refused_at_its_line(repo: Repo, text: str, expected: str) -> None:
    """Nothing outside of the namespace, nothing that runs, no queue, no value of a Secret, nothing twice."""
    assert f"shared/c1/default/a.yaml:{expected}" == places(said(repo, text)).split("\n")[0]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("shared/a.yaml", "shared/a.yaml"),
        ("shared/c1/a.yaml", "shared/c1/a.yaml"),
        ("shared/c1/_platform/a.yaml", "shared/c1/_platform/a.yaml"),
        ("shared/c2/default/a.yaml", "shared/c2"),
    ],
    ids=["root", "cluster", "platform", "unknown"],
)
def test_file_that_no_namespace_of_a_cluster_shares_is_named(repo: Repo, file: str, expected: str) -> None:
    """The path has to say where it goes; of a folder that is no cluster's it is said once."""
    for name in (file, file.replace("a.yaml", "b.yaml") if "c2" in file else file):
        repo.write(name, CONFIG)

    err = repo.run("render").err

    assert f"{expected}: warning: SHARED001\n" == places(err)
    assert not (repo.root / HERE / "_shared").exists()


def test_values_of_a_secret_are_never_repeated(repo: Repo) -> None:
    """The hint names what to write in its place."""
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {a: hunter2}\n"

    err = said(repo, text)

    assert "hunter2" not in err
    assert all(word in err for word in ("ExternalSecret", "SopsSecret", "kubectl create secret"))


def test_link_out_of_the_repository_is_not_followed(repo: Repo) -> None:
    """A shared file is a file of the repository."""
    outside = repo.root.parent / f"{repo.root.name}-outside.yaml"
    outside.write_text(CONFIG, encoding="utf-8")
    repo.cluster()
    link = repo.root / "shared/c1/default/a.yaml"
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)

    assert "shared/c1/default/a.yaml: FILE004" in places(repo.run("render", code=1).err)


def test_cluster_that_is_declared_wrongly_is_the_only_thing_to_mend(repo: Repo) -> None:
    """What is shared there is not to blame."""
    repo.cluster("c1", "pools: 3\nlocation: 4\n")
    repo.write("shared/c1/default/a.yaml", CONFIG)

    assert "SHARED" not in repo.run("render", code=1).err


def test_component_may_not_bring_what_is_shared(repo: Repo) -> None:
    """Kustomize takes one object once."""
    repo.cluster()
    kind = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [a.yaml]\n"
    repo.write("custom/a/kustomization.yaml", kind)
    repo.write("custom/a/a.yaml", CONFIG.replace("name: team", "name: team, namespace: default"))
    repo.write("shared/c1/default/a.yaml", CONFIG)
    repo.workload("a", f"{SPEC}components: [custom/a]\n")

    assert "workloads/a.yaml:8:3: NAME004" in places(repo.run("render", code=1).err)


def test_reference_of_a_run_is_looked_up_among_shared_objects(repo: Repo) -> None:
    """A claim that is shared is in the tree; one that is not is named."""
    repo.cluster()
    volumes = "[{name: %s, persistentVolumeClaim: {claimName: %s}}]"
    for name, claim in (("a", "dataset"), ("b", "missing")):
        pods = f"podTemplate: {{spec: {{volumes: {volumes % (name, claim)}}}}}\n"
        repo.workload(name, SPEC + pods)
    repo.write("shared/c1/default/a.yaml", CLAIM.replace("ReadWriteOnce", "ReadWriteMany"))
    repo.run("render")

    done = repo.run("validate")

    assert (1, 0) == ((done.out + done.err).count("'missing'"), (done.out + done.err).count("'dataset'"))


@pytest.mark.parametrize(
    ("per", "expected"),
    [("", []), (", applicationPer: Workload", ["workload-default.shared.objects.yaml"])],
    ids=["namespace", "workload"],
)
def test_whoever_syncs_the_namespace_may_sync_what_is_shared(
    repo: Repo, per: str, expected: list[str]
) -> None:
    """Its kinds are in the rights of the namespace; with an Application a workload it has its own."""
    repo.cluster("c1", f"pools: []\nclusterQueues: []{SYNCED % per}")
    account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: trainer}\n"
    repo.write("shared/c1/default/a.yaml", account)

    err = repo.run("render").err

    folder = "overlays/c1/_gitops/argocd"
    found = [path.name for path in (repo.root / folder).glob("*.shared.*")]
    assert expected == found
    assert "kind: ServiceAccount" in repo.read(f"{folder}/namespace-default.yaml")
    assert "serviceaccounts" in repo.read("overlays/c1/_gitops/flux-access/default/access.yaml")
    assert "shared/c1/default/a.yaml:2:7: warning: GITOPS004" in places(err)
    assert ["_anchor.yaml", "_shared", "a"] == listed(repo)


def test_namespace_of_whoever_syncs_the_cluster_shares_nothing(repo: Repo) -> None:
    """Who writes there rules the cluster."""
    repo.cluster("c1", f"pools: []{SYNCED % ''}")
    repo.write("shared/c1/argocd/a.yaml", CONFIG)

    assert "shared/c1/argocd/a.yaml:3:18: GITOPS003" in places(repo.run("render", code=1).err)
