"""A render that ends more runs than it may is refused with the list of them."""

import pytest
from tests.conftest import Repo
from tests.words import places


@pytest.fixture
def five(repo: Repo) -> Repo:
    """A rendered repository whose five workloads all changed."""
    for name in "bcde":
        repo.workload(name)
    repo.run("render")
    for name in "abcde":
        repo.workload(name, "run: 2\nclusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}")
    return repo


def test_render_lists_what_would_end_and_writes_nothing(five: Repo) -> None:
    """limits.endRuns is three: five are refused, with each of them and the option that allows it."""
    before = five.stamps()
    runs = [five.runs(name)[0][:-5] for name in "abcde"]

    done = five.run("render", code=1)

    listed = "".join(f"  - c1/default/{run} would end: the workload changed\n" for run in runs)
    assert f"{listed}RUN004\n1 error, 0 warnings\n" == places(done.err)
    assert done.out == ""
    assert before == five.stamps()


def test_end_runs_allows_so_many_for_once(five: Repo) -> None:
    """`--end-runs 5` is for this render; four are not enough."""
    five.run("render", "--end-runs", "4", code=1)

    assert len(five.effects("--end-runs", "5")) == 10


def test_limit_is_the_repository_s(five: Repo) -> None:
    """limits.endRuns of slicewright.yaml says how many; without it there are three."""
    five.write("slicewright.yaml", "limits: {}\n")
    five.run("render", code=1)

    five.write("slicewright.yaml", "limits: {endRuns: 5}\n")

    assert len(five.effects()) == 10


def test_limit_of_none_refuses_one(repo: Repo) -> None:
    """`--end-runs 0` says that nothing is to end."""
    repo.run("render")
    repo.workload("a", "run: 2\nclusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}")

    done = repo.run("render", "--end-runs", "0", code=1)

    assert "RUN004" in places(done.err)


def test_check_and_the_json_form_say_what_would_end(five: Repo) -> None:
    """`--check` has no limit, for it ends nothing; a refusal in JSON has the runs and the problem."""
    checked = five.run("render", "--check", "-o", "json", code=1).json
    refused = five.run("render", "-o", "json", code=1).json

    assert sum(run["effect"] == "ends" for run in checked["runs"]) == 5
    assert (checked["runs"], [], []) == (refused["runs"], refused["written"], refused["deleted"])
    assert [problem["id"] for problem in refused["problems"]] == ["RUN004"]
    assert not refused["current"]


def test_named_workload_counts_alone(five: Repo) -> None:
    """Rendering one workload at a time stays under the limit, whatever the others would do."""
    assert [effect.split()[0] for effect in five.effects("a")] == ["ends", "starts"]
