"""What runs may not bring where somebody syncs them, and where no run may be synced to."""

import pytest
from tests.conftest import Repo
from tests.words import places

from .kit import FIXED, GITOPS, JOB, PLATFORM, kinds, synced, workload

pytestmark = pytest.mark.slow  # whole repositories are rendered, compared or read

FLUX = "gitops: {flux: {sourceRef: {name: flux-system}}}\n"
COMPONENT = """
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [things.yaml]
"""
RULED = "own: runs in it could take control of the cluster\n  hint: use another namespace for runs\n"


def brings(repo: Repo, *things: str, spec: str = JOB, namespace: str = "", name: str = "a") -> None:
    """Write a workload with a component that brings objects: `v1 Secret`."""
    within = f", namespace: {namespace}" if namespace else ""
    pairs = [thing.split() for thing in things]
    texts = [
        f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x{within}}}\n" for version, kind in pairs
    ]
    repo.write("components/mine/kustomization.yaml", COMPONENT)
    repo.write("components/mine/things.yaml", "---\n".join(texts))
    workload(repo, name, spec.replace("tpu:", "components: [components/mine], tpu:"))


def refused(objects: str) -> str:
    """Return what is said of a workload whose component brings these objects."""
    return (
        f"workloads/a.yaml:5:20: GITOPS002 the run contains objects {objects}: "
        "Argo CD and Flux refuse these, and then sync nothing in namespace 'team-a'\n"
    )


@pytest.mark.parametrize("gitops", [GITOPS, FLUX], ids=["argocd", "flux"])
@pytest.mark.parametrize("spec", [JOB, FIXED], ids=["hashed", "fixed"])
@pytest.mark.parametrize(
    ("thing", "namespace", "said"),
    [
        ("v1 ConfigMap", "other", "of other namespaces (ConfigMap in other)"),
        ("v1 ConfigMap", "'123'", "of other namespaces (ConfigMap in 123)"),
        ("argoproj.io/v1alpha1 AppProject", "", "of Argo CD or Flux (AppProject)"),
        ("source.toolkit.fluxcd.io/v1 Bucket", "", "of Argo CD or Flux (Bucket)"),
        ("v1 Namespace", "", "without a namespace (Namespace)"),
    ],
)
def test_object_beyond_the_namespace_is_refused(
    empty: Repo, gitops: str, spec: str, thing: str, namespace: str, said: str
) -> None:
    """Argo CD and Flux refuse it together with all runs of the namespace, or it would give all rights."""
    synced(empty, gitops)
    brings(empty, thing, spec=spec, namespace=namespace)

    assert refused(said) in empty.run("render", code=1).err


def test_cluster_that_nobody_syncs_takes_all_objects(empty: Repo) -> None:
    """Whoever applies the runs by hand has rights of his own."""
    synced(empty, "")
    brings(empty, "v1 Namespace", "argoproj.io/v1alpha1 AppProject", "v1 Secret")

    assert "GITOPS" not in empty.run("render").err


def test_object_that_names_its_own_namespace_is_synced(empty: Repo) -> None:
    """A namespace that is written is no other one, and neither is one in a field below the metadata."""
    synced(empty)
    brings(empty, "v1 Secret", namespace="team-a")
    empty.write(
        "components/mine/things.yaml",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\n"
        "metadata: {name: x, namespace: team-a}\n"
        "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: x}\n"
        "subjects: [{kind: ServiceAccount, name: x, namespace: other}]\n",
    )

    empty.run("render")

    assert "RoleBinding" in kinds(empty)


@pytest.mark.parametrize("spec", [JOB, FIXED], ids=["hashed", "fixed"])
def test_objects_that_make_the_rights_wider_are_said(empty: Repo, spec: str) -> None:
    """A Secret or a LocalQueue may be what is wanted, but the rights of the namespace grow by it."""
    synced(empty)
    role, queue = "rbac.authorization.k8s.io/v1 Role", "kueue.x-k8s.io/v1beta2 LocalQueue"
    brings(empty, "v1 Secret", role, "v1 Endpoints", queue, spec=spec)

    assert "workloads/a.yaml:5:20: warning: GITOPS004" in places(empty.run("render").err)
    assert {"Secret", "Role", "LocalQueue"} <= set(kinds(empty))


def test_workload_that_is_not_named_is_left_alone(empty: Repo) -> None:
    """What a run that is there brings beyond its namespace is not allowed, and said when it is rendered."""
    synced(empty)
    brings(empty, "v1 Endpoints", spec=FIXED)
    empty.run("render")
    brings(empty, "argoproj.io/v1alpha1 AppProject", "v1 Secret", spec=FIXED)
    workload(empty, "b")

    done = empty.run("render", "b")

    assert "GITOPS" not in done.err
    assert "Secret" in kinds(empty)
    assert "AppProject" not in kinds(empty)
    assert refused("of Argo CD or Flux (AppProject)") in empty.run("render", code=1).err


def at(namespace: str) -> str:
    """Return the platform with its team and its queue in another namespace."""
    return PLATFORM.replace("namespace: team-a", f"namespace: {namespace}")


@pytest.mark.parametrize(
    ("gitops", "namespace", "whose"),
    [
        (GITOPS, "argocd", "Argo CD"),
        (GITOPS.replace("}}", ", destination: {name: in-cluster}}}"), "argocd", "Argo CD"),
        (GITOPS.replace("}}", ", namespace: cd}}"), "cd", "Argo CD"),
        (GITOPS.replace("}}", ", destination: {name: remote}}}"), "kube-system", "Kubernetes"),
        (FLUX, "flux-system", "Flux"),
        (FLUX.replace("}}}", "}, namespace: sync}}"), "sync", "Flux"),
        (FLUX, "kube-public", "Kubernetes"),
    ],
)
def test_namespace_of_who_syncs_is_refused(empty: Repo, gitops: str, namespace: str, whose: str) -> None:
    """A team, a LocalQueue or a workload there would have the rights of Argo CD, of Flux or of Kubernetes."""
    synced(empty, gitops, platform=at(namespace))
    workload(empty, spec=JOB.replace("container:", "queueName: queue, container:"), namespace=namespace)

    found = empty.run("render", "-o", "json", code=1).json["problems"]

    message = f"namespace '{namespace}' is {whose}'s own: runs in it could take control of the cluster"
    places = ("spec.clusterQueues[0].localQueues[0].namespace", "spec.teams[0].namespace")
    expected = [
        *(("clusters/c1.yaml", place, "GITOPS003", message) for place in places),
        ("workloads/a.yaml", "metadata.namespace", "GITOPS003", message),
    ]
    assert expected == [(one["file"], one["path"], one["id"], one["message"]) for one in found]
    assert empty.tree() == {}


def test_default_namespace_may_be_that_of_who_syncs(empty: Repo) -> None:
    """A queue without a namespace is in `default`, and so is a workload."""
    platform = PLATFORM.replace("{name: queue, namespace: team-a}", "{name: queue}").partition("teams:")[0]
    synced(empty, GITOPS.replace("}}", ", namespace: default}}"), platform=platform)
    empty.workload("a", JOB)

    said = empty.run("render", code=1).err

    assert said.count(f"GITOPS003 namespace 'default' is Argo CD's {RULED}") == len(("queue", "workload"))


@pytest.mark.parametrize(
    ("gitops", "namespace"),
    [
        (GITOPS.replace("}}", ", destination: {name: remote}}}"), "argocd"),
        (GITOPS, "flux-system"),
        (FLUX, "argocd"),
        ("", "kube-system"),
    ],
)
def test_namespace_of_nobody_who_syncs_is_taken(empty: Repo, gitops: str, namespace: str) -> None:
    """What rules another cluster, or nothing here, is a name as any other."""
    synced(empty, gitops, platform=at(namespace))
    workload(empty, namespace=namespace)

    assert "GITOPS003" not in empty.run("render").err


def test_namespace_that_came_to_be_that_of_who_syncs_is_no_longer_synced(empty: Repo) -> None:
    """An anchor does not hold it open: with its last workload go the rights there."""
    synced(empty)
    workload(empty, namespace="cd")
    empty.run("render")
    (empty.root / "workloads/a.yaml").unlink()
    synced(empty, GITOPS.replace("}}", ", namespace: cd}}"))

    empty.run("render")

    assert [path for path in empty.tree() if "/cd/" in path or "namespace-cd" in path] == []
