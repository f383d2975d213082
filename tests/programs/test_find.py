"""A program is found by its variable, in the cache, or on PATH, and only in the pinned version."""

import os
import pwd
from pathlib import Path

import pytest
from msgspec.structs import replace

from slicewright.kubernetes.problem import Problem
from slicewright.programs import find as finder
from slicewright.programs.find import (
    WHEELS,
    Found,
    cache_root,
    cached,
    find,
    kept_path,
    locate,
    module_version,
    platform_name,
    version_of,
)
from slicewright.programs.pins import Tool, tools, versions

from .conftest import Script

OF_THE_USER = pwd.getpwuid(os.getuid()).pw_dir
NEW = "echo tiny v1.2.3 go1.26.8"
OLD = "echo tiny v1.1.0 go1.26.8"


def environ(tmp_path: Path, **more: str) -> dict[str, str]:
    """Return an environment with a cache and a PATH below tmp_path."""
    return {"SLICEWRIGHT_CACHE": str(tmp_path / "cache"), "PATH": str(tmp_path / "bin"), **more}


def fill_cache(tool: Tool, tmp_path: Path, script: Script) -> Path:
    """Put a program where the cache keeps it."""
    kept = cached(tool, environ(tmp_path))
    return script(str(kept.relative_to(tmp_path)), NEW)


def test_the_variable_comes_first(tool: Tool, tmp_path: Path, script: Script) -> None:
    """A program that the environment variable names is taken before cache and PATH."""
    fill_cache(tool, tmp_path, script)
    script("bin/tiny", NEW)
    own = script("own/anything", NEW)
    found = locate(tool, environ(tmp_path, SLICEWRIGHT_TINY_TOOL=str(own)))
    assert Found(own, "variable") == found


def test_the_cache_comes_before_path(tool: Tool, tmp_path: Path, script: Script) -> None:
    """A program in the cache is taken before one on PATH."""
    kept = fill_cache(tool, tmp_path, script)
    script("bin/tiny", NEW)
    assert Found(kept, "cache") == locate(tool, environ(tmp_path))


def test_a_wheel_comes_before_the_cache(
    tool: Tool, tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program of an installed wheel is taken before one in the cache, but not that of another machine."""
    fill_cache(tool, tmp_path, script)
    monkeypatch.syspath_prepend(tmp_path / "site")
    script(f"site/{WHEELS}/{kept_path(tool, 'plan9-mips')}", NEW)
    path = script(f"site/{WHEELS}/{kept_path(tool, platform_name())}", NEW)
    assert Found(path, "wheel") == locate(tool, environ(tmp_path))


def test_other_programs_of_wheels_are_named(
    tool: Tool, tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version in a wheel, and a program that lost its executable bit, are skipped with the reason."""
    monkeypatch.syspath_prepend(tmp_path / "site")
    machine = platform_name()
    old = script(f"site/{WHEELS}/{kept_path(replace(tool, version='v1.1.0'), machine)}", OLD)
    plain = script(f"site/{WHEELS}/{kept_path(tool, machine)}", NEW)
    plain.chmod(0o644)
    found = locate(tool, environ(tmp_path))
    assert isinstance(found, Problem)
    expected = f"tiny-tool v1.2.3 is missing; {old} is v1.1.0; {plain} is not executable"
    assert expected == found.message


def test_path_is_accepted(tool: Tool, tmp_path: Path, script: Script) -> None:
    """A program on PATH is taken when its version is the pinned one."""
    path = script("bin/tiny", NEW)
    assert Found(path, "PATH") == locate(tool, environ(tmp_path))


@pytest.mark.parametrize("name", ["tiny", "tiny-1.2.3"])
def test_path_is_searched_to_its_end(tool: Tool, tmp_path: Path, script: Script, name: str) -> None:
    """The right version is found behind another one, and under a name with its version."""
    script("bin/tiny", OLD)
    right = script(f"more/{name}", NEW)
    path = f"{tmp_path / 'bin'}::{tmp_path / 'more'}"
    assert Found(right, "PATH") == locate(tool, environ(tmp_path, PATH=path))


def test_nothing_there(tool: Tool, tmp_path: Path) -> None:
    """What is missing is said with what to do about it."""
    expected = Problem(
        id="TOOL001",
        message="tiny-tool v1.2.3 is missing",
        hint="run 'slicewright tools build', put tiny-tool v1.2.3 on PATH, "
        "or set SLICEWRIGHT_TINY_TOOL to its path",
    )
    assert expected == locate(tool, environ(tmp_path))


def test_what_is_built_only_where_it_is_named(tool: Tool, tmp_path: Path) -> None:
    """`tools build` leaves it out, so the command that names it is said instead."""
    found = locate(replace(tool, asked=True), environ(tmp_path))
    expected = Problem(
        id="TOOL001",
        message="tiny-tool v1.2.3 is missing",
        hint=(
            "run 'slicewright tools build tiny-tool', "
            "put tiny-tool v1.2.3 on PATH, or set SLICEWRIGHT_TINY_TOOL to its path"
        ),
    )
    assert expected == found


def test_nothing_there_in_an_installed_package(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the package came from a wheel there is no make: wheels, a build and the variable are named."""
    monkeypatch.setattr(finder, "in_checkout", lambda: False)
    expected = Problem(
        id="TOOL001",
        message="tiny-tool v1.2.3 is missing",
        hint=(
            "run 'slicewright tools build' or install the test bed "
            "(https://slicewright.dev/docs/how-to/install/), "
            "put tiny-tool v1.2.3 on PATH, or set SLICEWRIGHT_TINY_TOOL to its path"
        ),
    )
    assert expected == locate(tool, environ(tmp_path))


def test_another_version_on_path_is_named(tool: Tool, tmp_path: Path, script: Script) -> None:
    """A program of another version on PATH is passed over, and both versions are named; each file once."""
    old = script("bin/tiny", OLD)
    mute = script("more/tiny", "exit 1")
    (tmp_path / "same").symlink_to(tmp_path / "bin")
    path = ":".join(str(tmp_path / name) for name in ("bin", "more", "same"))
    found = locate(tool, environ(tmp_path, PATH=path))
    assert isinstance(found, Problem)
    expected = f"tiny-tool v1.2.3 is missing; {old} is v1.1.0; {mute} does not say its version"
    assert expected == found.message


def test_the_variable_is_an_order(tool: Tool, tmp_path: Path, script: Script) -> None:
    """A variable that names another version is refused with both versions, even with a right one on PATH."""
    script("bin/tiny", NEW)
    old = script("own/tiny", OLD)
    expected = Problem(
        id="TOOL003",
        message=f"SLICEWRIGHT_TINY_TOOL names {old}, which is v1.1.0; tiny-tool v1.2.3 is needed",
        hint="set it to the path of tiny-tool v1.2.3, or unset it",
    )
    assert expected == locate(tool, environ(tmp_path, SLICEWRIGHT_TINY_TOOL=str(old)))


def test_the_variable_names_nothing(tool: Tool, tmp_path: Path) -> None:
    """A variable that names no program is refused."""
    gone = tmp_path / "gone"
    expected = Problem(
        id="TOOL002",
        message=f"SLICEWRIGHT_TINY_TOOL names {gone}, which is not an executable file",
        hint="set it to the path of tiny-tool v1.2.3, or unset it",
    )
    assert expected == locate(tool, environ(tmp_path, SLICEWRIGHT_TINY_TOOL=str(gone)))


@pytest.mark.parametrize(
    ("version", "taken"),
    [
        *(("v5.2.1", True), ("v5.7.1", True), ("v5.10.0", True), ("v5.8.1-rc.1", False)),
        *(("v5.2.0", False), ("v4.5.7", False), ("v6.0.0", False), ("(devel)", False)),
    ],
)
def test_validate_takes_a_kustomize_that_builds_overlays(
    tmp_path: Path, script: Script, version: str, taken: bool
) -> None:
    """From PATH or the variable, each release since the oldest that is tested, up to the next major one."""
    kustomize = tools()["kustomize"]
    path = script("bin/kustomize", f"echo '{version}'")
    variable = environ(tmp_path, SLICEWRIGHT_KUSTOMIZE=str(path), PATH="")

    on_path, named = (locate(kustomize, other, exact=False) for other in (environ(tmp_path), variable))

    if taken:
        assert [Found(path, "PATH", version), Found(path, "variable", version)] == [on_path, named]
    else:
        needed = f"kustomize {versions()['kustomizeOldest']} or a newer v5"
        said = f"is {version}" if version.startswith("v") else "does not say its version"
        assert isinstance(on_path, Problem)
        assert isinstance(named, Problem)
        assert f"{needed} is missing; {path} {said}" == on_path.message
        assert f"SLICEWRIGHT_KUSTOMIZE names {path}, which {said}; {needed} is needed" == named.message
    assert isinstance(locate(kustomize, environ(tmp_path)), Problem), "programs of rehearsals are exact"


def test_the_pinned_kustomize_is_taken_before_others(tmp_path: Path, script: Script) -> None:
    """It may be behind another one on PATH."""
    script("bin/kustomize", "echo v5.7.1")
    pinned = script("more/kustomize", f"echo {versions()['kustomize']}")
    path = f"{tmp_path / 'bin'}:{tmp_path / 'more'}"

    assert pinned == find("kustomize", environ(tmp_path, PATH=path), exact=False)


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("v5.8.1", "v5.8.1"),
        ("Kubernetes v1.36.1", "v1.36.1"),
        ("kind v0.33.0 go1.26.8 linux/amd64", "v0.33.0"),
        ("kwok version v0.8.0 go1.26.8 (linux/amd64)", "v0.8.0"),
        ("etcd Version: 3.6.12\nGit SHA: none\nGo Version: go1.26.8", "v3.6.12"),
        ("Client Version: v1.36.1\nKustomize Version: v5.8.1", "v1.36.1"),
        ("{Version:kustomize/v4.5.7 GitCommit:none}", "v4.5.7"),
        ("v1.36.1-gke.100", "v1.36.1-gke.100"),
        ("(devel)", ""),
        ("go1.26.8", ""),
    ],
)
def test_versions_are_read(tool: Tool, script: Script, printed: str, version: str) -> None:
    """The first version that a program prints is its own; the version of its compiler is none."""
    assert version == version_of(tool, script("tiny", f"cat <<'EOF'\n{printed}\nEOF"))


def test_a_file_that_cannot_run_says_no_version(tool: Tool, script: Script) -> None:
    """A file of another platform is a program without a version, not a crash."""
    broken = script("tiny", "")
    broken.write_bytes(b"\x7fELF nonsense")
    assert version_of(tool, broken) == ""


def go_program(path: Path, info: str) -> Path:
    """Write what Go's linker writes: a header at a multiple of 16, and two strings behind their lengths."""
    data = b"\x7fELF".ljust(64, b"\0") + b"x\xff Go buildinf:".ljust(32, b"\0")
    data += b"\xff Go buildinf:\x08\x02".ljust(32, b"\0")
    framed = b"\xaa" * 16 + info.encode() + b"\n" + b"\xbb" * 16
    assert 128 < len(framed) < 128 * 128
    data += b"\x08go1.26.8" + bytes((len(framed) % 128 | 128, len(framed) // 128)) + framed
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("info", "version"),
    [
        ("path\texample.test/tiny\nmod\texample.test/tiny\tv1.2.3\th1:sum=", "v1.2.3"),
        ("path\texample.test/tiny\nmod\texample.test/tiny\t(devel)\t", "(devel)"),
        ("path\texample.test/other\nmod\texample.test/other\tv1.2.3\th1:sum=", ""),
    ],
)
def test_build_information_is_read(tool: Tool, tmp_path: Path, info: str, version: str) -> None:
    """A program without arguments for its version is read, not run: its main module says the version."""
    silent = replace(tool, ask=())
    binary = go_program(tmp_path / "tiny", info + "\ndep\tx\tv1.0.0\th1:sum=" * 8)
    assert version == version_of(silent, binary)


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\xff Go buildinf:"])
def test_other_files_have_no_build_information(tmp_path: Path, content: bytes) -> None:
    """A file that no Go linker wrote, or only half, has no version."""
    path = tmp_path / "tiny"
    path.write_bytes(content)
    assert module_version(path, "example.test/tiny") == ""


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"SLICEWRIGHT_CACHE": "/own", "XDG_CACHE_HOME": "/xdg", "HOME": "/home/a"}, "/own"),
        ({"XDG_CACHE_HOME": "/xdg", "HOME": "/home/a"}, "/xdg/slicewright"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home/a"}, "/home/a/.cache/slicewright"),
        ({"HOME": "/home/a"}, "/home/a/.cache/slicewright"),
        ({"HOME": "relative"}, f"{OF_THE_USER}/.cache/slicewright"),
        ({"HOME": ""}, f"{OF_THE_USER}/.cache/slicewright"),
        ({}, f"{OF_THE_USER}/.cache/slicewright"),
    ],
)
def test_the_cache_is_the_users(variables: dict[str, str], expected: str) -> None:
    """All checkouts of a user share one cache, where XDG puts it; SLICEWRIGHT_CACHE puts it elsewhere.

    A relative folder would be one of the repository, which could bring programs into it.
    """
    assert Path(expected) == cache_root(variables)


def test_find_returns_a_path_or_a_problem(tmp_path: Path, script: Script) -> None:
    """Callers ask by name."""
    own = script("kustomize", f"echo {versions()['kustomizeOldest']}")
    variables = environ(tmp_path, SLICEWRIGHT_KUSTOMIZE_OLDEST=str(own))
    assert own == find("kustomize-oldest", variables)
    assert isinstance(find("kind", variables), Problem)
