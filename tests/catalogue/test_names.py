"""What names mean: counts, topologies, aliases, and the shapes that share a count."""

from collections import Counter

import pytest

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.resolve import TpuRequest, resolve
from slicewright.catalogue.shape import Shape


def found(catalogue: Catalogue, request: TpuRequest) -> Shape:
    """Return the row that a request means."""
    shape = resolve(catalogue, request)
    assert isinstance(shape, Shape)
    return shape


def test_names_are_unique(catalogue: Catalogue) -> None:
    """No name belongs to two rows."""
    names = Counter(name for row in catalogue.rows("all") for name in row.names)

    assert {1} == set(names.values())


def test_a_name_resolves_to_its_row(catalogue: Catalogue) -> None:
    """Every name of a row resolves to that row."""
    for row in catalogue.rows("all"):
        for name in row.names:
            assert row is found(catalogue, TpuRequest(name, allow_unlisted=row.tier == "rule"))


def test_every_row_is_reached_by_machine_type(catalogue: Catalogue) -> None:
    """Accelerator, topology and machine type together mean one row, under the label and the generation."""
    for row in catalogue.rows("all"):
        for accelerator in (row.accelerator, row.generation):
            request = TpuRequest("", accelerator, row.topology, row.machine_type, row.tier == "rule")
            assert row is found(catalogue, request)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("v5litepod-16", ("tpu-v5-lite-podslice", "4x4", "ct5lp-hightpu-4t", 4, 4)),
        ("v5litepod-32", ("tpu-v5-lite-podslice", "4x8", "ct5lp-hightpu-4t", 8, 4)),
        ("v5litepod-64", ("tpu-v5-lite-podslice", "8x8", "ct5lp-hightpu-4t", 16, 4)),
        ("v5litepod-128", ("tpu-v5-lite-podslice", "8x16", "ct5lp-hightpu-4t", 32, 4)),
        ("v5litepod-256", ("tpu-v5-lite-podslice", "16x16", "ct5lp-hightpu-4t", 64, 4)),
        ("v4-8", ("tpu-v4-podslice", "2x2x1", "ct4p-hightpu-4t", 1, 4)),
        ("v4-16", ("tpu-v4-podslice", "2x2x2", "ct4p-hightpu-4t", 2, 4)),
        ("v4-32", ("tpu-v4-podslice", "2x2x4", "ct4p-hightpu-4t", 4, 4)),
        ("v4-64", ("tpu-v4-podslice", "2x4x4", "ct4p-hightpu-4t", 8, 4)),
        ("v4-128", ("tpu-v4-podslice", "4x4x4", "ct4p-hightpu-4t", 16, 4)),
        ("v4-256", ("tpu-v4-podslice", "4x4x8", "ct4p-hightpu-4t", 32, 4)),
        ("v4-512", ("tpu-v4-podslice", "4x8x8", "ct4p-hightpu-4t", 64, 4)),
        ("v4-1024", ("tpu-v4-podslice", "8x8x8", "ct4p-hightpu-4t", 128, 4)),
        ("v4-1536", ("tpu-v4-podslice", "8x8x12", "ct4p-hightpu-4t", 192, 4)),
        ("v4-2048", ("tpu-v4-podslice", "8x8x16", "ct4p-hightpu-4t", 256, 4)),
        ("v4-4096", ("tpu-v4-podslice", "8x16x16", "ct4p-hightpu-4t", 512, 4)),
    ],
)
def test_the_table_of_tpu_gke_sandbox(
    catalogue: Catalogue, name: str, expected: tuple[str, str, str, int, int]
) -> None:
    """The README of jarokaz/tpu-gke-sandbox and the catalogue agree, but for its 26x16, which is 16x16."""
    row = found(catalogue, TpuRequest(name))

    actual = (row.accelerator, row.topology, row.machine_type, row.hosts, row.chips_per_host)
    assert expected == actual


@pytest.mark.parametrize(
    ("request_", "machine_type", "topology"),
    [
        pytest.param(TpuRequest("v5e-8"), "ct5lp-hightpu-4t", "2x4", id="two hosts are the default of 2x4"),
        pytest.param(TpuRequest("v6e-2x4"), "ct6e-standard-4t", "2x4", id="also when named by topology"),
        pytest.param(TpuRequest("v5lite-8"), "ct5l-hightpu-8t", "2x4", id="the legacy label has a prefix"),
        pytest.param(TpuRequest("v5p-4x4x8"), "ct5p-hightpu-4t", "4x4x8", id="a topology in the name"),
        pytest.param(TpuRequest("tpu7x-2"), "tpu7x-standard-1t", "1x1x1", id="the smallest tpu7x"),
        pytest.param(TpuRequest("v3-2x2"), "ct3-hightpu-4t", "2x2", id="one host of v3"),
        pytest.param(TpuRequest("v3-4x4"), "ct3p-hightpu-4t", "4x4", id="several hosts of v3"),
        pytest.param(
            TpuRequest("", "v5e", "2x4", "ct5lp-hightpu-8t"), "ct5lp-hightpu-8t", "2x4", id="2x4 on one host"
        ),
        pytest.param(
            TpuRequest("", "v5e", "2x4", "ct5l-hightpu-8t"),
            "ct5l-hightpu-8t",
            "2x4",
            id="a generation admits its legacy machines",
        ),
        pytest.param(
            TpuRequest("", "v5litepod", "2x4"), "ct5lp-hightpu-4t", "2x4", id="a prefix as accelerator"
        ),
        pytest.param(
            TpuRequest("", "tpu-v5-lite-device", "2x4"), "ct5l-hightpu-8t", "2x4", id="a label as accelerator"
        ),
        pytest.param(
            TpuRequest("", "v6e", "1x1"), "ct6e-standard-1t", "1x1", id="the only machine with a topology"
        ),
        pytest.param(
            TpuRequest("", "v6e", "", "ct6e-standard-8t"),
            "ct6e-standard-8t",
            "2x4",
            id="the only topology of a machine",
        ),
        pytest.param(
            TpuRequest("", "tpu-v3-device"), "ct3-hightpu-4t", "2x2", id="the only topology of a label"
        ),
    ],
)
def test_what_is_left_out_is_found(
    catalogue: Catalogue, request_: TpuRequest, machine_type: str, topology: str
) -> None:
    """A request that leaves out what only one row, or a default, can fill in means that row."""
    row = found(catalogue, request_)

    assert (machine_type, topology) == (row.machine_type, row.topology)


def test_2x4_on_one_host_has_no_name(catalogue: Catalogue) -> None:
    """2x4 on one host of eight chips is reached by its machine type only."""
    row = found(catalogue, TpuRequest("", "v6e", "2x4", "ct6e-standard-8t"))

    assert not row.names
    assert row.count_name == "v6e-8"


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("v5p-512", [("4x4x16", "rule")]),
        ("v4-512", [("4x4x16", "listed")]),
        ("v4-1536", [("4x8x24", "rule"), ("4x4x48", "rule")]),
        ("v5e-8", [("2x4", "listed")]),
        ("v5e-16", []),
        ("v5lite-8", []),
    ],
)
def test_same_count(catalogue: Catalogue, name: str, others: list[tuple[str, str]]) -> None:
    """The other shapes that a count name fits are known, the unlisted ones too, after the listed ones."""
    same = catalogue.same_count(found(catalogue, TpuRequest(name)))

    assert set(others) <= {(row.topology, row.tier) for row in same}
    assert sorted(same, key=lambda row: row.tier) == list(same)
    assert bool(others) == bool(same)
