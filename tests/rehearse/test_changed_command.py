"""`slicewright rehearse --changed` on the command line: what is played, what fails, what is refused."""

import pytest
from tests.conftest import Repo
from tests.diff.kit import commit
from tests.files import git

from slicewright.kubernetes.problem import Problem
from slicewright.rehearse.model.clock import ClockSettings
from slicewright.rehearse.report.report import Report
from slicewright.rehearse.scenario import Scenario
from slicewright.rehearse.session import Result

from .kit import ran
from .test_what_if_command import CLUSTER, RUN

pytestmark = pytest.mark.slow  # each makes a git repository


@pytest.fixture
def changed(empty: Repo) -> Repo:
    """Return a repository of two clusters with a run each, committed as it is rendered."""
    for name in ("c1", "c2"):
        empty.cluster(name, spec=CLUSTER)
        empty.workload(f"on-{name}", RUN.replace("[c1]", f"[{name}]"))
    empty.run("render")
    commit(empty)
    return empty


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Play without a test bed: a run waits for a sixth of its duration, and fails if that is a day.

    Return the clusters that were played, one for each play.
    """
    played: list[str] = []

    def play(scenario: Scenario, time: ClockSettings, place: object, keep: bool, has_pods: bool) -> Result:
        assert (None, False, True) == (place, keep, has_pods)
        name = scenario.site.cluster.name
        played.append(name)
        timelines, problems = [], []
        for part in scenario.parts:
            wait = part.duration / 6
            timelines.append((part.key, ran(part.current, (wait, wait + part.duration))))
            if part.duration == DAY:
                message = f"{part.key} failed"
                problems.append(part.workload.source.problem("REH001", ("metadata", "name"), message, ""))
        is_broken = part.duration == BED
        if is_broken:
            problems = [Problem("BED001", "etcd ended")]
        report = Report(
            name,
            time.speed,
            seconds=2 * DAY,
            interrupted=False,
            timelines=tuple(timelines),
            problems=tuple(problems),
            is_cut_short=is_broken,
        )
        return Result(report, is_played=not is_broken, logs=None)

    monkeypatch.setattr("slicewright.cli.play.play", play)
    return played


HOUR, DAY, BED = 3600.0, 86400.0, 7 * 3600.0


def rewrite(repo: Repo, name: str, duration: str) -> None:
    """Let the run of a cluster take another time, and render."""
    run = RUN.replace("[c1]", f"[{name}]").replace("rehearsal: {}", f"rehearsal: {{duration: {duration}}}")
    repo.workload(f"on-{name}", run)
    repo.run("render")


def test_only_clusters_that_differ_are_played(changed: Repo, plays: list[str]) -> None:
    """Of the other one a line says so; with nothing changed nothing is played, and exit 0."""
    done = changed.run("rehearse", "--changed", "HEAD")
    assert ([], 0) == (plays, done.code)
    assert [
        f"{name}: nothing that is rehearsed differs from HEAD" for name in ("c1", "c2")
    ] == done.out.splitlines()

    rewrite(changed, "c2", "65s")
    done = changed.run("rehearse", "--changed", "HEAD", "--speed", "10")
    assert ["c2", "c2"] == plays
    assert "c1: nothing that is rehearsed differs from HEAD" in done.out
    assert "c2: HEAD and working tree; time resolution 10s" in done.out
    assert "  working tree: nothing changes by more than 1m00s, 6 times the time resolution" in done.out


def test_longer_wait_fails_and_a_share_allows_it(changed: Repo, plays: list[str]) -> None:
    """With the place of the workload and both waits; the number of errors is told last."""
    rewrite(changed, "c1", "2h")
    done = changed.run("rehearse", "c1", "--changed", "HEAD", "--speed", "10", code=1)

    assert "working tree: workloads/on-c1.yaml:" in done.out
    assert "REH022 default/on-c1 waits 20m00s; at HEAD it waits 10s" in done.out
    assert "hint: a wait may become 20% longer; --worse-than sets another share" in done.out
    assert done.err.endswith("the change brings 1 error\n")
    changed.run("rehearse", "c1", "--changed", "HEAD", "--worse-than", "9999%", "--speed", "600", code=0)
    assert ["c1"] * 4 == plays


def test_cluster_that_a_change_removes_is_told(changed: Repo, plays: list[str]) -> None:
    """Nothing of it can be played; a cluster that is named is asked for alone."""
    for path in ("clusters/c2.yaml", "workloads/on-c2.yaml"):
        (changed.root / path).unlink()
    done = changed.run("rehearse", "--changed", "HEAD")

    assert [] == plays
    assert "c2: the change removes the cluster, so it is not rehearsed" in done.out.splitlines()


def test_run_that_fails_now_is_told_once(changed: Repo, plays: list[str]) -> None:
    """Its longer wait is not told besides; one that failed before may go on failing."""
    rewrite(changed, "c1", "24h")
    done = changed.run("rehearse", "c1", "--changed", "HEAD", "-o", "json", code=1)
    before, after = done.json["variants"]
    assert ([], ["REH001"]) == tuple([one["id"] for one in each["problems"]] for each in (before, after))

    git(changed.root, "commit", "--all", "--message", "it fails")
    changed.cluster("c1", spec=CLUSTER.replace("nominalSlices: 1", "nominalSlices: 1, borrowingLimit: 0"))
    changed.run("render")
    assert 0 == changed.run("rehearse", "c1", "--changed", "HEAD").code
    assert 4 == len(plays)


def test_new_cluster_is_played_alone(changed: Repo, plays: list[str]) -> None:
    """There is nothing to compare it with: each of its errors counts."""
    changed.cluster("c3", spec=CLUSTER)
    rewrite(changed, "c3", "60s")
    done = changed.run("rehearse", "c3", "--changed", "HEAD")
    assert ["c3"] == plays
    assert "c3: HEAD is not rehearsed: the cluster is not in it\nc3: working tree; time" in done.out
    assert "verdict" not in done.out

    rewrite(changed, "c3", "24h")
    assert "the change brings 1 error" in changed.run("rehearse", "c3", "--changed", "HEAD", code=1).err


def test_tree_that_was_not_rendered_before_is_left_out(changed: Repo, plays: list[str]) -> None:
    """With the first reason; so is one in which no workload names the cluster, or of another version."""
    changed.cluster("c4", spec=CLUSTER)
    git(changed.root, "add", ".")
    git(changed.root, "commit", "--message", "a cluster")
    rewrite(changed, "c4", "60s")
    told = changed.run("rehearse", "c4", "--changed", "HEAD").out
    assert "c4: HEAD is not rehearsed: no workload names the cluster" in told

    git(changed.root, "add", "workloads")
    git(changed.root, "commit", "--message", "not rendered")
    told = changed.run("rehearse", "c4", "--changed", "HEAD").out
    assert "c4: HEAD is not rehearsed: REH007 c4 has no overlay of default/on-c4" in told

    settings = (changed.root / "slicewright.yaml").read_text("utf-8")
    changed.write("slicewright.yaml", "requires: ==0.0.1\n")
    git(changed.root, "commit", "--all", "--message", "an old version")
    changed.write("slicewright.yaml", settings)
    told = changed.run("rehearse", "c4", "--changed", "HEAD").out
    assert "c4: HEAD is not rehearsed: slicewright.yaml requires slicewright ==0.0.1, and this is" in told
    assert ["c4"] * 3 == plays


def test_broken_test_bed_ends_the_command(changed: Repo, plays: list[str]) -> None:
    """Exit 3, with its problem; clusters after it are not played."""
    rewrite(changed, "c1", "7h")
    rewrite(changed, "c2", "2h")
    assert "BED001 etcd ended" in changed.run("rehearse", "--changed", "HEAD", code=3).err
    assert ["c1", "c1"] == plays


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--changed", ""], "--changed needs a revision, and this one is empty: is a variable unset?"),
        (["--changed", "nowhere"], "nowhere"),
        (["--changed", "HEAD", "--sweep", "a.b=1..2"],
         "--changed has variants of its own: leave out --what-if and --sweep"),
        (["--changed", "HEAD", "-o", "junit"],
         "-o junit has no form for variants or repetitions: use -o json"),
        (["--changed", "HEAD", "--worse-than", "0.2"], "'0.2' is not a percentage; write for example 20%"),
    ],
)  # fmt: skip
def test_wrong_options_are_wrong_usage(changed: Repo, arguments: list[str], message: str) -> None:
    """Exit 2, before anything is played."""
    assert message in changed.run("rehearse", "c1", *arguments, code=2).err


def test_arrivals_that_wait_longer_fail(changed: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the wait of 95 % of them, at the profiles in the file of the cluster."""
    profile = "{name: evening, interval: 1h, count: 2, mix: [{workload: on-c1, duration: %s}]}"
    waits = iter([600.0, 6000.0])

    def play(scenario: Scenario, time: ClockSettings, place: object, keep: bool, has_pods: bool) -> Result:
        assert (None, False, True) == (place, keep, has_pods)
        assert scenario.load is not None
        wait = next(waits)
        timelines = [(part.key, ran(part.current, (wait, wait + 60.0))) for part in scenario.parts]
        for _, timeline in timelines:
            timeline.is_queued = True
        report = Report(
            "c1",
            time.speed,
            seconds=DAY,
            interrupted=False,
            timelines=tuple(
                (part.key, timelines[0][1]) if not part.profile else row
                for part, row in zip(scenario.parts, timelines, strict=True)
            ),
            arriving=scenario.load.arriving(scenario.repetition, scenario.platform),
            profile_of={part.key: part.profile for part in scenario.parts if part.profile},
            queue_of={part.current: "cq" for part in scenario.parts if part.profile},
        )
        return Result(report, is_played=True, logs=None)

    changed.cluster("c1", spec=f"{CLUSTER}    rehearsal: {{arrivals: [{profile % '1h'}]}}\n")
    git(changed.root, "commit", "--all", "--message", "load")
    changed.cluster("c1", spec=f"{CLUSTER}    rehearsal: {{arrivals: [{profile % '2h'}]}}\n")
    monkeypatch.setattr("slicewright.cli.play.play", play)
    done = changed.run("rehearse", "c1", "--changed", "HEAD", "--speed", "10", code=1)

    assert "clusters/c1.yaml:" in done.out
    assert "REH022 arrivals of evening in cq wait 1h40m (p95); at HEAD they wait 10m00s" in done.out
