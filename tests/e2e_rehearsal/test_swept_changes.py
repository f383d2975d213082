"""A sweep of changes, and a change of flex-start nodes, each asked of the real controllers."""

import json
import re
from pathlib import Path

import pytest
from tests.conftest import Repo

from .command import rehearsed
from .kit import spec
from .test_what_if import CLUSTER, CONTROLLERS, MINUTE, SPEED, row

pytestmark = pytest.mark.workflow  # seven plays on test beds of their own: about two minutes


def test_sweep_of_repetitions_says_where_waiting_stops_falling(tmp_path: Path) -> None:
    """Two equal runs: the second waits for the first on one slice, and not on two. Its wait is 5 minutes."""
    repo = Repo(tmp_path)
    repo.cluster(spec=CLUSTER)
    for name, times in (("first", "{duration: 5m}"), ("second", "{duration: 5m, submitAt: 30s}")):
        repo.workload(name, spec(f"queueName: equal\nrehearsal: {times}"))
    ranges = "pools.equal.slices=1..2,clusterQueues.equal.quota.equal.nominalSlices=1..2"
    page = tmp_path / "page.html"
    asked = ["--sweep", ranges, "--repeat", "2", "--no-pods", "--speed", str(SPEED), "--html", str(page)]
    code, out, said = rehearsed(repo, "c1", *asked)
    one, two = ranges.replace("1..2", "1"), ranges.replace("1..2", "2")

    assert 0 == code, said
    assert "c1: base and 2 variants, 2 times each" in out
    assert "Waiting stops falling at slices=2." in out
    assert f"{one.replace(',', ', ')}: nothing that is rehearsed changes" in out
    words = re.escape(two.replace(",", ", "))
    moved = re.search(rf"slices=2: {words}: the makespan is .*, (second starts (\d)m\d\ds earlier)", out)
    assert moved
    assert 4 <= int(moved[2]) <= 5 + CONTROLLERS // MINUTE
    assert moved[1] in page.read_text("utf-8")


def test_flex_start_nodes_come_after_their_delay(tmp_path: Path) -> None:
    """On one slice the second starts when the first has ended: 8 + 10 minutes. With two nobody waits."""
    repo = Repo(tmp_path)
    repo.cluster(
        spec="""
        pools: [{name: flex, tpu: v5litepod-16, slices: 1, provisioning: FlexStart}]
        clusterQueues:
        - name: flex
          quota: [{pool: flex, nominalSlices: 1}]
          localQueues: [{name: flex, namespace: default}]
        """
    )
    lines = "provisioning: FlexStart\nmaxRunDurationSeconds: 3600\nqueueName: flex\nrehearsal: "
    for name, times in (("first", "{duration: 10m}"), ("second", "{duration: 10m, submitAt: 1m}")):
        repo.workload(name, spec(f"{lines}{times}", tpu="v5litepod-16"))
    two = "pools.flex.slices=+1,clusterQueues.flex.quota.flex.nominalSlices=+1"
    asked = ("--what-if", two, "--delay", "8m", "--speed", str(SPEED), "-o", "json")
    code, out, said = rehearsed(repo, "c1", *asked)
    assert 0 == code, said
    base, more = json.loads(out)["variants"]
    started = [[row(one, name)["started"] / MINUTE for name in ("first", "second")] for one in (base, more)]
    within = CONTROLLERS / MINUTE

    assert [pytest.approx(8, abs=within), pytest.approx(18, abs=2 * within)] == started[0]
    assert [pytest.approx(8, abs=within), pytest.approx(9, abs=within)] == started[1]
