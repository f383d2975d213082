"""`requires:` of slicewright.yaml: which versions of the tool may render a repository."""

import pytest
from tests.conftest import Repo
from tests.words import places

from slicewright.project.repository_reader import satisfies

MET = [
    ("0.9.3", "~=0.1"),
    ("0.1.0", "==0.1.0.0"),
    ("0.2.0", "!=0.1.*"),
    ("0.2.5", ">=0.2, <0.4"),
    ("0.2.0.dev3+gabc", ">=0.2"),
    ("0.1.0", "!=0.1rc1"),
    ("0.10", ">0.9"),
]
MISSED = [("1.0.0", "~=0.1"), ("0.2.0", "~=0.1.2"), ("0.2.0", "==0.1.*"), ("0.4.0", ">=0.2, <0.4")]


@pytest.mark.parametrize(("version", "requirement"), MET)
def test_version_meets_a_requirement(version: str, requirement: str) -> None:
    """The operators of PEP 440; a pre-release of the tool counts as its release."""
    assert satisfies(version, requirement)


@pytest.mark.parametrize(("version", "requirement"), MISSED)
def test_version_misses_a_requirement(version: str, requirement: str) -> None:
    """One clause that is not met is enough."""
    assert not satisfies(version, requirement)


@pytest.mark.parametrize(
    "requirement", ["~=1", "0.1", "=0.1", ">=0.1,", ">=0.1.*", "~=0.1.*", "<0.1, x", f"<{'9' * 5000}"]
)
def test_malformed_requirement_is_told_apart(requirement: str) -> None:
    """What is not a requirement is neither met nor missed, also after a clause that is missed."""
    with pytest.raises(ValueError, match="is not a valid version requirement"):
        satisfies("0.1.0", requirement)


@pytest.mark.parametrize(
    "command", [["render"], ["render", "--check"], ["outdated"], ["rerun", "a"], ["explain", "a"]]
)
def test_another_version_exits_2_and_says_how_to_install_the_right_one(
    repo: Repo, command: list[str]
) -> None:
    """Every command that reads the repository refuses, before it looks at anything else."""
    repo.write("slicewright.yaml", 'requires: "~=0.3"\n')
    repo.write("workloads/broken.yaml", "a: [")

    done = repo.run(*command, code=2)

    assert (
        "Error: slicewright.yaml requires slicewright ~=0.3, and this is 0.1.0\n"
        "  hint: install slicewright ~=0.3: https://slicewright.dev/docs/how-to/install/\n"
    ) in done.err
    assert done.out == ""
    assert not (repo.root / "overlays").exists()


SETTINGS = {
    'requires: "~=1"\n': "slicewright.yaml:1:11: IN005\n",
    "requires: 0.1\n": "slicewright.yaml:1:11: IN001\n",
    "limits: {endRun: 1}\n": "yaml:1:10: IN002\n",
    "[]\n": "slicewright.yaml:1:1: IN001",
    "limits: {}\n---\nlimits: {}\n": "slicewright.yaml:3:1: IN007\n",
    "limits: {\n": "slicewright.yaml:2:1: YAML001",
}


@pytest.mark.parametrize("text", SETTINGS)
def test_wrong_settings_are_problems_like_others(repo: Repo, text: str) -> None:
    """They have a place and a hint, and stand beside the problems of other files."""
    repo.write("slicewright.yaml", text)
    repo.write("workloads/other.yaml", "[]")

    done = repo.run("render", code=1)

    assert SETTINGS[text] in places(done.err)
    assert "workloads/other.yaml:1:1: IN007" in done.err


@pytest.mark.parametrize("text", ["", "# nothing\n", "requires: '>=0.1'\n", "---\nlimits: {endRuns: 3}\n"])
def test_settings_may_be_empty(repo: Repo, text: str) -> None:
    """The file marks the root of a repository; what it does not say has a default."""
    repo.write("slicewright.yaml", text)

    assert len(repo.effects()) == 1
