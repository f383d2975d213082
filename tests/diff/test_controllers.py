"""Controllers that come, go or change their release are said in words, and not object by object."""

import pytest
from tests.conftest import Repo

from slicewright.diff.words import words
from slicewright.rendering import header
from slicewright.rendering.platform.controller_files import kustomization

from .kit import CLUSTER, cluster, commit, compared, diff

MEANS = (
    "its definitions, rights, webhooks and pod change; runs that are admitted go on, and none is created or "
    "admitted while it starts"
)
STAYS = "its definitions stay in the cluster, and with them the objects of its kinds"
SUMMARY = "old -> new: 0 runs start, 0 runs end, 0 runs change; 0 objects of 0 clusters differ"
HERE = "overlays/c/_controllers/kustomization.yaml"


def listed(*releases: str) -> dict[str, str]:
    """Return the folder of the controllers of a cluster."""
    entries = "".join(f"- ../../../bases/controllers/{name}\n" for name in releases)
    head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
    return {HERE: header.live("x", f"{head}{entries}")}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (listed("kueue-v0.18.1"), listed("kueue-v0.19.2"), f"  ~ Kueue v0.18.1 -> v0.19.2: {MEANS}"),
        ({}, listed("jobset-v0.12.0"), "  + JobSet v0.12.0 is installed"),
        (
            listed("jobset-v0.12.0", "pathways-job-v0.1.4"),
            listed("jobset-v0.12.0"),
            f"  - PathwaysJob v0.1.4 leaves the tree; {STAYS}",
        ),
    ],
)
def test_a_controller_is_said_in_words(before: dict[str, str], after: dict[str, str], said: str) -> None:
    """One line, with both releases; what a release holds is not listed."""
    found = compared(before, after)

    assert words(found) == f"cluster c\n{said}\n\n{SUMMARY}\n"
    assert found.differs


def test_each_cluster_has_its_own_controllers() -> None:
    """What changes on one cluster is not said of another."""
    other = {path.replace("/c/", "/d/"): text for path, text in listed("jobset-v0.12.0").items()}
    found = compared(listed("kueue-v0.18.1"), listed("kueue-v0.19.2") | other)

    assert words(found) == (
        f"cluster c\n  ~ Kueue v0.18.1 -> v0.19.2: {MEANS}\n\n"
        f"cluster d\n  + JobSet v0.12.0 is installed\n\n{SUMMARY}\n"
    )


def test_the_same_releases_are_no_difference() -> None:
    """Whatever the releases hold: their digests are checked elsewhere."""
    assert not compared(listed("kueue-v0.19.2"), listed("kueue-v0.19.2")).differs


def test_a_copy_that_was_edited_is_a_difference() -> None:
    """The manifests and the digest beside them may be edited together: what is installed is another thing."""
    folder = "bases/controllers/kueue-v0.19.3"

    def tree(image: str) -> dict[str, str]:
        manifests = f"image: {image}\n"
        return listed("kueue-v0.19.3") | {
            f"{folder}/manifests.yaml": manifests,
            f"{folder}/kustomization.yaml": kustomization("mine", manifests),
        }

    found = compared(tree("kueue:v0.19.3"), tree("evil/miner:1"))
    (change,) = found.record()["controllers"]
    first, second = change["beforeDigest"], change["afterDigest"]

    assert (change["before"], change["after"]) == ("v0.19.3", "v0.19.3")
    assert first != second
    assert words(found).startswith(
        f"cluster c\n  ~ Kueue v0.19.3 has other manifests, {first[:12]} -> {second[:12]}: {MEANS}\n"
    )


def test_the_head_and_the_line_ends_of_a_copy_are_no_difference() -> None:
    """Where a copy came from, and the system on which it was checked out, change nothing in a cluster."""
    folder = "bases/controllers/kueue-v0.19.3"
    files = {f"{folder}/kustomization.yaml": kustomization("mine", "a\n"), f"{folder}/manifests.yaml": "a\n"}
    other = {path: text.replace("# mine", "# yours").replace("\n", "\r\n") for path, text in files.items()}

    assert not compared(listed("kueue-v0.19.3") | files, listed("kueue-v0.19.3") | other).differs


@pytest.mark.slow
def test_json_has_both_releases_and_the_configuration_is_an_object(empty: Repo) -> None:
    """The ConfigMap that the folder patches is compared as the one that stood in the platform before."""
    cluster(empty, f"{CLUSTER}    controllers: {{managed: false}}\n    kueue: {{}}\n")
    empty.run("render")
    commit(empty)
    cluster(empty, f"{CLUSTER}    kueue: {{}}\n")
    empty.run("render")
    moved = diff(empty)
    commit(empty)
    cluster(empty, f"{CLUSTER}    kueue: {{waitForPodsReady: {{timeout: 3h}}}}\n")
    empty.run("render")
    changed = diff(empty)

    assert [{key: one[key] for key in one if key != "afterDigest"} for one in moved["controllers"]] == [
        {"cluster": "c1", "controller": name, "before": None, "after": version, "beforeDigest": None}
        for name, version in (("JobSet", "v0.12.0"), ("Kueue", "v0.19.2"))
    ]
    assert moved["objects"] == []
    assert changed["controllers"] == []
    assert [(one["effect"], one["kind"], one["name"]) for one in changed["platform"]] == [
        ("changed", "ConfigMap", "kueue-manager-config")
    ]
