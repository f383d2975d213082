"""Machines without accelerators: sizes from their names, and what GKE leaves of them to pods."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import slicewright
from slicewright.catalogue.catalogue import NO_CPU_MACHINES, CpuMachines, read_cpu_machines
from slicewright.catalogue.parse import read_catalogue

TEXT = (Path(slicewright.__file__).parent / "catalog" / "cpu.yaml").read_text(encoding="utf-8")
MACHINES = read_cpu_machines(yaml.safe_load(TEXT))


@pytest.fixture(scope="module")
def machines() -> CpuMachines:
    """Return the machines of the package."""
    return read_catalogue({"cpu.yaml": yaml.safe_load(TEXT)}).cpu_machines


@pytest.mark.parametrize(
    ("name", "vcpus", "mib"),
    [
        ("n2-standard-64", 64, 256 * 1024),
        ("n1-standard-4", 4, 15 * 1024),
        ("n1-highmem-2", 2, 13 * 1024),
        ("n1-highcpu-16", 16, 14745),
        ("n2-highcpu-16", 16, 16 * 1024),
        ("e2-highmem-8", 8, 64 * 1024),
        ("c3-highcpu-22", 22, 44 * 1024),
        ("n2-custom-8-16384", 8, 16 * 1024),
        ("n2-custom-8-163840-ext", 8, 160 * 1024),
        ("custom-4-5120", 4, 5 * 1024),
    ],
)
def test_size_follows_from_the_name(machines: CpuMachines, name: str, vcpus: int, mib: int) -> None:
    """The number of vCPUs stands in the name; memory follows from family and kind, or stands there too."""
    found = machines.find(name)

    assert found is not None
    assert (vcpus, mib) == (found.vcpus, found.memory_mib)


@pytest.mark.parametrize(
    "name",
    ["m3-megamem-64", "c2-highmem-8", "n2-standard-0", "n2-standard", "x9-standard-8", "c2-custom-8-16384"],
)
def test_size_of_what_no_source_confirms_is_not_known(machines: CpuMachines, name: str) -> None:
    """A family, a kind or a custom type that the data does not have is not guessed."""
    assert machines.find(name) is None


def test_what_gke_keeps(machines: CpuMachines) -> None:
    """GKE's own example, 4 vCPUs and 15 GiB: 80m of cpu; 1 + 0.8 + 0.7 GiB of memory and 100 MiB to evict."""
    small = machines.sized(4, 15 * 1024)

    assert small.allocatable_millicpus == 4000 - 80
    assert small.allocatable_mib == int(15 * 1024 - (1 + 0.8 + 0.7) * 1024) - 100


@pytest.mark.parametrize(("size", "gib"), [(100, 47060071478 / 2**30), (174, 84.3), (569, 400.3), (10, 0.04)])
def test_boot_disk_leaves_what_nodes_have(machines: CpuMachines, size: int, gib: float) -> None:
    """The first is a node in GKE's documentation, the others are in the tests of its autoscaler."""
    found = replace(machines.sized(4, 15 * 1024), disk_gb=size).allocatable_storage_mib / 1024

    assert found == pytest.approx(gib, abs=0.1)


def test_boot_disk_for_pods_is_the_smallest_in_tens_of_gigabytes(machines: CpuMachines) -> None:
    """The disk has the default size if that is enough, and 0 if no disk is large enough."""
    disk = machines.kept.disk

    assert [100, 180, 570, 0] == [disk.size_for(gib) for gib in (1, 84, 400, 10**6)]


@pytest.mark.slow
@given(vcpus=st.integers(1, 416), gib=st.integers(2, 12_000))
def test_pods_get_less_than_there_is_and_more_of_a_larger_machine(vcpus: int, gib: int) -> None:
    """What pods may ask for lies between nothing and the machine, and grows with it."""
    machine, larger = MACHINES.sized(vcpus, gib * 1024), MACHINES.sized(vcpus + 1, (gib + 1) * 1024)

    assert 0 < machine.allocatable_millicpus < vcpus * 1000
    assert 0 < machine.allocatable_mib < gib * 1024
    assert machine.allocatable_millicpus < larger.allocatable_millicpus
    assert machine.allocatable_mib < larger.allocatable_mib


def test_every_fact_has_a_source(machines: CpuMachines) -> None:
    """Each family and the formula cite a document."""
    assert all(family.sources for family in machines.families.values())
    assert len(machines.kept.sources) == 2


def test_catalogue_without_the_file_knows_no_machine() -> None:
    """A catalogue of TPUs alone is one."""
    assert NO_CPU_MACHINES == read_catalogue({}).cpu_machines
    assert read_catalogue({}).cpu_machines.find("n2-standard-8") is None


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {**yaml.safe_load(TEXT), "families": [{"family": "x"}]},
        {**yaml.safe_load(TEXT), "kept": {**yaml.safe_load(TEXT)["kept"], "bootDisk": {"keptSize": "x"}}},
    ],
)
def test_broken_file_is_named(document: Any) -> None:
    """Whoever edits the data reads which file is broken."""
    with pytest.raises(ValueError, match=r"^cpu\.yaml: "):
        read_catalogue({"cpu.yaml": document})
