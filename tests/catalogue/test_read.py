"""Reading data files: what is broken in them is said with its file and row."""

import pytest
import yaml

from slicewright.catalogue.parse import read_catalogue

SMALL = """
generation: v9
names:
- {prefix: v9pod, aliases: [v9], accelerators: [tpu-v9-slice]}
misnomers: {tpu-v9: tpu-v9-slice}
counts: chips
coresPerChip: 1
sides: 3
podChips: 64
documentedMaxChips: {chips: 32, sources: [doc]}
wrap: {sideEquals: 4, sources: [doc]}
rule: {machineType: ct9-4t, sideMultipleOf: 4, maxSide: 8, maxCubes: 2, sources: [doc]}
zones: [here]
minimumGke: {standard: ["1.99"]}
machineTypes:
- machineType: ct9-4t
  accelerator: tpu-v9-slice
  chipsPerHost: 4
  chipsPerHostBounds: "2,2,1"
  vcpus: 8
  memoryGB: 16
  flexStart: false
  multislice: true
  placement: COMPACT
  sources: [doc]
  topologies:
  - {topology: 2x2x1, listedBy: doc}
  - {topology: 2x2x2, listedBy: "doc#L7", zones: [there]}
notOffered:
- {machineType: ct9l-4t, accelerator: tpu-v9-lite, why: nobody documents it, sources: [doc]}
sources:
  doc: the documentation
"""


def test_small_file() -> None:
    """A data file becomes rows; a source with lines is cited with them, zones of a row win."""
    first, second, *rule = read_catalogue({"v9.yaml": yaml.safe_load(SMALL)}).rows("all")

    assert first.names == ("v9pod-4", "v9-4", "v9pod-2x2x1", "v9-2x2x1")
    assert first.zones == ("here",)
    assert first.wrap == "false,false,false"
    assert second.zones == ("there",)
    assert second.sources == ("the documentation#L7", "the documentation")
    assert not second.exceeds_documented_max
    assert [row.topology for row in rule] == ["4x4x4", "4x4x8"]
    assert rule[1].wrap == "true,true,false"
    assert rule[1].exceeds_documented_max


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("generation: v9", "generation: 9", "v9.yaml: generation must be a text"),
        ("generation: v9", "", "v9.yaml: 'generation' is missing"),
        ("aliases: [v9]", "aliases: [v8]", "v9.yaml: names[0] must have the prefix or the alias v9"),
        ("aliases: [v9]", "aliases: v9", "v9.yaml: names v9pod: aliases must be a list of texts"),
        ("aliases: [v9]", "alias: [v9]", "v9.yaml: names v9pod: unknown key 'alias'"),
        (
            "accelerators: [tpu-v9-slice]",
            "accelerators: [tpu-v9-slice, tpu-v9-more]",
            "v9.yaml: tpu-v9-more has no machine type",
        ),
        (
            "tpu-v9: tpu-v9-slice",
            "tpu-v9: tpu-v8",
            "v9.yaml: misnomers: tpu-v8 is neither a prefix nor an accelerator of names",
        ),
        ("counts: chips", "counts: hosts", "v9.yaml: counts must be one of chips, tensorCores"),
        ("coresPerChip: 1", "coresPerChip: true", "v9.yaml: coresPerChip must be a positive number"),
        ("coresPerChip: 1", "coresPerChip: 0", "v9.yaml: coresPerChip must be a positive number"),
        ("podChips: 64", "", "v9.yaml: 'podChips' is missing"),
        ("sides: 3", "sides: 4", "v9.yaml: sides must be 2 or 3"),
        ("sides: 3", "sides: 2", "v9.yaml: ct9-4t 2x2x1: a topology has 2 sides"),
        ("{chips: 32, sources: [doc]}", "{chips: 32}", "v9.yaml: documentedMaxChips: has no sources"),
        (
            "{chips: 32, sources: [doc]}",
            "[32]",
            "v9.yaml: documentedMaxChips: must be a mapping with text keys",
        ),
        ("sideEquals: 4, ", "", "v9.yaml: wrap: needs one of allSidesAtLeast and sideEquals"),
        (
            "sideEquals: 4, ",
            "sideEquals: 4, allSidesAtLeast: 4, ",
            "v9.yaml: wrap: needs one of allSidesAtLeast and sideEquals",
        ),
        (
            "rule: {machineType: ct9-4t",
            "rule: {machineType: ct9-8t",
            "v9.yaml: rule: ct9-8t is not among machineTypes",
        ),
        (
            "accelerator: tpu-v9-slice",
            "accelerator: tpu-v8-slice",
            "v9.yaml: machineTypes ct9-4t: tpu-v8-slice is not an accelerator of names",
        ),
        (
            '"2,2,1"',
            '"2,4,1"',
            "v9.yaml: machineTypes ct9-4t: chipsPerHostBounds 2,4,1 are not the bounds of 4 chips",
        ),
        (
            '"2,2,1"',
            "2x2",
            "v9.yaml: machineTypes ct9-4t: chipsPerHostBounds 2x2 are not the bounds of 4 chips",
        ),
        (
            "flexStart: false",
            "flexStart: no way",
            "v9.yaml: machineTypes ct9-4t: flexStart must be true or false",
        ),
        ("flexStart: false", "", "v9.yaml: machineTypes ct9-4t: 'flexStart' is missing"),
        (
            "placement: COMPACT",
            "placement: LOOSE",
            "v9.yaml: machineTypes ct9-4t: placement must be one of COMPACT, HIGH_THROUGHPUT",
        ),
        (
            "listedBy: doc}",
            "listedBy: docs}",
            "v9.yaml: machineTypes ct9-4t: topologies 2x2x1: docs is not in sources",
        ),
        (
            "listedBy: doc}",
            "by: doc}",
            "v9.yaml: machineTypes ct9-4t: topologies 2x2x1: 'listedBy' is missing",
        ),
        (
            "listedBy: doc}",
            "listedBy: doc, chips: 4}",
            "v9.yaml: machineTypes ct9-4t: topologies 2x2x1: unknown key 'chips'",
        ),
        ("topology: 2x2x1", "topology: 2x2x01", "v9.yaml: ct9-4t 2x2x01: a topology has 3 sides"),
        ("topology: 2x2x1", "topology: 2x3x4", "v9.yaml: ct9-4t 2x3x4: hosts of 2,2,1 chips do not tile it"),
        ("topology: 2x2x1", "topology: 2x2x2", "v9.yaml: ct9-4t 2x2x2: is listed twice"),
        (
            "topology: 2x2x1",
            "topology: 2x4x1",
            "v9.yaml: ct9-4t 2x2x2: v9pod-8 is already in v9.yaml: ct9-4t 2x4x1",
        ),
        (
            "- {topology: 2x2x1, listedBy: doc}",
            "- 2x2x1",
            "v9.yaml: machineTypes ct9-4t: topologies 0: must be a mapping with text keys",
        ),
        ("why: nobody documents it, ", "", "v9.yaml: notOffered ct9l-4t: 'why' is missing"),
        ("zones: [here]", "zones: [here]\nwings: 2", "v9.yaml: unknown key 'wings'"),
        ("machineTypes:\n", "machineTypes: {}\nmachines:\n", "v9.yaml: machineTypes must be a list"),
    ],
)
def test_broken_file(old: str, new: str, message: str) -> None:
    """A broken data file is refused, and the error names the file, the row and what is wrong."""
    assert old in SMALL

    with pytest.raises(ValueError, match=r"^v9\.yaml: ") as caught:
        read_catalogue({"v9.yaml": yaml.safe_load(SMALL.replace(old, new, 1))})

    assert message == str(caught.value)


def test_a_second_default_is_refused() -> None:
    """A topology on two machine types of one label needs exactly one default."""
    second = """
- machineType: ct9-8t
  accelerator: tpu-v9-slice
  chipsPerHost: 8
  chipsPerHostBounds: "2,2,2"
  vcpus: 8
  memoryGB: 16
  flexStart: false
  multislice: false
  sources: [doc]
  topologies:
  - {topology: 2x2x2, listedBy: doc, defaultForName: false}
notOffered:
"""
    text = SMALL.replace("\nnotOffered:\n", second).replace("zones: [there]", "defaultForName: false")

    with pytest.raises(ValueError, match=r"v9.yaml: tpu-v9-slice 2x2x2: needs one default, has 0"):
        read_catalogue({"v9.yaml": yaml.safe_load(text)})


def test_a_machine_without_topologies_is_refused() -> None:
    """A machine type that has no topology is a mistake."""
    text = SMALL.partition("  topologies:")[0] + "sources: {doc: the documentation}"

    with pytest.raises(ValueError, match=r"v9.yaml: ct9-4t has no topology"):
        read_catalogue({"v9.yaml": yaml.safe_load(text)})


def test_a_word_means_one_generation() -> None:
    """A prefix or a machine type that two files have is refused."""
    document = yaml.safe_load(SMALL)

    with pytest.raises(ValueError, match=r"other.yaml: v9pod is already in v9.yaml"):
        read_catalogue({"v9.yaml": document, "other.yaml": document})
