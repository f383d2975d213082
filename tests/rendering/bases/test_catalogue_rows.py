"""Every listed row of the catalogue under every pattern: its numbers, and that kustomize builds the same."""

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests import files

from slicewright.kubernetes.labels import ACCELERATOR, ACCELERATOR_COUNT, NODE_POOL, TOPOLOGY
from slicewright.kubernetes.types import Object
from slicewright.rendering.compose import compose
from slicewright.rendering.io.package_data import package
from slicewright.rendering.plan.plan import MARKER

from .kit import VERSIONS, built, canonical, copy_bases, write
from .rows import Case, accepted_by_operator, cases, pods, read_row, rendered

pytestmark = [pytest.mark.slow, pytest.mark.ci]


@pytest.fixture(scope="module")
def objects() -> dict[str, list[Object]]:
    """What each case composes to, by name."""
    found: dict[str, list[Object]] = {}
    for case in cases():
        made = compose(f"overlays/c/default/{case.name}", read_row)
        assert (made.problems, made.outside) == ((), ())
        found[case.name] = list(made.objects)
    return found


def main_object(made: list[Object]) -> Object:
    """Return the run object, which comes after its Service."""
    return made[-1]


def of(pattern: str) -> list[Case]:
    """Return the cases of a pattern."""
    return [case for case in cases() if case.pattern == pattern]


def test_every_row_and_pattern_is_here() -> None:
    """All listed rows run as a JobSet and as a Job; as a multislice and under Pathways those that can."""
    rows = package().catalogue.rows()
    pathways = [row for row in rows if row.pathways_instance_type]

    assert rows
    assert len(of("job")) == len(rows)
    assert len(of("jobset")) == len(rows) + len([row for row in rows if row.multislice])
    assert len(of("pathways")) == len(of("pathways-headless")) == len(pathways)
    assert len(of("pathwaysjob")) == len([row for row in pathways if accepted_by_operator(row)])


@pytest.mark.untraced
def test_kinds_are_those_of_the_pattern(objects: dict[str, list[Object]]) -> None:
    """A pattern is one object, and for Jobs of several hosts a Service beside it."""
    kinds = {
        "jobset": ["JobSet"],
        "pathways": ["JobSet"],
        "pathways-headless": ["JobSet"],
        "pathwaysjob": ["PathwaysJob"],
    }

    for case in cases():
        job = ["Service", "Job"] if case.shape.multi_host else ["Job"]
        assert kinds.get(case.pattern, job) == [item["kind"] for item in objects[case.name]], case


def test_hosts_times_chips_are_the_topology(objects: dict[str, list[Object]]) -> None:
    """Hosts (completions = parallelism) times chips a host (limits = requests) are the topology's product."""
    for case in cases():
        if case.pattern == "pathwaysjob":
            continue
        ((hosts, spec),) = pods(main_object(objects[case.name]))
        (resources,) = (item["resources"] for item in spec["containers"] if "google.com/tpu" in str(item))
        chips = resources["limits"]["google.com/tpu"]
        assert chips == resources["requests"]["google.com/tpu"]
        assert case.shape.hosts == hosts
        assert str(case.shape.chips_per_host) == chips
        assert math.prod(int(side) for side in case.shape.topology.split("x")) == hosts * int(chips), case


def test_selectors_name_one_row(objects: dict[str, list[Object]]) -> None:
    """The node selectors stand in the catalogue, and no other row has the same."""
    keys = (ACCELERATOR, TOPOLOGY, ACCELERATOR_COUNT)
    rows = package().catalogue.rows("all")

    for case in cases():
        if case.pattern == "pathwaysjob":
            continue
        ((_, spec),) = pods(main_object(objects[case.name]))
        selected = spec["nodeSelector"]
        accelerator, topology, count = (selected.get(key) for key in keys)
        assert set(selected) <= set(keys)
        matching = [
            row
            for row in rows
            if (row.accelerator, row.topology) == (accelerator, topology)
            and count in {None, str(row.chips_per_host)}
        ]
        assert [case.shape] == matching, case


def test_slices_are_replicas(objects: dict[str, list[Object]]) -> None:
    """The slices of a JobSet are replicas; each of several hosts has a node pool to itself."""
    key = "alpha.jobset.sigs.k8s.io/exclusive-topology"

    for case in of("jobset") + of("pathways") + of("pathways-headless"):
        job = main_object(objects[case.name])["spec"]["replicatedJobs"][-1]
        assert case.slices == job["replicas"]
        exclusive = {"annotations": {key: NODE_POOL}} if case.shape.multi_host else None
        assert exclusive == job["template"].get("metadata"), case


def test_pathways_names_its_slices(objects: dict[str, list[Object]]) -> None:
    """The resource manager is told how many slices there are, and of which type."""
    for case in of("pathways") + of("pathways-headless"):
        head = main_object(objects[case.name])["spec"]["replicatedJobs"][0]["template"]["spec"]["template"][
            "spec"
        ]
        field = "initContainers" if case.pattern == "pathways" else "containers"
        flags = next(item["args"] for item in head[field] if item["name"] == "pathways-rm")
        assert f"--instance_count={case.slices}" in flags
        assert f"--instance_type={case.shape.pathways_instance_type}" in flags


def test_pathwaysjob_names_machine_and_topology(objects: dict[str, list[Object]]) -> None:
    """A PathwaysJob names machine type, topology and slices, and selects what the operator would not."""
    for case in of("pathwaysjob"):
        (workers,) = main_object(objects[case.name])["spec"]["workers"]
        assert (case.shape.machine_type, case.shape.topology) == (workers["type"], workers["topology"])
        assert case.slices == workers["numSlices"]
        count = {ACCELERATOR_COUNT: str(case.shape.chips_per_host)}
        assert (count if case.shape.needs_accelerator_count else None) == workers.get("nodeSelector"), case


def test_no_marker_survives(objects: dict[str, list[Object]]) -> None:
    """Nothing that a base asks for is left open."""
    assert [name for name, made in objects.items() if MARKER in str(made)] == []


@pytest.mark.untraced
@pytest.mark.tools
@pytest.mark.parametrize("version", VERSIONS)
def test_kustomize_builds_the_same(version: str, tmp_path: Path, objects: dict[str, list[Object]]) -> None:
    """Both versions of kustomize build one overlay of each structure to what we compose.

    Overlays of the same structure have the same operations on the same paths, with values of the same types.
    They differ in numbers and words, which the tests above prove for every row.
    """
    names = list({structure(case): case.name for case in cases()}.values())
    copy_bases(tmp_path)
    files.write(tmp_path, rendered())
    together = {"resources": [f"../{name}" for name in names]}
    folder = write(tmp_path / "overlays/c/default/together", {"kustomization.yaml": together})

    expected = canonical(item for name in names for item in objects[name])

    assert expected == built(folder, version)


def test_structures_are_few_and_of_every_pattern() -> None:
    """Each pattern has a structure, and far fewer than rows: else one of each is as good as all of them."""
    structures = {(case.pattern, structure(case)) for case in cases()}

    assert {case.pattern for case in cases()} == {pattern for pattern, _ in structures}
    assert len(structures) <= len(cases()) / 20


@cache
def structure(case: Case) -> str:
    """Return the files of an overlay with the type of each scalar in place of the scalar."""
    folder = f"overlays/c/default/{case.name}/"
    files = {
        path.removeprefix(folder): types(yaml.load(text, Loader=yaml.CSafeLoader))
        for path, text in rendered().items()
        if path.startswith(folder)
    }
    return json.dumps(files, sort_keys=True)


def types(value: Any, key: str = "") -> Any:
    """Return a document with types for scalars; operations, paths and names of files stay.

    A string that YAML would read as something else without its quotes is a type of its own.
    """
    if isinstance(value, dict):
        return {name: types(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [types(item, key) for item in value]
    if isinstance(value, str) and key != "value":
        return value
    if isinstance(value, str) and not isinstance(yaml.load(value, Loader=yaml.CSafeLoader), str):
        return "quoted"
    return type(value).__name__
