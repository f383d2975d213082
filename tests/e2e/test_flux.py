"""The files for Flux on a real API server with Kueue: rights, their order, and the health of queues."""

import copy
import http
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pytest
from tests.conftest import Repo
from tests.rendering.gitops.flux_kit import applied, render, rendered
from tests.testbed.kit import eventually

from slicewright.cluster.api import kubeconfig
from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.client import Api
from slicewright.cluster.api.kubeconfig import Access
from slicewright.kubernetes.types import Object
from slicewright.rendering.gitops.flux import HEALTH
from slicewright.testbed.bed import Bed

from . import kit
from .test_platform import remove_platform

FLUX = "flux-system"
MANAGER = "kustomize-controller"
KUEUE = "kueue.x-k8s.io/v1beta2"
JOBSET = ("jobset.x-k8s.io/v1alpha2", "JobSet")
NAMESPACE = ("v1", "Namespace")
NAMESPACES = (FLUX, "elsewhere", "team-a", "team-b")
ONCE = "kustomize.toolkit.fluxcd.io/ssa"
DEFINITIONS = ("Namespace", "CustomResourceDefinition", "ClusterRole")
"""Kinds that Flux applies first."""
SIMPLE = {
    "apiVersion": JOBSET[0],
    "kind": JOBSET[1],
    "metadata": {"name": "simple"},
    "spec": {
        "replicatedJobs": [
            {
                "name": "a",
                "template": {"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "i"}]}}}},
            }
        ]
    },
}


@dataclass(frozen=True)
class Impersonated(Access):
    """What the kustomize-controller does with a `serviceAccountName`."""

    user: str = ""

    def headers(self) -> dict[str, str]:
        """Return the header that says for whom is asked."""
        return {"Impersonate-User": self.user}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Hold a tree with a platform, runs and files for Flux."""
    repo = Repo(tmp_path_factory.mktemp("tree"))
    render(repo)
    return repo


@pytest.fixture(scope="module")
def bed(shared_bed: Bed, not_ours: frozenset[str]) -> Iterator[Bed]:
    """Hold the cluster with Flux's namespace for all tests of this module, and leave nothing there."""
    for name in (FLUX, "elsewhere"):
        kit.ensure_namespace(shared_bed, name)
    yield shared_bed
    api = shared_bed.api
    api.each(api.delete, [item for entry in HEALTH for item in policy(entry["kind"])])
    remove_platform(shared_bed, not_ours)
    api.each(api.delete, [api.get(*NAMESPACE, name) for name in NAMESPACES])
    shared_bed.until(
        "its namespaces to go", lambda: not any(api.find(*NAMESPACE, name) for name in NAMESPACES)
    )


def sync(api: Api, items: list[Object]) -> None:
    """Apply objects as Flux does: definitions first, and nothing of a stage that is refused in part."""
    stages = (
        [item for item in items if item["kind"] in DEFINITIONS],
        [item for item in items if item["kind"] not in DEFINITIONS],
    )
    for stage in stages:
        for item in stage:
            api.apply(item, manager=MANAGER, force=True, dryRun="All")
        for item in stage:
            api.apply(item, manager=MANAGER, force=True)


def built(tree: Repo, name: str) -> list[Object]:
    """Return the objects of a Kustomization, as Flux would apply them."""
    return applied(tree.root, rendered(tree)[name])


@pytest.fixture(scope="module")
def synced(bed: Bed, tree: Repo) -> Bed:
    """Sync the platform, then the rights, in the order in which the Kustomizations depend on each other."""
    refused = denied(lambda: sync(bed.api, built(tree, "c1-access.team-a")))
    assert refused == http.HTTPStatus.NOT_FOUND
    for name in ("c1-platform", "c1-access.team-a", "c1-access.team-b"):
        sync(bed.api, built(tree, name))
    return bed


def denied(ask: Callable[[], object]) -> int:
    """Return the code with which the API server refuses, 0 where it does not."""
    try:
        ask()
    except ApiError as error:
        return error.code
    return 0


def team_a(bed: Bed, name: str = "c1.team-a") -> Api:
    """Return a client that is an account of Flux's namespace, as the kustomize-controller is it."""
    admin = kubeconfig.read(bed.kubeconfig)
    user = f"system:serviceaccount:{FLUX}:{name}"
    return Api(Impersonated(admin.server, admin.authority, admin.certificate, admin.key, user=user))


def test_rights_wait_for_the_namespace(synced: Bed) -> None:
    """From nothing, a platform and then the rights can be applied; the other way round nothing can."""
    assert synced.api.find("v1", "ServiceAccount", "c1.team-a", FLUX) is not None
    assert synced.api.find("rbac.authorization.k8s.io/v1", "Role", "flux-sync", "team-b") is not None


def test_account_syncs_its_namespace(synced: Bed, tree: Repo) -> None:
    """As its account, Flux applies, applies again, reads and prunes all that the namespace holds."""
    items = built(tree, "c1.team-a")
    with team_a(synced) as api:
        sync(api, items)
        # The operator may have made the JobSet of the PathwaysJob by now: that one has an owner.
        jobsets = (item["metadata"] for item in api.list(*JOBSET, "team-a"))
        names = {metadata["name"] for metadata in jobsets if "ownerReferences" not in metadata}
        sync(api, [item for item in items if ONCE not in item["metadata"]["annotations"]])
        for item in items:
            assert api.get(item["apiVersion"], item["kind"], item["metadata"]["name"], "team-a") is not None
            api.delete(item)
        eventually("all is pruned", lambda: not api.list(*JOBSET, "team-a"))

    assert {item["metadata"]["name"] for item in items if item["kind"] == "JobSet"} == names


@pytest.mark.parametrize("namespace", ["team-b", "elsewhere", FLUX, "default"])
def test_account_has_no_rights_elsewhere(synced: Bed, namespace: str) -> None:
    """In another namespace the account may not even look, that of another team included."""
    item = {**SIMPLE, "metadata": {"name": "simple", "namespace": namespace}}
    with team_a(synced) as api:
        asked = (
            lambda: api.list(*JOBSET, namespace),
            lambda: api.apply(item, dryRun="All"),
            lambda: api.create(item, dryRun="All"),
            lambda: api.delete(item),
        )
        assert {denied(ask) for ask in asked} == {http.HTTPStatus.FORBIDDEN}


def test_account_has_no_rights_beyond_runs(synced: Bed) -> None:
    """In its own namespace it manages no rights, no secrets and no queues, and nothing of the cluster."""
    spec = {"clusterQueue": "cluster-queue"}
    items = (
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "own"}, "spec": {}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "own"}},
        *(
            {
                "apiVersion": version,
                "kind": kind,
                "metadata": {"name": "own", "namespace": "team-a"},
                **fields,
            }
            for version, kind, fields in (
                (KUEUE, "LocalQueue", {"spec": spec}),
                ("v1", "Secret", {}),
                ("v1", "ServiceAccount", {}),
                ("rbac.authorization.k8s.io/v1", "Role", {}),
            )
        ),
    )
    with team_a(synced) as api:
        codes = {item["kind"]: denied(partial(api.apply, item, dryRun="All")) for item in items}
        read = denied(lambda: api.list("v1", "Secret", "team-a"))

    assert codes == {item["kind"]: http.HTTPStatus.FORBIDDEN for item in items}
    assert read == http.HTTPStatus.FORBIDDEN


def test_another_account_has_no_rights_here(synced: Bed) -> None:
    """The account of team-b, and one that nobody bound, may do nothing in team-a."""
    for name in ("c1.team-b", "default"):
        with team_a(synced, name) as api:
            assert denied(partial(api.list, *JOBSET, "team-a")) == http.HTTPStatus.FORBIDDEN


# -- health


def policy(kind: str) -> Iterator[Object]:
    """Yield what lets the API server evaluate the expression of a kind, on a status that is only tried out.

    Flux gives an expression the fields of the object by their names, a policy has them below `object`.
    """
    (entry,) = [entry for entry in HEALTH if entry["kind"] == kind]
    name, plural = kind.lower(), f"{kind.lower()}s"
    expression = re.sub(r"(?<![.\w])(status|metadata)\.", r"object.\1.", entry["current"])
    rule = {
        "apiGroups": ["kueue.x-k8s.io"],
        "apiVersions": ["v1beta2"],
        "operations": ["UPDATE"],
        "resources": [f"{plural}/status"],
    }
    version = "admissionregistration.k8s.io/v1"
    yield {
        "apiVersion": version,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [{"name": "tried-out", "expression": "request.dryRun"}],
            "validations": [{"expression": expression, "message": "in progress"}],
        },
    }
    yield {
        "apiVersion": version,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def is_current(api: Api, item: Object) -> bool:
    """Tell whether the expression of a kind takes an object for ready. Raises ApiError for an error in it."""
    path = api.resource(item["apiVersion"], item["kind"]).path(
        item["metadata"].get("namespace", ""), item["metadata"]["name"]
    )
    try:
        api.request("PUT", f"{path}/status", item, params={"dryRun": "All"})
    except ApiError as error:
        if error.reason == "Conflict":  # Kueue wrote its status meanwhile
            metadata = item["metadata"]
            live = api.get(item["apiVersion"], item["kind"], metadata["name"], metadata.get("namespace", ""))
            metadata["resourceVersion"] = live["metadata"]["resourceVersion"]
            return is_current(api, item)
        if not error.message.endswith("denied request: in progress"):
            raise
        return False
    return True


@pytest.fixture(scope="module")
def judged(synced: Bed) -> Bed:
    """Give the API server the expressions, and wait until it uses them."""
    create = partial(synced.api.create, fieldValidation="Strict")
    for name, flavor, stop in (("broken", "absent", "None"), ("stopped", "", "HoldAndDrain")):
        live = synced.api.get(KUEUE, "ClusterQueue", "cluster-queue")
        spec = {**live["spec"], "stopPolicy": stop}
        spec.pop("cohortName", None)
        if flavor:
            spec = copy.deepcopy(spec)
            spec["resourceGroups"][0]["flavors"][0]["name"] = flavor
        create({"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec})
    for name, queue, stop in (
        ("of-broken", "broken", "None"),
        ("of-stopped", "stopped", "None"),
        ("of-nothing", "nothing", "None"),
        ("held", "cluster-queue", "Hold"),
    ):
        metadata = {"name": name, "namespace": "team-a"}
        spec = {"clusterQueue": queue, "stopPolicy": stop}
        create({"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": spec})
    config = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "there"}
    controller = "kueue.x-k8s.io/provisioning-request"
    spec = {"provisioningClassName": "queued-provisioning.gke.io"}
    create(
        {
            "apiVersion": KUEUE,
            "kind": "ProvisioningRequestConfig",
            "metadata": {"name": "there"},
            "spec": spec,
        }
    )
    for name, parameters in (("there", "there"), ("absent", "absent")):
        spec = {"controllerName": controller, "parameters": {**config, "name": parameters}}
        create({"apiVersion": KUEUE, "kind": "AdmissionCheck", "metadata": {"name": name}, "spec": spec})
    for kind, name in (
        ("ClusterQueue", "cluster-queue"),
        ("LocalQueue", "queue"),
        ("AdmissionCheck", "there"),
    ):
        for item in policy(kind):
            create(item)
        eventually(f"the policy of {kind} is used", partial(_is_judged, synced.api, kind, name))
    return synced


def _is_judged(api: Api, kind: str, name: str) -> bool:
    item = condition_of(api, kind, name)[0]
    item["status"] = {}
    return not is_current(api, item)


def _stale(api: Api, kind: str, name: str) -> Object:
    """Return a live object whose conditions are about an earlier generation."""
    item = condition_of(api, kind, name)[0]
    for condition in item["status"]["conditions"]:
        condition["observedGeneration"] = item["metadata"]["generation"] - 1
    return item


def condition_of(api: Api, kind: str, name: str) -> tuple[Object, str]:
    """Return a live object with the reason of its condition Active, once it has one."""
    namespace = "team-a" if kind == "LocalQueue" else ""

    def read() -> Object:
        return api.get(KUEUE, kind, name, namespace)

    eventually(f"{kind} {name} has a condition", lambda: read().get("status", {}).get("conditions"))
    item = read()
    (found,) = [entry for entry in item["status"]["conditions"] if entry["type"] == "Active"]
    return item, found["reason"]


@pytest.mark.parametrize(
    ("kind", "name", "reason", "current"),
    [
        ("ClusterQueue", "cluster-queue", "Ready", True),
        ("ClusterQueue", "broken", "FlavorNotFound", False),
        ("ClusterQueue", "stopped", "Stopped", True),
        ("LocalQueue", "queue", "Ready", True),
        ("LocalQueue", "held", "Stopped", True),
        ("LocalQueue", "of-broken", "ClusterQueueIsInactive", True),
        ("LocalQueue", "of-stopped", "ClusterQueueIsInactive", True),
        ("LocalQueue", "of-nothing", "ClusterQueueDoesNotExist", False),
        ("AdmissionCheck", "there", "Active", True),
        ("AdmissionCheck", "absent", "BadParametersRef", False),
    ],
)
def test_health(judged: Bed, kind: str, name: str, reason: str, *, current: bool) -> None:
    """What Kueue says of itself is read rightly, in every way in which a queue or a check can be inactive."""
    eventually(f"{kind} {name} is {reason}", lambda: condition_of(judged.api, kind, name)[1] == reason, 10)

    def judged_now() -> bool:
        return is_current(judged.api, condition_of(judged.api, kind, name)[0])

    eventually(f"{kind} {name} is judged", lambda: judged_now() == current, 10)


@pytest.mark.parametrize(("kind", "name"), [("ClusterQueue", "cluster-queue"), ("LocalQueue", "queue")])
def test_health_of_an_earlier_generation(judged: Bed, kind: str, name: str) -> None:
    """What Kueue said before the last change does not count, and without a condition nothing is ready."""
    stale = _stale(judged.api, kind, name)
    bare, _ = condition_of(judged.api, kind, name)
    bare["status"] = {}

    assert (is_current(judged.api, stale), is_current(judged.api, bare)) == (False, False)


def test_health_of_a_check_with_other_parameters(judged: Bed) -> None:
    """A check whose parameters are changed for others as good is ready: Kueue writes no generation then."""
    config = judged.api.get(KUEUE, "ProvisioningRequestConfig", "there")
    other = {**config, "metadata": {"name": "other"}}
    judged.api.create(other, fieldValidation="Strict")
    check = condition_of(judged.api, "AdmissionCheck", "there")[0]
    spec = {**check["spec"], "parameters": {**check["spec"]["parameters"], "name": "other"}}
    judged.api.apply({**_bare(check), "spec": spec}, manager="test", force=True)
    changed, _ = condition_of(judged.api, "AdmissionCheck", "there")

    assert changed["metadata"]["generation"] == check["metadata"]["generation"] + 1
    eventually(
        "the check is ready",
        lambda: is_current(judged.api, condition_of(judged.api, "AdmissionCheck", "there")[0]),
        10,
    )


def test_check_without_a_condition_is_not_ready(judged: Bed) -> None:
    """What Kueue has said nothing of is not ready."""
    bare, _ = condition_of(judged.api, "AdmissionCheck", "there")
    bare["status"] = {}

    assert not is_current(judged.api, bare)


def _bare(item: Object) -> Object:
    """Return what an object is called, and no more of it."""
    metadata = {"name": item["metadata"]["name"]}
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": metadata}
