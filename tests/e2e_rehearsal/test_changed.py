"""`slicewright rehearse --changed`: a change that takes a slice away, played before and after it."""

import re
from pathlib import Path

import pytest
from tests.conftest import Repo
from tests.diff.kit import commit

from .command import rehearsed
from .kit import spec

CLUSTER = """
pools: [{{name: tpus, tpu: v5litepod-8, slices: 2}}]
clusterQueues:
- name: cq
  quota: [{{pool: tpus, nominalSlices: {slices}}}]
  localQueues: [{{name: q, namespace: default}}]
"""


@pytest.mark.ci
def test_wait_that_a_change_makes_longer_fails(tmp_path: Path) -> None:
    """With quota for one slice the second of two runs waits for the first; with two it did not."""
    repo = Repo(tmp_path)
    repo.cluster(spec=CLUSTER.format(slices=2))
    for name, times in (("first", "{duration: 5m}"), ("second", "{duration: 5m, submitAt: 1m}")):
        repo.workload(name, spec(f"queueName: q\nrehearsal: {times}"))
    repo.run("render")
    commit(repo)
    repo.cluster(spec=CLUSTER.format(slices=1))
    repo.run("render")

    code, out, said = rehearsed(repo, "--changed", "HEAD", "--speed", "20")

    assert 1 == code, said
    assert re.search(
        r"working tree: the makespan is .*, second starts \dm\d\ds later; nothing else moves$",
        out,
        re.MULTILINE,
    ), out
    assert ["REH022"] == re.findall(r"REH\d{3}", out)
    assert re.search(
        r"second.yaml:\d+:\d+: REH022 default/second waits \dm\d\ds; at HEAD it waits less than 20s", out
    )
