"""What we render is read back: for random clusters, and for every slice of the catalogue."""

import json
from typing import Any

import pytest
from hypothesis import given
from tests.rendering.platform.test_properties import PROFILE, clusters
from tests.resolved import resolve_text

from slicewright.catalogue.resolve import resolve
from slicewright.catalogue.shape import Shape
from slicewright.cluster.importing.cluster_document import imported, text_of
from slicewright.cluster.importing.node_pools import shape_of, tpu_field
from slicewright.intent.tpuworkload import tpu_request
from slicewright.rendering.io.package_data import catalogue, package
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform.platform_files import objects
from slicewright.testbed.nodes import simulated_nodes

from .kit import KINDS, living


def platform(site: ResolvedCluster) -> dict[tuple[str, str, str], Any]:
    """Return the objects of a platform that are read, by kind, namespace and name."""
    return {
        (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]): item
        for item in objects(site)
        if item["kind"] in KINDS
    }


@pytest.mark.slow
@PROFILE
@given(clusters())
def test_rendered_cluster_is_read_back(document: dict[str, Any]) -> None:
    """Nodes and objects of any valid cluster become a file of the schema that renders the same objects."""
    site = resolve_text(json.dumps(document))

    found = imported(living(site), catalogue(), name="c1", context="test")

    assert [] == list(package().schemas.problems("slicewright/tpucluster.json", found.document))
    text = text_of(found, "test").replace("managed: false", "managed: true")
    again = resolve_text(text)
    assert platform(site) == platform(again)
    names = [{node["metadata"]["name"] for node in simulated_nodes(one)} for one in (site, again)]
    assert names[0] == names[1]


@pytest.mark.parametrize("tier", ["listed", "rule"])
def test_every_slice_of_the_catalogue_is_known_by_its_nodes(tier: Any) -> None:
    """The `tpu` that is written means the slice that the nodes' labels mean."""
    rows = catalogue().rows(tier)

    assert [row for row in rows if _again(row) is not row] == []
    assert [row for row in rows if shape_of(_labels(row), catalogue()) is not row] == []


def _again(row: Shape) -> object:
    return resolve(catalogue(), tpu_request(tpu_field(row)))


def _labels(row: Shape) -> dict[str, str]:
    return {
        "node.kubernetes.io/instance-type": row.machine_type,
        "cloud.google.com/gke-tpu-accelerator": row.accelerator,
        "cloud.google.com/gke-tpu-topology": row.topology,
    }
