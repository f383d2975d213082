"""The listed tier: what is in it, and that its derived numbers follow the arithmetic of a slice."""

import math
import re
from collections import Counter

import pytest
import yaml

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.parse import FILES, read_catalogue
from slicewright.catalogue.resolve import TpuRequest, resolve
from slicewright.catalogue.shape import Shape


def row(catalogue: Catalogue, name: str) -> Shape:
    """Return the row that a name means, in either tier."""
    found = resolve(catalogue, TpuRequest(name, allow_unlisted=True))
    assert isinstance(found, Shape)
    return found


def numbers(text: str) -> list[int]:
    """Return the sides that a topology or bounds are written with."""
    return [int(number) for number in re.split("[x,]", text)]


def test_rows_are_those_of_the_published_lists(catalogue: Catalogue, listed: list[dict[str, str]]) -> None:
    """The listed tier has every row of the published lists and no other."""
    expected = {(line["generation"], line["machine_type"], line["topology"], line["name"]) for line in listed}

    actual = [(row.generation, row.machine_type, row.topology, row.count_name) for row in catalogue.rows()]

    assert expected == set(actual)
    assert len(listed) == len(actual)


def test_generations_are_in_their_order(texts: dict[str, str]) -> None:
    """The generations stand from the oldest to the newest, in whatever order the files are read."""
    files = {file: yaml.load(texts[file], Loader=yaml.CSafeLoader) for file in sorted(texts)}

    assert list(read_catalogue(files).generations) == ["v3", "v4", "v5e", "v5p", "v6e", "tpu7x"]


def test_default_rows_have_the_count_name(catalogue: Catalogue, listed: list[dict[str, str]]) -> None:
    """A count name resolves to the row that the lists call its default, and does not name the other rows."""
    expected = {
        (line["machine_type"], line["topology"]): line["default_for_name"] == "yes" for line in listed
    }

    actual = {(row.machine_type, row.topology): row.count_name in row.names for row in catalogue.rows()}

    assert expected == actual


def test_chips_are_the_product_of_the_sides(catalogue: Catalogue) -> None:
    """A slice has as many chips as the product of its sides, shared out evenly to its hosts."""
    for shape in catalogue.rows("all"):
        assert math.prod(numbers(shape.topology)) == shape.chips
        assert shape.chips == shape.hosts * shape.chips_per_host
        assert shape.chips * shape.machine.cores_per_chip == shape.tensor_cores
        assert (shape.hosts > 1) == shape.multi_host


def test_bounds_multiply_to_hosts_and_chips(catalogue: Catalogue) -> None:
    """Host bounds times the bounds of a host give the three sides of the topology, padded with 1."""
    for shape in catalogue.rows("all"):
        hosts, chips = numbers(shape.host_bounds), numbers(shape.chips_per_host_bounds)
        assert math.prod(hosts) == shape.hosts
        assert math.prod(chips) == shape.chips_per_host
        sides = [host * chip for host, chip in zip(hosts, chips, strict=True)]
        assert [*numbers(shape.topology), 1][:3] == sides


@pytest.mark.parametrize(
    ("name", "host_bounds", "chips_per_host_bounds", "wrap"),
    [
        ("v5litepod-1", "1,1,1", "1,1,1", "false,false,false"),
        ("v5litepod-4", "1,1,1", "2,2,1", "false,false,false"),
        ("v5litepod-8", "1,2,1", "2,2,1", "false,false,false"),
        ("v5lite-8", "1,1,1", "2,4,1", "false,false,false"),
        ("v6e-128", "4,8,1", "2,2,1", "false,true,false"),
        ("v6e-256", "8,8,1", "2,2,1", "true,true,false"),
        ("v3-512", "8,8,1", "2,2,1", "false,false,false"),
        ("v4-8", "1,1,1", "2,2,1", "false,false,false"),
        ("v4-64", "1,2,4", "2,2,1", "false,false,false"),
        ("v4-128", "2,2,4", "2,2,1", "true,true,true"),
        ("v5p-4x4x8", "2,2,8", "2,2,1", "true,true,true"),
        ("tpu7x-2", "1,1,1", "1,1,1", "false,false,false"),
        ("tpu7x-128", "2,2,4", "2,2,1", "true,true,true"),
    ],
)
def test_bounds_and_wrap(
    catalogue: Catalogue, name: str, host_bounds: str, chips_per_host_bounds: str, wrap: str
) -> None:
    """Bounds and wrap are what the device plugin of GKE gives to libtpu."""
    shape = row(catalogue, name)

    assert (host_bounds, chips_per_host_bounds, wrap) == (
        shape.host_bounds,
        shape.chips_per_host_bounds,
        shape.wrap,
    )


def test_pathways_instance_types(catalogue: Catalogue) -> None:
    """Pathways has an instance type for the seven machine types of PathwaysJob and for no other."""
    expected = {
        "ct4p-hightpu-4t": "tpuv4",
        "ct5lp-hightpu-4t": "tpuv5e",
        "ct5lp-hightpu-8t": "tpuv5e1t",
        "ct5p-hightpu-4t": "tpuv5",
        "ct6e-standard-4t": "tpuv6e",
        "ct6e-standard-8t": "tpuv6e1t",
        "tpu7x-standard-4t": "tpu7x",
    }

    for shape in catalogue.rows("all"):
        prefix = expected.get(shape.machine_type)
        assert (f"{prefix}:{shape.topology}" if prefix else None) == shape.pathways_instance_type


def test_pathways_job_lists(catalogue: Catalogue) -> None:
    """The topologies that the PathwaysJob controller accepts are marked: as many as its table has."""
    expected = {
        "ct4p-hightpu-4t": 13,
        "ct5lp-hightpu-4t": 7,
        "ct5lp-hightpu-8t": 1,
        "ct5p-hightpu-4t": 96,
        "ct6e-standard-4t": 7,
        "ct6e-standard-8t": 1,
        "tpu7x-standard-4t": 98,
    }

    actual = Counter(row.machine_type for row in catalogue.rows("all") if "pathways-job" in row.listed_by)

    assert expected == actual


def test_flex_start(catalogue: Catalogue) -> None:
    """Flex-start is offered on v5e, v5p, v6e and tpu7x, but not on v3, v4 and the legacy v5e label."""
    expected = {"tpu-v5-lite-podslice", "tpu-v5p-slice", "tpu-v6e-slice", "tpu7x"}

    assert expected == {shape.accelerator for shape in catalogue.rows("all") if shape.flex_start}
    assert expected.isdisjoint(shape.accelerator for shape in catalogue.rows() if not shape.flex_start)


def test_multislice(catalogue: Catalogue) -> None:
    """Every multi-host slice can be one of several, except on v3."""
    for shape in catalogue.rows("all"):
        assert (shape.multi_host and shape.generation != "v3") == shape.multislice


def test_multi_host_machines_have_a_placement(catalogue: Catalogue) -> None:
    """The node pools of multi-host slices are placed compactly, those of tpu7x by a workload policy."""
    for machine in catalogue.machine_types.values():
        several = any(shape.machine is machine and shape.multi_host for shape in catalogue.rows())
        kind = "HIGH_THROUGHPUT" if machine.generation == "tpu7x" else "COMPACT"
        assert (kind if several else "") == machine.placement


def test_exceeds_documented_max(catalogue: Catalogue) -> None:
    """Single v5p slices above 6144 chips are marked, for the documentation names none."""
    listed = {shape.topology for shape in catalogue.rows() if shape.exceeds_documented_max}
    assert {"12x24x24", "16x20x28"} == listed

    for shape in catalogue.rows("all"):
        assert (shape.generation == "v5p" and shape.chips > 6144) == shape.exceeds_documented_max


def test_accelerator_count_is_needed_for_2x4(catalogue: Catalogue) -> None:
    """Only 2x4 of v5e and v6e, which exists on one host and on two, needs the accelerator count as well."""
    expected = {
        ("ct5lp-hightpu-4t", "2x4", 2),
        ("ct5lp-hightpu-8t", "2x4", 1),
        ("ct6e-standard-4t", "2x4", 2),
        ("ct6e-standard-8t", "2x4", 1),
    }

    actual = {
        (shape.machine_type, shape.topology, shape.hosts)
        for shape in catalogue.rows("all")
        if shape.needs_accelerator_count
    }

    assert expected == actual


def test_rows_are_keyed_by_accelerator_machine_type_and_topology(catalogue: Catalogue) -> None:
    """No two rows have the same accelerator label, machine type and topology."""
    keys = Counter((row.accelerator, row.machine_type, row.topology) for row in catalogue.rows("all"))

    assert {1} == set(keys.values())


def test_every_row_has_sources(catalogue: Catalogue) -> None:
    """Every row cites where it comes from, its machine type included; the listed ones say who lists them."""
    for shape in catalogue.rows("all"):
        assert shape.sources
        assert set(shape.machine.sources) <= set(shape.sources)
        assert (shape.tier == "listed") == bool(shape.listed_by)


def test_machine_types(catalogue: Catalogue) -> None:
    """The offered machine types are the documented ones and the legacy ones of v5e, under their labels."""
    expected = {
        "tpu-v3-device": ["ct3-hightpu-4t"],
        "tpu-v3-slice": ["ct3p-hightpu-4t"],
        "tpu-v4-podslice": ["ct4p-hightpu-4t"],
        "tpu-v5-lite-podslice": ["ct5lp-hightpu-1t", "ct5lp-hightpu-4t", "ct5lp-hightpu-8t"],
        "tpu-v5-lite-device": ["ct5l-hightpu-1t", "ct5l-hightpu-4t", "ct5l-hightpu-8t"],
        "tpu-v5p-slice": ["ct5p-hightpu-4t"],
        "tpu-v6e-slice": ["ct6e-standard-1t", "ct6e-standard-4t", "ct6e-standard-8t"],
        "tpu7x": ["tpu7x-standard-1t", "tpu7x-standard-4t"],
    }

    actual = {label: [m.machine_type for m in machines] for label, machines in catalogue.accelerators.items()}

    assert expected == actual


def test_machine_numbers(catalogue: Catalogue) -> None:
    """A machine type has the vCPUs and GB of the GKE autoscaler; tpu7x has the lower, documented memory."""
    expected = {
        "ct3-hightpu-4t": (96, 340),
        "ct3p-hightpu-4t": (48, 340),
        "ct4p-hightpu-4t": (240, 407),
        "ct5l-hightpu-1t": (24, 48),
        "ct5l-hightpu-4t": (112, 192),
        "ct5l-hightpu-8t": (224, 384),
        "ct5lp-hightpu-1t": (24, 48),
        "ct5lp-hightpu-4t": (112, 192),
        "ct5lp-hightpu-8t": (224, 384),
        "ct5p-hightpu-4t": (208, 448),
        "ct6e-standard-1t": (44, 176),
        "ct6e-standard-4t": (180, 720),
        "ct6e-standard-8t": (180, 1440),
        "tpu7x-standard-1t": (56, 248),
        "tpu7x-standard-4t": (224, 960),
    }

    assert expected == {name: (m.vcpus, m.memory_gb) for name, m in catalogue.machine_types.items()}


def test_zones(catalogue: Catalogue) -> None:
    """A row has the zones of its generation, except where its machine type has others or none."""
    expected = {
        "v5p-8": ("us-central1-a", "us-east5-a"),
        "v3-8": ("us-central1-a", "us-central1-b"),
        "v3-32": ("europe-west4-a",),
        "v5lite-8": (),
    }

    assert expected == {name: row(catalogue, name).zones for name in expected}


def test_record(catalogue: Catalogue) -> None:
    """A row as JSON has every field under a camelCase key."""
    shape = row(catalogue, "v5e-16")

    assert {
        "generation": "v5e",
        "accelerator": "tpu-v5-lite-podslice",
        "machineType": "ct5lp-hightpu-4t",
        "topology": "4x4",
        "tier": "listed",
        "names": ["v5litepod-16", "v5e-16", "v5litepod-4x4", "v5e-4x4"],
        "countName": "v5litepod-16",
        "chips": 16,
        "chipsPerHost": 4,
        "hosts": 4,
        "tensorCores": 16,
        "multiHost": True,
        "pathwaysInstanceType": "tpuv5e:4x4",
        "flexStart": True,
        "multislice": True,
        "hostBounds": "2,2,1",
        "chipsPerHostBounds": "2,2,1",
        "wrap": "false,false,false",
        "exceedsDocumentedMax": False,
        "needsAcceleratorCount": False,
        "zones": ["us-central1-a", "us-south1-a", "us-west1-c", "us-west4-a"],
        "listedBy": list(shape.listed_by),
        "sources": list(shape.sources),
        "note": "",
    } == shape.record()


@pytest.mark.parametrize("file", FILES)
def test_no_source_is_idle(texts: dict[str, str], file: str) -> None:
    """Every citation in the glossary of a data file is used by a row."""
    text = texts[file]
    used = text.partition("\nsources:\n")[0]

    for key in yaml.load(text, Loader=yaml.CSafeLoader)["sources"]:
        assert re.search(rf"[ \[]{key}[],#\s}}]", used), key
