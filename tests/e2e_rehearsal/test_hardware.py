"""What hosts do on their own, and programs do again: repairs, maintenance of a node pool, terminations."""

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from . import kit
from .kit import play, run, spec

SPEED = 20.0
OWN = 20 * SPEED
"""What the time of the controllers adds at most."""
POOLS = """
    pools:
    - {name: p16, tpu: v5litepod-16, slices: 1}
    - {name: p8, tpu: v5litepod-8, slices: 1}
    - {name: p32, tpu: v5litepod-32, slices: 1}
    - {name: v4, tpu: v4-16, slices: 1}
    clusterQueues:
    - name: cq
      quota: [{pool: p16}, {pool: p8}, {pool: p32}, {pool: v4}]
      localQueues: [{name: q, namespace: default}]
"""
RESTART = "failurePolicy: {maxRestarts: 0, onHostMaintenance: Restart}"
EARLY = "failurePolicy: {maxRestarts: 2, restartOnExitCodes: [75]}"


def _restarting(entry: Object) -> Object:
    (span,) = [span for span in entry["states"] if span["state"] == "restarting"]
    return dict(span)


def faulty(fault: str, expect: str = "[]") -> str:
    """Return the rehearsal block of a run with one fault."""
    return f"rehearsal: {{duration: 5m, faults: [{fault}], expect: {expect}}}"


@pytest.mark.ci
def test_run_outlives_a_repair_and_a_maintenance_and_early_failures(bed: Bed, empty: Repo) -> None:
    """Each waits until its slice is back; a program that fails in two starts has two restarts, not three."""
    repair = "{kind: NodeRepair, at: 1m, host: 2, duration: 10m}"
    notice = "{kind: Maintenance, at: 1m, scope: NodePool, notice: 2m, duration: 10m}"
    twice = "{kind: ContainerFailure, at: 1m, exitCode: 75, times: 2}"
    often = "{kind: ContainerFailure, at: 1m, exitCode: 75, times: 3}"
    lines = {
        "repaired": ("v5litepod-16", f"{RESTART}\n{faulty(repair)}"),
        "maintained": ("v5litepod-8", f"{RESTART}\n{faulty(notice)}"),
        "twice": ("v5litepod-32", f"{EARLY}\n{faulty(twice)}"),
        "often": ("v4-16", f"{EARLY}\n{faulty(often, '[{finishes: false}]')}"),
    }
    empty.cluster(spec=POOLS)
    for name, (tpu, rest) in lines.items():
        empty.workload(name, spec(f"queueName: q\n{rest}", tpu=tpu))
    record = play(bed, empty, speed=SPEED)
    found = {name: run(record, name) for name in lines}
    hit = {name: _restarting(found[name]) for name in ("repaired", "maintained")}

    assert [] == record["problems"]
    assert {"repaired": ("finished", 1), "maintained": ("finished", 1), "twice": ("finished", 2),
            "often": ("failed", 2)} == {
        name: (entry["outcome"], entry["restarts"]) for name, entry in found.items()
    }  # fmt: skip
    assert [] == [entry["evictions"] for entry in found.values() if entry["evictions"]]
    assert 1 + 1 + 2 + 3 == len(kit.faults(record))
    for name, at in {"repaired": 60.0, "maintained": 180.0}.items():
        since = hit[name]["start"] - found[name]["started"]
        assert at - SPEED <= since <= at + OWN
        assert 600.0 - SPEED <= hit[name]["end"] - hit[name]["start"] <= 600.0 + OWN


@pytest.mark.workflow
def test_run_with_a_maintenance_rule_outlives_days_of_terminations(bed: Bed, empty: Repo) -> None:
    """Five of its hosts end in a day on average; a run with the defaults of JobSet ends with the first."""
    losses = "kind: HostTermination, rate: 1.25/d, duration: 15m"
    empty.cluster(
        spec=f"""
        pools: [{{name: p16, tpu: v5litepod-16}}, {{name: v4, tpu: v4-32}}]
        rehearsal: {{losses: [{{pool: p16, {losses}}}, {{pool: v4, {losses}}}]}}
        """
    )
    times = "duration: 2d, checkpointEvery: 1h, startupSeconds: 300"
    empty.workload("kept", spec(f"{RESTART}\nrehearsal: {{{times}}}", tpu="v5litepod-16"))
    rest = f"rehearsal: {{{times}, expect: [{{finishes: false}}]}}"
    empty.workload("plain", spec(rest, tpu="v4-32"))
    record = play(bed, empty, speed=3 * SPEED)
    kept, plain = run(record, "kept"), run(record, "plain")
    hits = [fault.partition(" ")[0] for fault in kit.faults(record)]

    assert [] == [problem for problem in record["problems"] if problem["severity"] == "error"]
    assert ("finished", "failed") == (kept["outcome"], plain["outcome"])
    assert hits.count("default/kept") == kept["restarts"] > 5
    assert 1 == hits.count("default/plain")
    assert kept["delay"] < kept["restarts"] * (3600 + 900 + 300 + 3 * OWN)
