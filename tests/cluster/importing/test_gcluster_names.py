"""Names of gcluster become the slice that gcluster itself takes, never one of twice or half the size."""

import shlex

import pytest
import yaml

from slicewright.catalogue.resolve import TpuRequest, resolve
from slicewright.cluster.importing.gcluster_names import Slice, field_of, slice_of
from slicewright.kubernetes.types import Object
from slicewright.rendering.io.package_data import catalogue

from .gcluster_facts import FILE

ROWS: list[Object] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["slices"]
WITHOUT_A_ROW = {
    "v6e-8 on 4x4": "GKE has 4x4 on hosts of four chips only",
    "v6e on 2x4": "2x4 is one host or two: gcluster looks at the node pools",
    "v5p-2 on 2x2x1": "GKE has no ct5p-hightpu-2t",
}
"""What gcluster renders, and we refuse; by name and topology."""


def asked(row: Object) -> tuple[str, str]:
    """Return the values of `--compute-type` and `--topology`, nothing where one is not given."""
    words = shlex.split(row["args"].replace("=", " "))
    return words[1], words[3] if len(words) > 2 else ""


def meant(name: str, topology: str = "") -> Slice:
    """Return the slice of values that have one."""
    found = slice_of(name, topology, catalogue())
    assert isinstance(found, Slice), found
    return found


@pytest.mark.parametrize("row", [row for row in ROWS if "refused" not in row], ids=lambda row: row["args"])
def test_every_name_is_the_slice_that_gcluster_renders(row: Object) -> None:
    """Accelerator, topology, hosts and chips of a host are those of gcluster's own dry run."""
    if " on ".join(asked(row)) in WITHOUT_A_ROW:
        assert isinstance(slice_of(*asked(row), catalogue()), str)
        return

    found = meant(*asked(row)).shape

    wanted = {key: row[key] for key in ("accelerator", "topology", "hosts")}
    assert wanted == {key: getattr(found, key) for key in wanted}
    assert sum(row["chips"]) == found.chips_per_host
    written = field_of(found, catalogue())
    request = (
        TpuRequest(name=written)
        if isinstance(written, str)
        else TpuRequest(
            accelerator=written["accelerator"],
            topology=written["topology"],
            machine_type=written["machineType"],
        )
    )
    assert found == resolve(catalogue(), request)


@pytest.mark.parametrize("row", [row for row in ROWS if "refused" in row], ids=lambda row: row["args"])
def test_what_gcluster_refuses_is_refused(row: Object) -> None:
    """A name without a topology, or of another tool, becomes no slice."""
    assert isinstance(slice_of(*asked(row), catalogue()), str)


def test_eight_chips_are_one_host() -> None:
    """`v6e-8` and `v5litepod-8` are one host of eight chips, and two of four to Cloud TPU."""
    found = [field_of(meant(name).shape, catalogue()) for name in ("v6e-8", "v5litepod-8")]

    assert [
        {"accelerator": "v6e", "topology": "2x4", "machineType": "ct6e-standard-8t"},
        {"accelerator": "v5e", "topology": "2x4", "machineType": "ct5lp-hightpu-8t"},
    ] == found


def test_a_topology_decides_and_a_number_beside_it_is_named() -> None:
    """`tpu7x-128` with 4x4x4 has 64 chips, as in gcluster, and the import says so."""
    same, other = (meant("tpu7x-128", topology) for topology in ("4x4x8", "4x4x4"))

    assert ("4x4x8", "") == (same.shape.topology, same.unused)
    assert "4x4x4" == other.shape.topology
    assert "is 'tpu7x-128': gcluster takes --topology 4x4x4 instead of its number" == other.unused


@pytest.mark.parametrize(
    ("name", "topology", "why"),
    [
        ("tpu7x-128", "", "gcluster has no topology for 'tpu7x-128'"),
        ("v5e-16", "", "'v5e-16' is not a TPU of gcluster"),
        ("n2-standard-64", "", "'n2-standard-64' is not a TPU of gcluster"),
        ("ct3p-hightpu-4t", "4x4", "'ct3p-hightpu-4t' is not a TPU of gcluster"),
        ("v6e", "2x4", "ct6e-standard-4t or ct6e-standard-8t"),
        ("v6e-8", "4x4", "and topology '4x4' on ct6e-standard-8t"),
        ("v6e", "3x3", "and topology '3x3'"),
        ("v6e-16", "4 x 4", "'4 x 4' is not a topology"),
        ("ct6e-standard-4t", "", "gcluster has no topology for 'ct6e-standard-4t'"),
    ],
)
def test_what_means_no_slice_is_refused_with_the_reason(name: str, topology: str, why: str) -> None:
    """The reason names what is missing."""
    found = slice_of(name, topology, catalogue())

    assert isinstance(found, str)
    assert why in found


def test_a_shape_of_the_rule_tier_is_written_with_its_parts() -> None:
    """A shape that no list has needs `allowUnlisted`."""
    unlisted = next(row for row in catalogue().rows("rule") if row.accelerator == "tpu-v5p-slice")
    found = meant("ct5p-hightpu-4t", unlisted.topology).shape

    assert {
        "accelerator": "v5p",
        "topology": unlisted.topology,
        "machineType": "ct5p-hightpu-4t",
        "allowUnlisted": True,
    } == field_of(found, catalogue())
