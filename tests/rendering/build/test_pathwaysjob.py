"""Pathways through its operator: each field of `pathways` on a PathwaysJob."""

from typing import Any

import pytest

from .kit import run

COLOCATED = "colocated_python_sidecar"
PROXY = {"componentType": "proxy_server", "customFlags": ["--sidecar_name=external"]}


def spec(**pathways: Any) -> dict[str, Any]:
    """Return the spec of a PathwaysJob whose workload says something of Pathways."""
    return dict(run("pathwaysjob", pathways=pathways).item["spec"])


def test_least() -> None:
    """The least that a PathwaysJob is: the operator's defaults that its CRD has are written out."""
    assert spec() == {
        "maxRestarts": 0,
        "pathwaysDir": "gs://bucket/dir",
        "workers": [{"type": "ct5lp-hightpu-4t", "topology": "4x4", "numSlices": 2, "maxSliceRestarts": 1}],
        "controller": {
            "deploymentMode": "default",
            "mainContainerName": "main",
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "img:1"}],
                    "nodeSelector": {"cloud.google.com/gke-nodepool": "cpu"},
                }
            },
        },
    }


def test_restarts() -> None:
    """`failurePolicy.maxRestarts` is the PathwaysJob's."""
    assert run("pathwaysjob", failurePolicy={"maxRestarts": 4}).item["spec"]["maxRestarts"] == 4


@pytest.mark.parametrize(
    ("written", "path", "value"),
    [
        ({"pathwaysVersion": "jax-0.8.1"}, ("pathwaysVersion",), "jax-0.8.1"),
        ({"elasticSlices": 1}, ("controller", "elasticSlices"), 1),
        ({"enableMetricsCollection": True}, ("controller", "enableMetricsCollection"), True),
        (
            {"deploymentMode": "colocate_head_with_workers", "head": {}},
            ("controller", "deploymentMode"),
            "colocate_head_with_workers",
        ),
        ({"mainContainerName": "jax"}, ("controller", "mainContainerName"), "jax"),
        ({"maxSliceRestarts": 0}, ("workers", 0, "maxSliceRestarts"), 0),
        (
            {"worker": {"terminationGracePeriodSeconds": 0}},
            ("workers", 0, "terminationGracePeriodSeconds"),
            0,
        ),
        ({"worker": {"priorityClassName": "high"}}, ("workers", 0, "priorityClassName"), "high"),
        ({"worker": {"nodeSelector": {"a": "1"}}}, ("workers", 0, "nodeSelector"), {"a": "1"}),
    ],
)
def test_field_is_taken(written: dict[str, Any], path: tuple[str | int, ...], value: Any) -> None:
    """Each field of `pathways` stands where the CRD has it, and nowhere when it is not written."""
    made: Any = spec(**written)
    plain: Any = spec()
    for step in path:
        made = made[step]
        plain = plain.get(step) if isinstance(plain, dict) else plain[step]

    assert value == made
    assert plain in {None, "default", "main", 1} or plain == {}


def test_headless_has_no_template() -> None:
    """A PathwaysJob without a program is headless: no template."""
    made = run("pathwaysjob", container=None, pathways={"headless": True, "head": {}}, cluster={"pools": []})

    assert made.item["spec"]["controller"] == {"deploymentMode": "default", "mainContainerName": "main"}


def test_colocated_head_selects_nothing() -> None:
    """The operator gives a head beside the workers its selectors."""
    made = spec(deploymentMode="colocate_head_with_workers", head={})

    assert "nodeSelector" not in made["controller"]["template"]["spec"]


def test_custom_components_are_taken_as_written() -> None:
    """Custom components are the operator's: type, image, flags, variables; a sidecar adds a flag."""
    custom = [
        {
            "componentType": "worker",
            "image": "w:1",
            "customFlags": ["--f=1"],
            "customEnv": [{"name": "A", "value": "1"}],
        },
        {"componentType": COLOCATED, "image": "side:1"},
    ]

    assert [*custom, PROXY] == spec(customComponents=custom)["customComponents"]
    assert custom[:1] == spec(customComponents=custom[:1])["customComponents"]
    assert "customComponents" not in spec()


def test_colocated_python_is_a_custom_component() -> None:
    """`colocatedPython` is what makes the operator start the sidecar: a custom component with its image."""
    sidecar = {"componentType": COLOCATED, "image": "side:1"}
    other = {"componentType": "worker", "image": "w:1"}
    flags = {"componentType": COLOCATED, "customFlags": ["--f=1"]}
    image = {"colocatedPython": {"image": "side:1"}}

    assert spec(**image)["customComponents"] == [sidecar, PROXY]
    assert spec(**image, customComponents=[other])["customComponents"] == [other, sidecar, PROXY]
    both = [{**flags, "image": "side:1"}, PROXY]
    assert spec(**image, customComponents=[flags])["customComponents"] == both
    proxy = {"componentType": "proxy_server", "customFlags": ["--f=1"]}
    told = {**proxy, "customFlags": ["--f=1", "--sidecar_name=external"]}
    assert spec(**image, customComponents=[proxy])["customComponents"] == [told, sidecar]


def test_worker_selectors_join_those_of_the_provisioning() -> None:
    """Selectors of `worker`, of the provisioning and of the shape stand side by side."""
    made = run(
        "pathwaysjob",
        tpu="v5litepod-8",
        provisioning="Spot",
        pathways={"worker": {"nodeSelector": {"a": "1"}}},
    )

    assert made.item["spec"]["workers"][0]["nodeSelector"] == {
        "cloud.google.com/gke-spot": "true",
        "a": "1",
        "cloud.google.com/gke-accelerator-count": "4",
    }
