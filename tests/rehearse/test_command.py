"""`slicewright rehearse` before anything is played."""

import errno
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path

import click
import pytest
from tests.conftest import Repo
from tests.words import places

from slicewright.cli import rehearse_options
from slicewright.cli.rehearse_options import Speed, jobs_of
from slicewright.cli.report import rehearsal_output
from slicewright.project.repository_reader import read_checkout
from slicewright.rehearse.model.scenario_problems import needs_pods
from slicewright.rehearse.scenario import scenarios
from slicewright.testbed import process_group


@pytest.mark.parametrize(
    ("place", "why"), [("missing/a.html", "No such file or directory"), ("file/a.html", "Not a directory")]
)
def test_page_that_cannot_be_written_is_told_before_the_play(tmp_path: Path, place: str, why: str) -> None:
    """Minutes of a rehearsal are not played for a page that has no place."""
    (tmp_path / "file").write_text("", encoding="utf-8")

    found = rehearsal_output.unwritable(tmp_path / place)

    assert found is not None
    assert ("FILE003", f"the page cannot be written: {why}") == (found.id, found.message)
    assert found.file == str(tmp_path / place)


def test_place_of_a_page_is_as_it_was(tmp_path: Path) -> None:
    """The look leaves no empty page, and keeps an earlier one."""
    earlier = tmp_path / "earlier.html"
    earlier.write_text("page", encoding="utf-8")

    assert [None, None] == [
        rehearsal_output.unwritable(earlier),
        rehearsal_output.unwritable(tmp_path / "new.html"),
    ]
    assert {"earlier.html": "page"} == {
        path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()
    }


@pytest.mark.parametrize("speed", ["0", "0.5", "-1", "inf", "nan", "1e7", "fast"])
def test_speed_is_a_number_that_can_be_played(speed: str) -> None:
    """What is none is wrong usage, and no traceback at the first duration that is told."""
    with pytest.raises(click.BadParameter):
        Speed(min=1, max=1_000_000).convert(speed, None, None)


def test_speed_may_have_a_fraction() -> None:
    """Any number from 1 on is one."""
    assert 1.5 == Speed(min=1, max=1_000_000).convert("1.5", None, None)


def test_page_for_which_there_is_no_room_leaves_no_half(tmp_path: Path) -> None:
    """A full disk is told, an earlier page stays, and what is half a page does not stand there as one."""
    page = tmp_path / "page.html"
    page.write_text("earlier", encoding="utf-8")
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, most))
    try:
        found = [rehearsal_output.write(tmp_path / name, "x" * 2000) for name in ("page.html", "new.html")]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))
        signal.signal(signal.SIGXFSZ, ignored)
    device = rehearsal_output.write(Path("/dev/full"), "x")

    assert ["the page cannot be written: File too large"] * 2 == [one.message for one in found if one]
    assert device is not None
    assert ("FILE003", "the page cannot be written: No space left on device") == (device.id, device.message)
    assert {"page.html": "earlier"} == {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert Path("/dev/full").exists()


def test_page_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    """Where a link leads, with the rights that it had; nothing is left beside it."""
    page, link = tmp_path / "page.html", tmp_path / "link.html"
    page.write_text("earlier", encoding="utf-8")
    page.chmod(0o640)
    link.symlink_to(page)
    found = rehearsal_output.write(link, "new")

    assert (None, "new", 0o100640, True) == (
        found,
        page.read_text(encoding="utf-8"),
        page.stat().st_mode,
        link.is_symlink(),
    )
    assert ["link.html", "page.html"] == sorted(path.name for path in tmp_path.iterdir())


def test_page_in_a_folder_that_is_closed_is_written_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that is mounted alone into a container."""
    page = tmp_path / "page.html"
    page.write_text("earlier", encoding="utf-8")

    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(Path, "replace", busy)

    assert (None, "new") == (rehearsal_output.write(page, "new"), page.read_text(encoding="utf-8"))
    assert ["page.html"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--mark"], "--context and --mark are about an existing cluster: add --kubeconfig FILE"),
        (["--kubeconfig", "slicewright.yaml"], "--context NAME"),
        (["--deadline", "5"], "'5' is not a time span; write for example 90s or 1h30m"),
        (["--deadline", "0s"], "--deadline 0s leaves no time to simulate"),
        (["--duration", "5"], "'5' is not a time span; write for example 90s or my-workload=1h30m"),
        (["--duration", "b=5s"], "workload 'b' is not part of this rehearsal; write one of: a"),
        (["--submit-at", "default/aa=5s"], "is not part of this rehearsal; did you mean 'default/a'?"),
        (["c2"], "there is no cluster 'c2'; write one of: c1"),
        ([""], "there is no cluster ''; write one of: c1"),
        (["--jobs", "2"], "--jobs is about comparisons: add --what-if, --sweep, --repeat or --changed"),
        (["--jobs", "2", "--keep", "--sweep", "pools.tpus.slices=1..2"], "leave out --keep and --kubeconfig"),
        (["--no-pods", "--kubeconfig", "slicewright.yaml", "--context", "kind"], "leave out --kubeconfig"),
    ],
)
def test_options_that_mean_nothing_are_wrong_usage(
    arguments: list[str], words: str, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A context without a file, a file without a context, a span without a unit, a name that nobody has."""
    monkeypatch.chdir(repo.root)
    done = repo.run("rehearse", *arguments, code=2)

    assert words in " ".join(done.err.split())


def test_deadline_before_the_end_of_a_run_is_wrong_usage(repo: Repo) -> None:
    """It is told once and before anything is played, for a variant too."""
    repo.run("render")
    asked = ("rehearse", "c1", "--deadline", "30m", "--duration", "8h")
    for more in ((), ("--what-if", "pools.tpus.slices=+1")):
        done = repo.run(*asked, *more, code=2)
        told = (
            "'default/a' cannot finish before --deadline 30m00s: it is submitted at 0.0s and runs for 8h00m"
        )
        assert told in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("system", "cores", "limit", "expected"),
    [
        ("linux", 2, None, (1, 2, 1, 3)),
        ("linux", 64, None, (8, 8, 1, 3)),
        ("linux", 64, "max 100000", (8, 8, 1, 3)),
        ("linux", 64, "200000 100000", (1, 2, 1, 3)),
        ("linux", 64, "50000 100000", (1, 1, 1, 3)),
        ("darwin", 64, None, (1, 1, 1, None)),
    ],
)
def test_plays_run_side_by_side_where_there_are_cores(
    system: str,
    cores: int,
    limit: str | None,
    expected: tuple[int | None, ...],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """With pods, without, on a kept test bed, and as many as are asked for. A container may have a limit."""
    if limit:
        (tmp_path / "cpu.max").write_text(f"{limit}\n", encoding="ascii")
    monkeypatch.setattr(rehearse_options, "_CPU_LIMIT", tmp_path / "cpu.max")
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores), raising=False)
    usual = [jobs_of(None, has_own_beds=True, has_pods=pods, is_compared=True) for pods in (True, False)]
    kept = jobs_of(None, has_own_beds=False, has_pods=False, is_compared=True)
    asked: int | None = None
    with suppress(click.UsageError):
        asked = jobs_of(3, has_own_beds=True, has_pods=True, is_compared=True)

    assert expected == (*usual, kept, asked)


def test_name_of_two_workloads_has_to_be_told_apart(repo: Repo) -> None:
    """With both, as they are written."""
    repo.workload("other", metadata=", namespace: team", file="workloads/other.yaml")
    repo.write("workloads/other.yaml", repo.read("workloads/other.yaml").replace("name: other", "name: a"))
    done = repo.run("rehearse", "--duration", "a=5s", code=2)

    assert "'a' may be one of 2 workloads: say which; default/a or team/a" in done.err


def test_workload_whose_run_is_not_rendered_is_told(repo: Repo) -> None:
    """Nothing is left out silently: neither a new workload nor one that has changed since."""
    repo.run("render")
    repo.workload("new")
    repo.write("workloads/a.yaml", repo.read("workloads/a.yaml").replace("train.py", "other.py"))
    done = repo.run("rehearse", code=1)

    assert 2 == places(done.err).count("REH007")


def test_overlay_that_is_older_than_its_workload_is_told(empty: Repo) -> None:
    """A Fixed run is called as before: what is played is what stands there, and the report says so."""
    spec = "clusters: [c1]\ntpu: v5litepod-8\nnaming: Fixed\ncontainer: {image: python:3.12}"
    empty.cluster()
    for name in ("fixed", "gone", "same"):
        empty.workload(name, spec)
    empty.run("render")
    empty.workload("fixed", spec.replace("3.12", "3.13"))
    (empty.root / "workloads" / "gone.yaml").unlink()
    (scenario,), against = scenarios(read_checkout(empty.root), ["c1"])

    assert () == against
    assert ["default/fixed", "default/same"] == sorted(part.key for part in scenario.parts)
    assert ["warning: REH007"] * 2 == [place.partition(": ")[2] for place in places([*scenario.notes])]


def test_block_that_names_what_is_not_there_is_told_before_the_play(repo: Repo) -> None:
    """At its place, without a test bed: minutes are not played for a fault that cannot strike."""
    lines = [
        "naming: Fixed",
        "rehearsal:",
        "  faults: [{kind: ContainerFailure, at: 1s, slice: 7, host: 9}]",
        "  expect: [{notBefore: {workload: nothere}}]",
    ]
    text = repo.read("workloads/a.yaml").rstrip("\n")
    repo.write("workloads/a.yaml", "\n".join([text, *("  " + line for line in lines), ""]))
    repo.run("render")
    done = repo.run("rehearse", code=1)

    assert [
        "workloads/a.yaml:10:54: REH012",
        "workloads/a.yaml:10:63: REH012",
        "workloads/a.yaml:11:37: REH012",
    ] == [line for line in places(done.err).splitlines() if "REH012" in line]


def test_what_only_pods_bring_about_is_told_before_a_play_without_them(empty: Repo) -> None:
    """Nodes that pods wait for or that are chosen for them, faults and deadlines of pods, pods in a row."""
    empty.cluster(
        spec="""
        topologies: [{name: hosts, levels: [{nodeLabel: kubernetes.io/hostname}]}]
        pools:
        - {name: placed, tpu: v5litepod-16, slices: 1, topologyName: hosts}
        - {name: grows, tpu: v5litepod-8, slices: 1, autoscaling: {min: 0, max: 2}}
        """
    )
    spec = "clusters: [c1]\ntpu: v5litepod-8\nnaming: Fixed\ncontainer: {image: python:3.12}\n"
    arrival = "{kind: HigherPriorityArrival, at: 1s, workloadPriorityClassName: high}"
    empty.workload("struck", f"{spec}rehearsal: {{faults: [{arrival}, {{kind: SliceLoss, at: 1s}}]}}")
    job = "/spec/replicatedJobs/0/template/spec"
    changes = {
        "series": f"{{op: replace, path: {job}/completions, value: 8}}",
        "timed": f"{{op: add, path: {job}/activeDeadlineSeconds, value: 8}}",
    }
    for name, op in changes.items():
        empty.workload(name, f"{spec}patches: [{{target: {{kind: JobSet}}, ops: [{op}]}}]")
    empty.write(
        ".slicewright-ignore.yaml", "ignore: [{rule: TPU, reason: a test}, {rule: JS, reason: a test}]"
    )
    empty.run("render")
    (scenario,), _ = scenarios(read_checkout(empty.root), ["c1"])

    assert [
        "clusters/c1.yaml:9:5: REH024",
        "clusters/c1.yaml:6:15: REH024",
        "workloads/series.yaml:3:18: REH024",
        "workloads/struck.yaml:9:96: REH024",
        "workloads/timed.yaml:3:18: REH024",
    ] == places(needs_pods(scenario.site, scenario.platform, scenario.parts))


def test_nothing_needs_pods_where_queues_decide(repo: Repo) -> None:
    """The usual cluster: pools that stand, and runs that start all their pods at once."""
    repo.run("render")
    (scenario,), _ = scenarios(read_checkout(repo.root), ["c1"])

    assert [] == list(needs_pods(scenario.site, scenario.platform, scenario.parts))


def test_cluster_of_a_slip_is_refused_before_it_fills_the_memory(empty: Repo) -> None:
    """A nine too many is told at the pool, and no node is made of it."""
    empty.cluster(spec="pools: [{name: tpus, tpu: v5litepod-16, slices: 999999999}]")
    empty.workload("a", "clusters: [c1]\ntpu: v5litepod-16\nnaming: Fixed\ncontainer: {image: python:3.12}")
    empty.run("render")

    assert ("clusters/c1.yaml:6:11: REH025",) == places(scenarios(read_checkout(empty.root), ["c1"])[1])


@pytest.mark.parametrize(
    ("checkout", "hint"),
    [(True, "run 'make tools', which also builds"), (False, " -m pip install cryptography")],
)
def test_missing_package_is_told_with_the_way_to_it(
    checkout: bool, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a checkout that is the way to the programs too."""
    monkeypatch.setattr(process_group, "in_checkout", lambda: checkout)
    found = process_group.missing_package("cryptography", "a rehearsal")

    assert ("BED008", "a rehearsal needs the Python package cryptography") == (found.id, found.message)
    assert hint in found.hint


def test_help_says_what_holds_where_nothing_is_given(repo: Repo) -> None:
    """How fast, for how long, and what flex-start nodes take."""
    told = " ".join(repo.run("rehearse", "--help").out.split())

    assert 5 == told.count("By default") + told.count("Default")
