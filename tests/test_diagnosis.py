"""What `doctor` says of facts: the state of each, and the command that mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from slicewright.core import diagnosis
from slicewright.core.problem import Problem

if TYPE_CHECKING:
    from slicewright.core.diagnosis import Check

GIB = 1 << 30
GET = "gcloud container clusters get-credentials NAME --location LOCATION"


def brief(check: Check) -> tuple[str, str, str]:
    """Return what is asserted of a check whose topic is known."""
    return check.state, check.detail, check.mend


def test_package_is_of_a_version_that_slicewright_accepts() -> None:
    """A package of another version is wrong, one that is not there as well; an extra may be left out."""
    requires = (
        *("click>=8.1,<9", "pyyaml>=6", "rich>=1", "urllib3>=2; extra == 'testbed'", "celly; extra == 'cel'"),
        "pywin32; sys_platform == 'win32' and extra == 'cel'",
    )
    installed = {"click": "8.2", "pyyaml": "5.4", "rich": "", "urllib3": "", "celly": "1.0rc1"}
    python = "/my python"

    assert [
        ("click", "ok", "8.2", ""),
        ("pyyaml", "wrong", "5.4, but >=6 is needed", "'/my python' -m pip install 'pyyaml>=6'"),
        ("rich", "wrong", ">=1 is needed", "'/my python' -m pip install 'rich>=1'"),
        (
            *("urllib3", "missing", ">=2 is needed by the extra 'testbed'"),
            "'/my python' -m pip install 'urllib3>=2'",
        ),
        ("celly", "ok", "1.0rc1", ""),
    ] == [(one.name, *brief(one)) for one in diagnosis.packages(requires, installed, python)]


@pytest.mark.parametrize(
    ("writable", "entries", "expected"),
    [
        (True, 0, ("ok", "empty", "")),
        (True, 1200, ("ok", "2.5 GiB in 1,200 files", "")),
        (
            *(False, 3),
            ("wrong", "cannot be written by this user", "export SLICEWRIGHT_CACHE=/path/of/a/folder"),
        ),
    ],
)
def test_cache_is_writable(writable: bool, entries: int, expected: tuple[str, str, str]) -> None:
    """A cache that cannot be written can be somewhere else."""
    assert expected == brief(diagnosis.cache("/c", writable=writable, entries=entries, size=5 * GIB // 2))


def test_repository_of_another_owner_is_declared_safe() -> None:
    """Git itself says which command; other failures are for git fsck."""
    owner = Problem("GIT002", "git rev-parse failed: detected dubious ownership in repository at '/a b'")
    broken = Problem("GIT002", "git rev-parse failed: bad object HEAD")

    assert "git config --global --add safe.directory '/a b'" == diagnosis.git(owner, "/a b").mend
    assert ("wrong", broken.message, "git fsck") == brief(diagnosis.git(broken, "/a b"))


def test_repository_is_for_this_version() -> None:
    """The version that it requires is installed by one command."""
    other = diagnosis.repository("/r", "~=0.2.0", "0.1.0", satisfied=False)

    assert ("ok", "requires ~=0.1.0", "") == brief(
        diagnosis.repository("/r", "~=0.1.0", "0.1.0", satisfied=True)
    )
    assert ("ok", "requires no version", "") == brief(diagnosis.repository("/r", "", "0.1.0", satisfied=True))
    assert "" == other.mend, "no index has slicewright yet"
    assert ("wrong", "requires slicewright ~=0.2.0, and this is 0.1.0") == brief(other)[:2]


def test_copies_are_of_this_version() -> None:
    """Bases and schemas of another version are upgraded; without a record they are somebody's own."""
    old = diagnosis.copies("bases/", "0.0.9", "0.1.0")

    assert ("wrong", "of slicewright 0.0.9, and this is 0.1.0", "slicewright init --upgrade") == brief(old)
    assert ("ok", "of slicewright 0.1.0", "") == brief(diagnosis.copies("bases/", "0.1.0", "0.1.0"))
    assert ("ok", "not copied by slicewright init", "") == brief(diagnosis.copies("bases/", "", "0.1.0"))


TWO: dict[str, Any] = {"contexts": [{"name": "a"}, {"name": "b c"}, {"context": {}}, "x"]}


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ([], ("missing", "no kubeconfig file; only import and status need one", GET)),
        ([{}], ("missing", "no current context", GET)),
        ([["a list"]], ("missing", "no current context", GET)),
        ([TWO], ("missing", "no current context", "kubectl config use-context a")),
        ([{**TWO, "current-context": "b c"}], ("ok", "'b c'; its cluster was not asked", "")),
        ([{"current-context": "a"}, TWO], ("ok", "'a'; its cluster was not asked", "")),
        ([{"current-context": "a"}], ("wrong", "'a' is not a context of the kubeconfig", GET)),
        ([TWO, Problem("YAML001", "a tab")], ("wrong", "/k1: a tab", "")),
    ],
    ids=["no file", "empty", "list", "none", "current", "two files", "unknown", "broken"],
)
def test_current_context_is_one_of_the_kubeconfig(
    contents: list[Any], expected: tuple[str, str, str]
) -> None:
    """Several files count as one; a file that cannot be read is wrong, whatever the others say."""
    files = [(f"/k{number}", content) for number, content in enumerate(contents)]

    assert expected == brief(diagnosis.context(files))


def test_rehearsal_needs_memory_and_space() -> None:
    """Too little is missing, not wrong: everything but a rehearsal works."""
    states = [
        diagnosis.memory(2 * GIB),
        diagnosis.memory(2 * GIB - 1),
        diagnosis.memory(None),
        diagnosis.space("/", GIB),
        diagnosis.space("/", GIB // 2),
    ]

    assert ["ok", "missing", "ok", "ok", "missing"] == [check.state for check in states]
    assert "0.5 GiB free for /; a rehearsal needs about 1 GiB" == states[-1].detail


def test_file_names_are_utf_8() -> None:
    """Python reads file names as the locale says."""
    assert ("ok", "utf-8", "") == brief(diagnosis.encoding("utf-8"))
    assert ("wrong", "iso8859-1, and files are UTF-8", "export LC_ALL=C.UTF-8") == brief(
        diagnosis.encoding("iso8859-1")
    )


def test_broken_test_cluster_is_ended() -> None:
    """One that runs may be somebody's work; the folder of a killed one goes by itself."""
    assert ("wrong", "one of its programs has ended", "slicewright cluster down --name lab") == brief(
        diagnosis.cluster("lab", "broken")
    )
    assert ("ok", "ready; slicewright cluster down --name lab ends it", "") == brief(
        diagnosis.cluster("lab", "ready")
    )
    assert ("ok", "its supervisor is gone; the next test cluster removes its folder", "") == brief(
        diagnosis.cluster("lab", "left")
    )
