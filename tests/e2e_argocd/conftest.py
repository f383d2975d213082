"""One cluster with one Argo CD for all tests; each test finds it without anything of another one."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from tests.e2e import kit as clusters
from tests.e2e_argocd import argo, kit, loopback
from tests.e2e_argocd.repository import Tree

from slicewright.cluster.api.api_error import ApiError
from slicewright.testbed.bed import Bed

pytest.register_assert_rewrite("tests.e2e_argocd.ours")

collect_ignore_glob = [] if os.environ.get(loopback.INSIDE) else ["test_*.py"]
"""They run in a network namespace of their own, which `make e2e-argocd` makes."""


@pytest.fixture(scope="session")
def shared_bed(request: pytest.FixtureRequest) -> Bed:
    """Hold the cluster and its Argo CD."""
    loopback.bring_up()
    cluster: Bed = request.getfixturevalue("shared_cluster")
    argo.start(cluster)
    return cluster


@pytest.fixture(scope="session")
def not_ours(shared_bed: Bed) -> frozenset[str]:
    """Return what was there before the first test, which no test removes."""
    return frozenset(clusters.identities(shared_bed))


@pytest.fixture
def bed(shared_bed: Bed, not_ours: frozenset[str]) -> Iterator[Bed]:
    """Hold the cluster for one test."""
    yield shared_bed
    kit.remove_applications(shared_bed)
    kit.remove_tracked(shared_bed)
    clusters.clear(shared_bed, not_ours)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure what the Applications say, and the end of the log of Argo CD's controller."""
    report = yield
    bed = item.funcargs.get("bed")
    if report.failed and isinstance(bed, Bed):
        try:
            told = [kit.described(each) for each in bed.api.list(*kit.APPLICATION)]
        except (ApiError, OSError) as error:
            told = [str(error)]
        report.sections += [("Applications", "\n".join(told)), ("log of Argo CD", argo.log_end(bed))]
    return report


@pytest.fixture
def tree(bed: Bed, tmp_path: Path) -> Tree:
    """A GitOps repository of ours; the cluster has the nodes that it asks for. Nothing is rendered yet."""
    made = Tree(tmp_path / "tree")
    bed.add_nodes(made.site)
    return made
