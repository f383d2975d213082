"""No rehearsal is green where a run did not do what it should: every form of the report agrees on that."""

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.conftest import Repo

from slicewright.cli.report.rehearsal_output import junit
from slicewright.cli.report.rehearsal_output import render_page as page
from slicewright.kubernetes.problem import Problem
from slicewright.rehearse.model.clock import clock_settings
from slicewright.rehearse.report.report import Report
from slicewright.rehearse.report.terminal import text
from slicewright.testbed.bed import Bed

from . import kit

pytestmark = pytest.mark.ci  # most of a minute on the clock of the rehearsal

V6E = "{accelerator: v6e, topology: 4x4, machineType: ct6e-standard-4t}"
CLUSTER = f"""
pools:
- {{name: tpus, tpu: {V6E}, slices: 2}}
- {{name: small, tpu: v5litepod-8, slices: 2}}
- {{name: heads, machineType: n2-standard-64, nodes: 1}}
"""
HEADLESS = """hostNetwork: true
slices: NUMBER
pathways: {pathwaysDir: "gs://bucket", headless: true, head: {pool: heads}}
"""
BESIDE = """rehearsal: {duration: 60s}
auxiliaryJobs:
- name: board
  pool: heads
  podTemplate:
    spec:
      containers: [{name: board, image: "board:1", resources: {requests: {cpu: "1000"}}}]
"""


@pytest.fixture(scope="module")
def report(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Play runs that seem to be well: one serves, one never can, one lacks its TensorBoard, one is fine."""
    repo = Repo(tmp_path_factory.mktemp("green"))
    repo.cluster(spec=CLUSTER)
    headless = f"clusters: [c1]\ntpu: {V6E}\nnaming: Fixed\n{HEADLESS}"
    repo.workload("serves", headless.replace("NUMBER", "1"))
    repo.workload("starves", headless.replace("NUMBER", "2"))
    repo.workload("beside", kit.spec(BESIDE))
    repo.workload("fine", kit.spec("rehearsal: {expect: [{together: [beside]}, {waitBelow: 1s}]}"))
    kit.allow(repo, "FIT130", "it has no place")
    repo.run("render")
    scenario = kit.scenario(repo.root)
    return kit.rehearse(bed, scenario, clock_settings(scenario.parts, speed=6))


def errors(report: Report) -> dict[str, list[str]]:
    """Return the ids of errors by the names of workloads."""
    found: dict[str, list[str]] = {}
    for problem in report.problems:
        if problem.severity == "error":
            found.setdefault(_name(problem), []).append(problem.id)
    return found


def _name(problem: Problem) -> str:
    return problem.object.rpartition("/")[2]


def test_headless_pathways_that_never_ran_fails(report: Report) -> None:
    """The one that came first has a slice; the other asks for two, and is not excused by having no end."""
    starves = kit.run(report.record(), "starves")

    assert ("waiting", None) == (starves["outcome"], starves["started"])
    assert ["default/starves never ran"] == [
        problem.message for problem in report.problems if _name(problem) == "starves"
    ]
    assert "running" == kit.run(report.record(), "serves")["outcome"]
    assert {"starves": ["REH001"], "beside": ["REH001"]} == errors(report)


def test_job_without_chips_that_has_no_place_fails(report: Report) -> None:
    """Its run finishes without it."""
    (told,) = [problem for problem in report.problems if _name(problem) == "beside"]

    assert "finished" == kit.run(report.record(), "beside")["outcome"]
    assert "job board of default/beside never ran" == told.message
    assert told.hint.startswith("remove the cause: FailedScheduling: ")


def test_expectation_of_a_run_without_a_queue_is_not_told(report: Report) -> None:
    """Kueue never made it wait; the other expectation holds."""
    fine = kit.run(report.record(), "fine")

    assert ["passed", "cannotTell"] == [told["result"] for told in fine["expectations"]]


def test_all_forms_of_the_report_agree(report: Report) -> None:
    """Text, page, JSON, JUnit and the verdict on which the exit code stands."""
    record: dict[str, Any] = report.record()
    root = ET.fromstring(junit([report]))  # noqa: S314 - our own
    cases = {str(case.get("name")): {child.tag for child in case} for case in root.iter("testcase")}
    named = {
        "serves": {"system-out"},
        "starves": {"failure", "system-out"},
        "beside": {"failure", "system-out"},
        "fine": {"skipped", "system-out"},
    }
    html = page([record])

    assert [] == kit.wrong({"rehearsals": [record]})
    assert ("failed", False) == (record["verdict"], report.passed)
    assert {f"TPUWorkload default/{name}": tags for name, tags in named.items()} == cases
    assert text(report).startswith("c1: failed, 2 errors, 1 expectation could not be judged; ")
    assert "default/starves never ran" in html
    assert "1 could not be judged" in html
