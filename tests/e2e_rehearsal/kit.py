"""Plays of small repositories."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from tests.conftest import Repo

from slicewright.kubernetes.types import Object
from slicewright.project.repository_reader import read_checkout
from slicewright.rehearse.model.clock import ClockSettings, clock_settings
from slicewright.rehearse.rehearsal import Rehearsal
from slicewright.rehearse.report.report import Report
from slicewright.rehearse.scenario import Scenario, scenarios
from slicewright.testbed.bed import Bed

ROOT = Path(__file__).parents[2]


def spec(more: str = "", *, tpu: str = "v5litepod-8") -> str:
    """Return the spec of a JobSet, with further lines; all stand at the left margin."""
    return f"clusters: [c1]\ntpu: {tpu}\nnaming: Fixed\ncontainer: {{image: python:3.12}}\n{more}"


def allow(repo: Repo, rule: str, reason: str) -> None:
    """Let a render pass what a rule is against, for the controllers are to show what follows."""
    repo.write(".slicewright-ignore.yaml", f"ignore: [{{rule: {rule}, reason: {reason}}}]")


def scenario(root: Path, cluster: str = "c1") -> Scenario:
    """Return a cluster of a repository whose overlays are written."""
    (found,), against = scenarios(read_checkout(root), [cluster])
    assert against == ()
    return found


def rehearse(bed: Bed, of: Scenario, clock: ClockSettings, *, has_pods: bool = True) -> Report:
    """Return the report of a scenario on a bed that is up, from which all that was made is removed."""
    rehearsal = Rehearsal(bed, of, clock, clean=True, has_pods=has_pods)
    rehearsal.run()
    return rehearsal.report()


def play(bed: Bed, of: Repo | Scenario, *, speed: float, has_pods: bool = True, **times: Any) -> Object:
    """Play on a cluster, remove what was made, and return the record, which is as its schema says."""
    if not isinstance(of, Scenario):
        of.run("render")
        of = scenario(of.root)
    clock = clock_settings(of.parts, speed=speed, **times)
    report = rehearse(bed, of, clock, has_pods=has_pods)
    record: Object = json.loads(json.dumps(report.record()))
    assert wrong({"rehearsals": [record]}) == []
    return record


def run(record: Object, name: str) -> Object:
    """Return the record of a run by its name."""
    (found,) = [entry for entry in record["workloads"] if entry["run"].partition("/")[2] == name]
    return dict(found)


def states(entry: Object) -> list[str]:
    """Return the states of a run, one after another."""
    return [span["state"] for span in entry["states"]]


def faults(record: Object) -> list[str]:
    """Return which faults struck what."""
    return [f"{entry['run']} {entry['reason']}" for entry in record["events"] if entry["kind"] == "fault"]


def wrong(output: Object) -> list[str]:
    """Return what the schema of `-o json` has against an output."""
    return [error.message for error in _schema().iter_errors(output)]


@cache
def _schema() -> Any:
    text = (ROOT / "schemas" / "slicewright" / "rehearsal.json").read_text(encoding="utf-8")
    return jsonschema.Draft7Validator(json.loads(text))
