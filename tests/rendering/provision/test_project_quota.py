"""Pools of all clusters of a project and region are compared with its quotas of TPU chips."""

import pytest
from tests.files import cluster_text
from tests.rendering.platform.kit import repository

US = "project: my-project\nlocation: us-east5"
QUOTA = "projectQuota: [{accelerator: v6e, onDemandChips: 32, preemptibleChips: 64}]\n"
GIVE = "give the pools 16 fewer chips; or request a higher quota, and write"


def said(*specs: str, first: str = US) -> list[tuple[str, str, str]]:
    """Return what is said about the quotas of clusters: place and severity, id and message, and the hint."""
    texts = [cluster_text(spec, name=f"c{at}", first=first) for at, spec in enumerate(specs, 1)]
    return [
        (f"{problem.file}:{problem.line} {problem.severity}", f"{problem.id} {problem.message}", problem.hint)
        for problem in repository(*texts).problems
        if problem.id in ("QUOTA020", "TPU001")
    ]


def pools(*texts: str) -> str:
    """Return the pools of a cluster, each a slice of 16 chips of v6e."""
    return "pools: [" + ", ".join(f"{{tpu: v6e-16, {text}}}" for text in texts) + "]"


def test_pools_that_fit_into_the_quota_have_no_problem() -> None:
    """Spot and flex-start have a quota of their own; a reservation and a ComputeClass use none."""
    reserved = "provisioning: {type: Reservation, name: r}"
    ladder = "provisioning: {type: ComputeClass, name: c}"
    fitting = pools(
        "name: a, slices: 2",
        "name: b, slices: 2, provisioning: Spot",
        "name: c, slices: 2, provisioning: FlexStart",
        f"name: d, slices: 9, {reserved}",
        f"name: e, slices: 9, {ladder}",
    )

    assert [] == said(QUOTA + fitting)
    assert [] == said(pools("name: a, slices: 2000"))
    assert [] == said("projectQuota: [{accelerator: v5p, onDemandChips: 0}]\n" + pools("name: a"))


def test_pools_that_exceed_a_quota_are_named_with_their_chips() -> None:
    """The problem is at the number of the quota, and says which pools add up to what."""
    message = "QUOTA020 the pools have 48 on-demand chips of v6e, but the quota of the project is 32: "

    assert [
        (
            "clusters/c1.yaml:7 error",
            f"{message}a (16), b (32)",
            f"{GIVE} onDemandChips: 48 when you have it",
        )
    ] == said(QUOTA + pools("name: a", "name: b, slices: 2"))


@pytest.mark.parametrize(
    ("pool", "more"),
    [
        ("name: a, autoscaling: {max: 5}, provisioning: Spot", ""),
        ("name: a, slices: 5, provisioning: FlexStart", ""),
        ("name: a, slices: 5, provisioning: Spot", "\nmode: Autopilot"),
    ],
)
def test_growth_beyond_a_quota_is_a_warning(pool: str, more: str) -> None:
    """Smaller pools work. Of the full size Kueue admits runs whose nodes GKE cannot create."""
    message = "QUOTA020 the pools can grow to 80 preemptible chips of v6e, but the quota of the project is 64"

    assert [
        (
            "clusters/c1.yaml:7 warning",
            f"{message}: a (80)",
            f"{GIVE} preemptibleChips: 80 when you have it",
        )
    ] == said(QUOTA + pools(pool) + more)


def test_clusters_of_a_project_and_region_share_the_quota() -> None:
    """A quota is written in one file, or in several; clusters whose place is not known are compared alone."""
    two = (QUOTA + pools("name: a"), pools("name: a, slices: 2"))
    message = "QUOTA020 the pools have 48 on-demand chips of v6e, but the quota of the project is 32: "
    once = [
        (
            "clusters/c1.yaml:7 error",
            f"{message}a (16), a of cluster 'c2' (32)",
            f"{GIVE} onDemandChips: 48 when you have it",
        )
    ]

    assert once == said(*two)
    assert ["clusters/c1.yaml:7 error", "clusters/c2.yaml:7 error"] == [
        where for where, _, _ in said(two[0], QUOTA + two[1])
    ]
    assert [] == said(*two, first="project: my-project")
    assert [] == said(*two, first="location: us-east5")


def test_accelerator_of_a_quota_is_one_of_the_catalogue() -> None:
    """A quota names a generation or GKE's accelerator; another name is an error."""
    wrong = QUOTA.replace("v6e", "v6f") + pools("name: a, slices: 3")

    assert ["TPU001 unknown accelerator 'v6f'"] == [message for _, message, _ in said(wrong)]
    assert ["QUOTA020"] == [message[:8] for _, message, _ in said(wrong.replace("v6f", "tpu-v6e-slice"))]


def test_hint_of_an_exceeded_quota_helps() -> None:
    """With the number of the hint, or with fewer slices, the problem is gone."""
    wrong = QUOTA + pools("name: a, slices: 3")
    ((_, _, hint),) = said(wrong)
    number = hint.rpartition("write ")[2].removesuffix(" when you have it")

    assert [] == said(wrong.replace("onDemandChips: 32", number))
    assert [] == said(wrong.replace("slices: 3", "slices: 2"))
