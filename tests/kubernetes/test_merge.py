"""What people write into a pod template joins what the bases have: one test a rule, at every place."""

from dataclasses import dataclass
from typing import Any

import pytest
from tests.rendering.build.kit import Run, refused, run

from slicewright.kubernetes.merge import merge


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere in a TPUWorkload where a pod template may be written."""

    pattern: str
    job: str
    """The replicatedJob whose pods it reaches; nothing for kinds with one pod template."""
    container: str
    """The container that is there already."""
    head: bool = False

    def fields(self, template: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of the workload with a pod template written there."""
        if self.head:
            return {"pathways": {"head": {"pool": "cpu", "podTemplate": template}}}
        return {"podTemplate": template}

    def run(self, template: dict[str, Any], **spec: Any) -> Run:
        """Return what a workload with that pod template is rendered to."""
        return run(self.pattern, **self.fields(template), **spec)


PLACES = [
    Place("jobset", "slice", "main"),
    Place("job", "", "main"),
    Place("indexed-job", "", "main"),
    Place("pathways", "worker", "pathways-worker"),
    Place("pathways", "pathways-head", "main", head=True),
    Place("pathways-headless", "worker", "pathways-worker"),
    Place("pathwaysjob", "", "main", head=True),
]
everywhere = pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place.pattern}-{place.container}")


def in_container(place: Place, **fields: Any) -> dict[str, Any]:
    """Return a pod template that says something of the container that is there."""
    return {"spec": {"containers": [{"name": place.container, **fields}]}}


@everywhere
def test_container_of_the_same_name_is_merged(place: Place) -> None:
    """A container whose name is there gains the fields that are written, and keeps the others."""
    plain = place.run({}).container(place.container, place.job)
    made = place.run(in_container(place, tty=True)).container(place.container, place.job)

    assert made == {**plain, "tty": True}


@everywhere
def test_other_container_comes_after(place: Place) -> None:
    """A container of another name is added after those that are there."""
    plain = [item["name"] for item in place.run({}).pod(place.job)["containers"]]
    added = {"name": "logger", "image": "l:1"}
    made = place.run({"spec": {"containers": [added]}}).pod(place.job)["containers"]

    assert [item["name"] for item in made] == [*plain, "logger"]
    assert made[-1] == added


@everywhere
def test_init_containers_are_merged_by_name(place: Place) -> None:
    """Init containers are added after those of the base, and merged where the name is there."""
    plain = place.run({}).pod(place.job).get("initContainers", [])
    added = {"name": "fetch", "image": "f:1"}
    written = [{"name": item["name"], "tty": True} for item in plain]
    made = place.run({"spec": {"initContainers": [*written, added]}}).pod(place.job)["initContainers"]

    assert made == [*({**item, "tty": True} for item in plain), added]


@everywhere
def test_env_is_merged_by_name(place: Place) -> None:
    """A variable whose name is there is replaced as a whole, in its place; another comes after."""
    container = place.run({}, **_env(place)).container(place.container, place.job)
    before = [item["name"] for item in container["env"]]
    first = {"name": before[0], "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    written = in_container(place, env=[first, {"name": "LAST", "value": "1"}])

    made = place.run(written, **_env(place)).container(place.container, place.job)["env"]

    assert [item["name"] for item in made] == [*before, "LAST"]
    assert made[0] == first


def _env(place: Place) -> dict[str, Any]:
    """Return a container with variables, where the program has none of the base's."""
    if place.container != "main":
        return {}
    return {
        "container": {"image": "img:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}
    }


@everywhere
def test_env_from_is_appended(place: Place) -> None:
    """Sources of variables only grow, and none comes twice."""
    source = {"configMapRef": {"name": "settings"}}
    made = place.run(in_container(place, envFrom=[source, source])).container(place.container, place.job)

    assert made["envFrom"] == [source]


@everywhere
def test_volumes_are_merged_by_name(place: Place) -> None:
    """A volume whose name is there is replaced as a whole, for a volume has one type; another comes after."""
    plain = place.run({}).pod(place.job).get("volumes", [])
    replaced = [{"name": item["name"], "hostPath": {"path": "/tmp"}} for item in plain]  # noqa: S108
    added = {"name": "data", "emptyDir": {"sizeLimit": "1024Mi"}}
    made = place.run({"spec": {"volumes": [*replaced, added]}}).pod(place.job)["volumes"]

    assert made == [*replaced, {"name": "data", "emptyDir": {"sizeLimit": "1Gi"}}]


@everywhere
def test_mounts_are_merged_by_path(place: Place) -> None:
    """A mount whose path is there is replaced; another comes after."""
    plain = place.run({}).container(place.container, place.job).get("volumeMounts", [])
    replaced = [{"name": "other", "mountPath": item["mountPath"]} for item in plain]
    added = {"name": "data", "mountPath": "/data"}
    template = in_container(place, volumeMounts=[*replaced, added])

    made = place.run(template).container(place.container, place.job)["volumeMounts"]

    assert made == [*replaced, added]


@everywhere
def test_ports_are_merged_by_number_and_protocol(place: Place) -> None:
    """A port whose number and protocol are there is replaced; the same number under UDP is another port."""
    plain = place.run({}).container(place.container, place.job).get("ports", [])
    named = [{"containerPort": item["containerPort"], "name": f"p{item['containerPort']}"} for item in plain]
    udp = {"containerPort": 8471, "protocol": "UDP"}

    made = place.run(in_container(place, ports=[*named, udp])).container(place.container, place.job)["ports"]

    kind = {} if place.pattern in ("job", "indexed-job") else {"protocol": "TCP"}
    assert made == [*({**item, **kind} for item in named), udp]


@everywhere
def test_tolerations_are_appended(place: Place) -> None:
    """Tolerations come after those of the components, and none comes twice."""
    own = {"key": "team", "operator": "Exists"}
    made = place.run({"spec": {"tolerations": [own, own]}}).pod(place.job)["tolerations"]

    assert made == [own]


@pytest.mark.parametrize(
    "place", [place for place in PLACES if not place.head], ids=lambda place: place.pattern
)
def test_tolerations_join_those_of_a_component(place: Place) -> None:
    """Spot's toleration stays before those that people write."""
    own = {"key": "team", "operator": "Exists"}
    made = place.run({"spec": {"tolerations": [own]}}, provisioning="Spot").pod(place.job)["tolerations"]

    assert [item["key"] for item in made] == ["cloud.google.com/gke-spot", "team"]


@everywhere
def test_node_selector_is_merged_by_key(place: Place) -> None:
    """Selectors of people stand beside ours."""
    plain = place.run({}).pod(place.job)["nodeSelector"]
    made = place.run({"spec": {"nodeSelector": {"team": "a"}}}).pod(place.job)["nodeSelector"]

    assert made == {**plain, "team": "a"}


@everywhere
def test_plain_fields_are_set(place: Place) -> None:
    """Whatever else a pod has is taken as it is, in place of what the base says."""
    written = {
        "spec": {"serviceAccountName": "me", "restartPolicy": "OnFailure", "securityContext": {"fsGroup": 1}}
    }
    made = place.run(written).pod(place.job)

    assert made["serviceAccountName"] == "me"
    assert made["restartPolicy"] == "OnFailure"
    assert made["securityContext"] == {"fsGroup": 1}


@pytest.mark.parametrize(
    "place",
    [place for place in PLACES if place.pattern != "pathwaysjob"],
    ids=lambda place: f"{place.pattern}-{place.container}",
)
def test_pod_metadata_is_merged(place: Place) -> None:
    """Labels and annotations of the pod template are those of the pods, not of the run object."""
    template = {"metadata": {"labels": {"a": "1"}, "annotations": {"b": "2"}}}
    made = place.run(template)

    assert made.template(place.job)["metadata"] == template["metadata"]
    assert "a" not in made.item["metadata"]["labels"]


def test_pod_metadata_joins_that_of_a_component() -> None:
    """The annotation of the GCS FUSE component stays."""
    made = run(
        "jobset",
        podTemplate={"metadata": {"annotations": {"b": "2"}}},
        gcsFuse=[{"bucket": "b", "mountPath": "/b"}],
    )

    assert made.template()["metadata"]["annotations"] == {"gke-gcsfuse/volumes": "true", "b": "2"}


_CHIPS = {"limits": {"google.com/tpu": "8"}}
OWNED: dict[str, dict[str, Any]] = {
    "selector": {"spec": {"nodeSelector": {"cloud.google.com/gke-tpu-topology": "8x8"}}},
    "hostNetwork": {"spec": {"hostNetwork": True}},
    "subdomain": {"spec": {"subdomain": "mine"}},
    "chips": {
        "spec": {
            "containers": [{"name": "x", "image": "i", "resources": {"limits": {"google.com/tpu": "8"}}}]
        }
    },
}


@everywhere
@pytest.mark.parametrize("what", OWNED)
def test_what_we_own_is_refused(place: Place, what: str) -> None:
    """TPU selectors, chips, host network and subdomain cannot be set: the error names the field to use."""
    problems = refused(place.pattern, **place.fields(OWNED[what]))

    assert [problem.id for problem in problems] == ["POD001"]
    assert problems[0].hint


def test_additions_are_copied() -> None:
    """What is merged is not shared with what was written: two objects of one workload must not meet."""
    written = {"nodeSelector": {"a": "1"}, "volumes": [{"name": "v", "emptyDir": {}}], "args": ["x"]}
    base: dict[str, Any] = {}

    merge(base, written)
    base["nodeSelector"]["b"] = "2"
    base["volumes"][0]["emptyDir"]["medium"] = "Memory"
    base["args"].append("y")

    assert written == {"nodeSelector": {"a": "1"}, "volumes": [{"name": "v", "emptyDir": {}}], "args": ["x"]}


def test_repeated_elements_of_an_addition_meet() -> None:
    """Two elements of one name within what is written are one: the later wins, or joins the earlier."""
    base: dict[str, Any] = {}

    merge(
        base,
        {
            "containers": [{"name": "a", "image": "i"}, {"name": "a", "tty": True}],
            "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
        },
    )

    assert base == {
        "containers": [{"name": "a", "image": "i", "tty": True}],
        "env": [{"name": "A", "value": "2"}],
    }
