"""The vendored manifests are as released, and made ready for controllers outside of the cluster."""

import base64
import hashlib
from typing import Any

import pytest
import yaml

from slicewright.programs.pins import versions
from slicewright.rendering.platform.controller_files import CONTROLLERS, JOBSET, KUEUE, Release
from slicewright.testbed import control_plane, manifests

PORTS = {"jobset-system": 1, "kueue-system": 2}
SOURCES = yaml.safe_load((manifests.FOLDER / "sources.yaml").read_text(encoding="utf-8"))["files"]


@pytest.mark.parametrize("row", SOURCES, ids=[row["file"] for row in SOURCES])
def test_as_released(row: dict[str, str]) -> None:
    """Each file is the one that its source had, and says where it is from and under which licence."""
    text = (manifests.FOLDER / row["file"]).read_bytes()

    assert hashlib.sha256(text).hexdigest() == row["sha256"]
    assert all(row[key] for key in ("project", "version", "from", "licence"))


def test_every_file_has_a_source() -> None:
    """Nothing lies in the folder that sources.yaml does not explain."""
    found = {path.name for path in manifests.FOLDER.iterdir()} - {"sources.yaml"}

    assert found == {row["file"] for row in SOURCES}


def test_versions_are_the_pinned_ones() -> None:
    """The releases that clusters install by default are those of which the test bed has the programs."""
    assert [manifests.pinned(one) for one in CONTROLLERS] == [
        Release(one, one.default) for one in CONTROLLERS
    ]
    assert [one.default for one in CONTROLLERS] == [versions()[one.field] for one in CONTROLLERS]


def test_webhooks_call_the_loopback_address() -> None:
    """No webhook and no conversion calls a Service: there is none; all trust the authority that is given."""
    items = manifests.for_host(manifests.released(KUEUE), ports={"kueue-system": 2345}, authority="PEM")
    clients = [client for client, _ in manifests._webhook_clients(items)]

    assert len(clients) > 40
    assert all(client["url"].startswith("https://127.0.0.1:2345/") for client in clients)
    assert {base64.b64decode(client["caBundle"]) for client in clients} == {b"PEM"}
    assert all("service" not in client for client in clients)
    assert {client["url"] for client in clients} >= {"https://127.0.0.1:2345/convert"}


def test_pods_of_controllers_are_left_out() -> None:
    """What only a controller in a pod needs is not created."""
    for items in (manifests.released(JOBSET), manifests.released(KUEUE)):
        kinds = {item["kind"] for item in manifests.for_host(items, ports=PORTS)}

        assert kinds & {"Deployment", "Service", "Secret", "ConfigMap", "APIService"} == set()
        assert kinds >= {"CustomResourceDefinition", "ClusterRole", "Namespace"}


def test_manifests_stay_as_they_are() -> None:
    """The next rehearsal installs the same objects."""
    items = manifests.released(KUEUE)
    once, again = (manifests.for_host(items, ports=PORTS) for _ in range(2))

    assert once == again
    assert manifests.released(KUEUE) == items


def test_webhooks_need_a_port() -> None:
    """A manifest with webhooks and nowhere to call is a mistake."""
    with pytest.raises(ValueError, match="they need a port"):
        manifests.for_host(manifests.released(JOBSET))


def test_descriptions_go_but_fields_of_that_name_stay() -> None:
    """Definitions lose their descriptions; a field that is called `description` is a field."""
    items = {
        item["metadata"]["name"]: item for item in manifests.for_host(manifests.released(KUEUE), ports=PORTS)
    }
    versions_of = items["workloadpriorityclasses.kueue.x-k8s.io"]["spec"]["versions"]
    schemas: list[dict[str, Any]] = [version["schema"]["openAPIV3Schema"] for version in versions_of]

    assert [schema["properties"]["description"]["type"] for schema in schemas] == ["string", "string"]
    assert ["description" in schema for schema in schemas] == [False, False]


def test_what_others_need_comes_first() -> None:
    """Namespaces and definitions are created before what stands in them."""
    first, rest = manifests.in_order(manifests.released(JOBSET))

    assert {item["kind"] for item in first} == {"Namespace", "CustomResourceDefinition"}
    assert len(first) + len(rest) == len(manifests.released(JOBSET))


def test_webhooks_for_pods_only_where_kueue_wants_them() -> None:
    """Plain pods are shown to Kueue only if its settings have that integration."""

    def hooks(settings: dict[str, Any]) -> set[str]:
        items = control_plane.without_idle_webhooks(manifests.released(KUEUE), settings)
        return {hook["name"] for item in items for hook in item.get("webhooks", ())}

    assert hooks({}) & {"mpod.kb.io", "vpod.kb.io"} == set()
    assert hooks({"integrations": {"frameworks": ["pod"]}}) >= {"mpod.kb.io", "vpod.kb.io"}


def test_webhooks_of_jobset_for_pods_stay() -> None:
    """They keep each slice on a node pool of its own, and have the names that Kueue's have."""
    names = {hook["name"] for item in manifests.released(JOBSET) for hook in item.get("webhooks", ())}
    kept = control_plane.without_idle_webhooks(manifests.released(JOBSET), {})

    assert {"mpod.kb.io", "vpod.kb.io"} <= names
    assert names == {hook["name"] for item in kept for hook in item.get("webhooks", ())}
