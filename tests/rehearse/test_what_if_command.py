"""`slicewright rehearse --what-if` on the command line: what is refused, and what is printed of plays."""

from typing import Any

import pytest
from tests.conftest import Repo

from slicewright.cli.rehearse import _MOST_REPETITIONS
from slicewright.kubernetes.problem import Problem
from slicewright.rehearse.model.clock import ClockSettings
from slicewright.rehearse.report.report import Report
from slicewright.rehearse.scenario import Scenario
from slicewright.rehearse.session import Result

from .kit import ran

CLUSTER = """
    pools: [{name: tpus, tpu: v5litepod-8, slices: 1}]
    clusterQueues:
    - name: cq
      quota: [{pool: tpus, nominalSlices: 1}]
      localQueues: [{name: q, namespace: default}]
"""
RUN = """clusters: [c1]
tpu: v5litepod-8
naming: Fixed
queueName: q
container: {image: python:3.12}
rehearsal: {}"""


@pytest.fixture
def repo(empty: Repo) -> Repo:
    """Return a repository with a workload that is not rendered yet."""
    empty.cluster(spec=CLUSTER)
    empty.workload("a", RUN)
    return empty


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Play without a test bed: a run starts after ten minutes for each slice that is missing to two.

    Return the speeds of the plays.
    """
    speeds: list[float] = []

    def play(scenario: Scenario, time: ClockSettings, place: object, keep: bool, has_pods: bool) -> Result:
        assert (None, False, True) == (place, keep, has_pods)
        speeds.append(time.speed)
        (pool, _), *_ = scenario.site.pools
        start = 600.0 * max(0, 2 - pool.slices)
        timelines = tuple((part.key, ran(part.current, (start, start + 600.0))) for part in scenario.parts)
        interrupted = pool.slices == INTERRUPTED
        report = Report("c1", time.speed, 2000.0, interrupted, timelines=timelines, is_cut_short=interrupted)
        if pool.slices == FAILING:
            return Result(Report("c1", 1, 0, False, problems=(PROBLEM,), is_cut_short=True), False, None)  # noqa: FBT003
        return Result(report, is_played=True, logs=None)

    monkeypatch.setattr("slicewright.cli.play.play", play)
    return speeds


INTERRUPTED, FAILING = 8, 9
PROBLEM = Problem("BED001", "etcd ended")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--what-if", "pools.tpu.slices=+1"],
         "'pools' has no 'tpu' (in 'pools.tpu.slices=+1'); did you mean 'tpus'?"),
        (["--what-if", "pools.tpus.slices"],
         "'pools.tpus.slices' is not a change; write PATH=VALUE, for example pools.NAME.slices=+2"),
        (["--what-if", "@missing.txt"], "cannot read 'missing.txt': no such file or folder"),
        (["--what-if", "@/dev/zero"], "'/dev/zero': the path is not a regular file; name a regular file"),
        (["--what-if", "@"], "--what-if @ names no file"),
        (["--sweep", ""], "--sweep needs a path and numbers, and this one is empty: is a variable unset?"),
        (["--worse-than", "5%"], "--worse-than is about a change: add --changed"),
        (["--what-if", "a.b=1", "--what-if", "a.b=1"],
         "two variants are called 'a.b=1'; write each variant once"),
        (["--sweep", "pools.tpus.slices=3"],
         "'pools.tpus.slices=3' has no range of numbers; write for example pools.NAME.slices=1..4, or "),
        (["--repeat", "2", "-o", "junit"],
         "-o junit has no form for variants or repetitions: use -o json"),
    ],
)  # fmt: skip
def test_wrong_question_is_wrong_usage(repo: Repo, arguments: list[str], message: str) -> None:
    """Exit 2, with the nearest name, before anything is played."""
    assert message in repo.run("rehearse", "c1", *arguments, code=2).err


def test_value_that_a_schema_refuses_is_a_problem_of_the_file(repo: Repo) -> None:
    """Exit 1: the id and the place are those of the same value in the file, and the variant is named."""
    done = repo.run("rehearse", "c1", "--what-if", "pools.tpus.slices=-1", "-o", "json", code=1)
    (problem,) = done.json["problems"]

    assert (
        "IN005",
        "clusters/c1.yaml",
        "'slices' must be at least 1, not 0 (with pools.tpus.slices=-1)",
    ) == (problem["id"], problem["file"], problem["message"])


def test_files_that_are_wrong_are_told_first(repo: Repo) -> None:
    """Without the name of a variant: nobody has changed anything."""
    repo.workload("b", f"{RUN}\nslices: none")
    told = repo.run("rehearse", "c1", "--what-if", "pools.tpus.slices=+1", code=1).err

    assert "workloads/b.yaml" in told
    assert "(with" not in told


def test_error_of_the_base_is_told_once(repo: Repo) -> None:
    """Such as a rehearsal block that names what is not there."""
    repo.workload("b", RUN.replace("rehearsal: {}", "rehearsal: {expect: [{together: [none]}]}"))
    told = repo.run("rehearse", "c1", "--what-if", "pools.tpus.slices=+1", code=1).err

    assert 1 == told.count("REH012")


def test_variants_are_about_one_cluster(repo: Repo) -> None:
    """Which of several is for the user to say; the only one with workloads goes without saying."""
    repo.cluster("c2", spec=CLUSTER)
    repo.workload("b", RUN.replace("[c1]", "[c2]"))
    told = repo.run("rehearse", "--what-if", "pools.tpus.slices=+1", code=2).err

    assert "variants are about one cluster: name it; write one of: c1, c2" in told


def test_cluster_without_workloads_has_nothing_to_rehearse(repo: Repo) -> None:
    """As without variants."""
    repo.cluster("c2", spec=CLUSTER)

    assert "REH007" in repo.run("rehearse", "c2", "--what-if", "pools.tpus.slices=+1", code=1).err


def test_base_and_variants_are_played_and_compared(repo: Repo, plays: list[float]) -> None:
    """At one speed; nothing is rendered, and the exit code is 0."""
    repo.write("more.txt", "pools.tpus.slices=+1\nworkloads.a.rehearsal.duration=4h")
    done = repo.run("rehearse", "--what-if", "pools.tpus.slices=+1", "--what-if", f"@{repo.root}/more.txt")

    assert [72.0] * 3 == plays
    assert (
        "  slices=+1: 1 more slice of tpus: the makespan is 10m00s shorter (10m00s, was 20m00s), "
        "a starts 10m00s earlier" in done.out
    )
    assert "  more: the makespan is 10m00s shorter" in done.out
    assert not (repo.root / "overlays").exists()


def variants(done: Any) -> dict[str, Any]:
    """Return the variants of a JSON output by name."""
    return {variant["name"]: variant for variant in done.json["variants"]}


def test_json_has_the_base_first(repo: Repo, plays: list[float]) -> None:
    """With the changes and the verdict of each variant."""
    change = "pools.tpus.slices=+1"
    done = repo.run("rehearse", "c1", "--what-if", change, "--speed", "10", "-o", "json")
    found = variants(done)

    assert [10.0] * 2 == plays
    assert ["base", change] == list(found)
    assert ([], "", 1200.0) == tuple(found["base"][key] for key in ("changes", "verdict", "makespanSeconds"))
    told = (
        "1 more slice of tpus: the makespan is 10m00s shorter (10m00s, was 20m00s), a starts 10m00s earlier"
        "; queues have quota for 1 of the 2 slices of tpus"
    )
    assert ([change], told) == (found[change]["changes"], found[change]["verdict"])


def test_change_without_effect_is_told(repo: Repo, plays: list[float]) -> None:
    """Such as one to the value that is there; nothing is played twice."""
    done = repo.run("rehearse", "c1", "--what-if", "pools.tpus.slices=1", "--speed", "10")

    assert 1 == len(plays)
    assert "  slices=1: pools.tpus.slices=1: nothing that is rehearsed changes" in done.out


def test_sweep_draws_the_waits(repo: Repo, plays: list[float]) -> None:
    """Each value is a variant beside the base."""
    done = repo.run("rehearse", "c1", "--sweep", "pools.tpus.slices=+0..+2", "--speed", "10")

    assert 3 == len(plays)
    assert "Waiting stops falling at slices=+1." in done.out


def test_repeat_plays_each_variant_so_often(repo: Repo, plays: list[float]) -> None:
    """And says in which repetition it is."""
    done = repo.run("rehearse", "c1", "--what-if", "pools.tpus.slices=+1", "--repeat", "3", "--speed", "10")

    assert 6 == len(plays)
    assert "base, 2 of 3" in done.err
    assert "base and 1 variant, 3 times each" in done.out
    assert _MOST_REPETITIONS >= len(plays)


def test_base_alone_is_repeated(repo: Repo, plays: list[float]) -> None:
    """`--repeat` without a variant repeats the base, to show the range of its results."""
    repo.run("render")
    told = repo.run("rehearse", "c1", "--repeat", "3").out

    assert 3 == len(plays)
    assert "c1: base, 3 times each" in told
    assert "verdict" not in told


def test_variants_with_random_losses_play_at_the_lowest_speed(repo: Repo, plays: list[float]) -> None:
    """A restart takes seconds of real time, which are many seconds of the rehearsal at a high speed."""
    repo.workload("a", RUN.replace("{}", "{duration: 40h, checkpointEvery: 1h}"))
    repo.run("render")
    losses = "rehearsal.losses=[{pool: tpus, rate: 24/d, duration: 10m}]"
    repo.run("rehearse", "c1", "--what-if", losses)

    assert [3.6, 3.6] == plays


def test_interrupted_variant_is_left_out(repo: Repo, plays: list[float]) -> None:
    """What was played before is printed, and the exit code is that of the interruption."""
    asked = ["--what-if", "pools.tpus.slices=+1", "--what-if", f"pools.tpus.slices={INTERRUPTED}"]
    done = repo.run("rehearse", "c1", *asked, "--speed", "10", code=130)

    assert 3 == len(plays)
    assert "base and 1 variant" in done.out


def test_base_that_cannot_be_played_ends_the_command(repo: Repo, plays: list[float]) -> None:
    """With its problem and the exit code of a broken test bed."""
    path = repo.root / "clusters" / "c1.yaml"
    path.write_text(path.read_text("utf-8").replace("slices: 1", f"slices: {FAILING}"), encoding="utf-8")
    done = repo.run("rehearse", "c1", "--what-if", "pools.tpus.slices=+1", code=3)

    assert 1 == len(plays)
    assert "BED001 etcd ended" in done.err


def test_variant_is_not_called_as_the_base(repo: Repo) -> None:
    """A file of changes gives its variant its name."""
    repo.write("base.txt", "pools.tpus.slices=2\n")
    done = repo.run("rehearse", "c1", "--what-if", f"@{repo.root}/base.txt", code=2)

    assert "a variant cannot be called 'base'; rename the file" in done.err


def test_number_beyond_all_pools_is_refused_at_once(repo: Repo) -> None:
    """Names are not made up for slices that no cluster has."""
    named = CLUSTER.replace("slices: ", "nodePoolNames: [a], slices: ")
    repo.cluster(spec=named)
    done = repo.run("rehearse", "c1", "--what-if", "pools.tpus.slices=999999999", code=1)

    assert "POOL002 1 node pool names for 999,999,999 slices" in done.out + done.err
