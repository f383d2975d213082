"""Bases and components that cannot be evaluated, and patches of the user that do not fit."""

import pytest
from tests.conftest import Repo
from tests.words import places

SPEC = "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}\n"
COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"


def said(repo: Repo, spec: str) -> str:
    """Return what a render says against a spec; nothing is written."""
    repo.workload("a", SPEC + spec)
    done = repo.run("render", code=1)
    assert (done.out, (repo.root / "overlays").exists()) == ("", False)
    return done.err


def test_missing_component_points_at_the_workload_that_names_it(repo: Repo) -> None:
    """Whoever misspells a component finds the line, not only the path that is not there."""
    err = said(repo, "components: [mine]")

    assert "workloads/a.yaml:8:16: KUS001" in places(err)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["../outside", "/etc", "a/../b", "a//b", ".", "a/."])
def test_component_may_not_leave_the_repository(repo: Repo, path: str) -> None:
    """Neither `..` nor an absolute path is a component; a path has one form only."""
    err = said(repo, f"components: [{path}]")

    assert places(err).startswith("workloads/a.yaml:8:16: IN005\n")


def test_component_behind_a_link_that_leaves_the_repository_is_not_read(repo: Repo) -> None:
    """A link out of the tree is not followed, whatever it points to, and is named."""
    outside = repo.root.parent / f"{repo.root.name}-outside"
    outside.mkdir()
    (outside / "kustomization.yaml").write_text(COMPONENT, encoding="utf-8")
    (repo.root / "mine").symlink_to(outside)

    said_of_it = said(repo, "components: [mine]")
    assert "FILE004" in places(said_of_it)


OUTSIDE = {
    "a strategic-merge patch": "patches:\n- path: p.yaml\n",
    "a transformer": "namePrefix: x-\n",
    "a remote resource": "resources: [github.com/a/b]\n",
}


@pytest.mark.parametrize("what", OUTSIDE)
def test_component_outside_of_the_subset_is_refused(repo: Repo, what: str) -> None:
    """What only the real kustomize evaluates cannot be frozen in process: the error says what to write."""
    repo.write("mine/kustomization.yaml", COMPONENT + OUTSIDE[what])

    err = said(repo, "components: [mine]")

    assert "workloads/a.yaml:8:16: KUS007" in places(err)


def test_broken_base_is_one_problem_for_all_workloads(repo: Repo) -> None:
    """A base that is gone is said once, with its path."""
    missing = "bases/jobset/kustomization.yaml"
    (repo.root / missing).unlink()
    repo.workload("b")

    err = said(repo, "")

    assert places(err).startswith(f"{missing}: KUS001")
    assert err.endswith("\n1 error, 0 warnings\n")


CHANGED_BASES = {
    "another name": ("- name: slice", "- name: slices"),
    "another type": ("containers:", "containers: 5\n            ignored:"),
    "nothing": ("  failurePolicy:\n", "  failurePolicies:\n"),
    "an empty list": ("containers:", "containers: []\n            ignored:"),
    "rules that are none": ("  failurePolicy:\n", "  failurePolicy:\n    rules: none\n"),
    "another job without a name": (
        "  replicatedJobs:\n",
        "  replicatedJobs:\n  - {name: 5, template: {spec: {template: {}}}}\n",
    ),
    "a pod that is none": (
        "            containers:\n",
        "            tolerations: none\n            containers:\n",
    ),
    "null": (
        "      metadata:\n        annotations:\n",
        "      metadata: null\n      ignored:\n        annotations:\n",
    ),
}


@pytest.mark.parametrize("what", CHANGED_BASES)
def test_base_that_lacks_what_is_filled_in_is_a_problem(repo: Repo, what: str) -> None:
    """A base that people changed beyond recognition is said with its file and the field, and no traceback."""
    text = repo.read("bases/jobset/jobset.yaml")
    repo.write("bases/jobset/jobset.yaml", text.replace(*CHANGED_BASES[what]))

    err = said(repo, "")

    assert places(err).startswith("bases/jobset/jobset.yaml: BASE001")


def test_component_that_takes_away_what_is_filled_in_is_blamed(repo: Repo) -> None:
    """The workload that names the component is pointed at, and the base is not blamed."""
    repo.write(
        "mine/kustomization.yaml",
        COMPONENT
        + "patches:\n- target: {kind: JobSet}\n  patch: '- {op: remove, path: /spec/failurePolicy}'\n",
    )

    assert places(said(repo, "components: [mine]")).startswith("workloads/a.yaml:8:16: BASE001")


PATCHES = {
    "matches none": ("{target: {kind: Job}, ops: [{op: remove, path: /spec}]}", "PATCH001"),
    "matches by another name": (
        "{target: {kind: JobSet, name: b}, ops: [{op: remove, path: /spec}]}",
        "PATCH001",
    ),
    "fails its test": ("{target: {kind: JobSet}, ops: [{op: test, path: /kind, value: Job}]}", "PATCH002"),
    "leads nowhere": ("{target: {kind: JobSet}, ops: [{op: remove, path: /spec/none/x}]}", "PATCH002"),
    "renames the object": (
        "{target: {kind: JobSet}, ops: [{op: replace, path: /metadata/name, value: b}]}",
        "PATCH003",
    ),
    "leaves no object": (
        "{target: {kind: JobSet}, ops: [{op: replace, path: /metadata, value: gone}]}",
        "PATCH003",
    ),
    "makes the kind no text": (
        "{target: {kind: JobSet}, ops: [{op: replace, path: /apiVersion, value: 5}]}",
        "PATCH003",
    ),
    "copies without end": (
        "{target: {kind: JobSet}, ops: ["
        + ", ".join(f"{{op: copy, from: /spec, path: /spec/copy{number}}}" for number in range(40))
        + "]}",
        "PATCH002",
    ),
    "nests without end": (
        "{target: {kind: JobSet}, ops: ["
        + ", ".join(f"{{op: add, path: /spec{'/a' * number}, value: {{}}}}" for number in range(1, 80))
        + "]}",
        "PATCH002",
    ),
    "moves the object": (
        "{target: {kind: JobSet}, ops: [{op: replace, path: /metadata/namespace, value: b}]}",
        "PATCH003",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", PATCHES)
def test_patch_that_does_not_fit_is_refused(repo: Repo, what: str) -> None:
    """A patch matches exactly one object, passes its own tests, and leaves the object's identity alone."""
    patch, expected = PATCHES[what]

    assert places(said(repo, f"patches: [{patch}]")).splitlines()[0].endswith(f": {expected}")


def test_patch_that_matches_two_objects_is_refused(repo: Repo) -> None:
    """The Service of an indexed Job and one that a component brings are told apart by name only."""
    repo.write("mine/kustomization.yaml", COMPONENT + "resources: [service.yaml]\n")
    repo.write("mine/service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: other}\nspec: {}\n")
    patch = "{target: {kind: Service}, ops: [{op: add, path: /spec/x, value: y}]}"

    err = said(repo, f"api: Job\ncomponents: [mine]\npatches: [{patch}]")

    assert "PATCH001" in places(err)


def test_every_problem_of_bases_and_patches_is_found_beside_those_of_files(repo: Repo) -> None:
    """One run shows the broken file, the workload that cannot be planned and the patch that does not fit."""
    repo.write("workloads/broken.yaml", "a: [")
    repo.workload("b", "clusters: [c1]\ntpu: v5litepod-7\ncontainer: {image: x}")
    err = said(repo, "patches: [{target: {kind: Job}, ops: [{op: remove, path: /spec}]}]")

    assert [
        line.split(": ")[1].split()[0] for line in err.splitlines() if ": " in line and line[0] != " "
    ] == ["PATCH001", "TPU005", "YAML001"]


def test_problems_of_a_fixed_overlay_are_those_of_a_run(repo: Repo) -> None:
    """A live overlay is made from the same objects, so the same things stand against it."""
    err = said(repo, "naming: Fixed\npatches: [{target: {kind: Job}, ops: [{op: remove, path: /spec}]}]")

    assert "PATCH001" in places(err)


def test_broken_base_is_not_blamed_on_a_component(repo: Repo) -> None:
    """A workload with components of its own still points at the base, where that is what is wrong."""
    (repo.root / "bases/jobset/kustomization.yaml").unlink()
    repo.write("mine/kustomization.yaml", COMPONENT)

    assert said(repo, "components: [mine]").startswith("bases/jobset/kustomization.yaml: KUS001 ")
