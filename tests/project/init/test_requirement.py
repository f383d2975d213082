"""The slicewright that people and CI of a new repository install."""

import base64
import hashlib
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from unittest.mock import Mock

import pytest
from tests.conftest import PROJECT
from tests.project.init.kit import init, read
from tests.words import places

from slicewright.project.new_files import specifier
from slicewright.project.repository_reader import satisfies
from slicewright.version import __version__


def test_requirement_is_what_everybody_installs(tmp_path: Path) -> None:
    """As it is given, one line and no option of pip; the settings allow the versions that render alike."""
    init(str(tmp_path / "a"), "--slicewright-requirement", "slicewright==0.1.0")
    series = ".".join(__version__.split(".")[:2]) + ".0"

    assert "slicewright==0.1.0" == requirement_of(tmp_path / "a")
    assert f"~={series}" == read(tmp_path / "a/slicewright.yaml")["requires"]
    for wrong in ("a\nb", "-r other.txt"):
        _, said = init(str(tmp_path / "c"), "--slicewright-requirement", wrong, code=2)
        assert "is one line" in said
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("version", "wanted", "no_longer"),
    [("0.1.7", "~=0.1.0", "0.2.0"), ("0.12.0", "~=0.12.0", "0.13.0"), ("1.2.3", "~=1.2", "2.0.0")],
)
def test_requirement_ends_where_versions_may_break(version: str, wanted: str, no_longer: str) -> None:
    """Before 1.0 that is the second number, from then on the first."""
    assert wanted == specifier(version)
    assert [True, False] == [satisfies(other, wanted) for other in (version, no_longer)]


ABOUT = f"slicewright-{__version__}.dist-info"
IN_A_WHEEL = {
    "slicewright/__init__.py": b"",
    "slicewright/_data/bases/a.yaml": b"a: b\n",
    f"{ABOUT}/METADATA": f"Metadata-Version: 2.4\nName: slicewright\nVersion: {__version__}\n".encode(),
    f"{ABOUT}/WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n",
    f"{ABOUT}/entry_points.txt": b"[console_scripts]\n",
    f"{ABOUT}/licenses/LICENSE": b"text\n",
}
OF_AN_INSTALLER = {
    f"{ABOUT}/INSTALLER": b"pip\n",
    f"{ABOUT}/REQUESTED": b"",
    "../../bin/slicewright": b"#!\n",
}


def digest(content: bytes) -> str:
    """Return a digest as RECORD has it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A slicewright as pip installs it, from wherever, and `init` of that slicewright."""
    site = tmp_path / "lib/python/site-packages"
    lines = [f"{ABOUT}/RECORD,,", "slicewright/__pycache__/__init__.pyc,,"]
    for path, content in {**IN_A_WHEEL, **OF_AN_INSTALLER}.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(content)
        lines.append(f"{path},{digest(content)},{len(content)}")
    (site / ABOUT / "RECORD").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr("slicewright.cli.init.distribution", lambda _: Distribution.at(site / ABOUT))
    return site


def requirement_of(root: Path) -> str:
    """Return the last line of a repository's requirements."""
    return (root / "requirements.txt").read_text(encoding="utf-8").splitlines()[-1]


@pytest.mark.usefixtures("site")
def test_repository_gets_a_wheel_of_the_slicewright_that_made_it(tmp_path: Path) -> None:
    """Nobody needs an index: the wheel has the installed files, as RECORD lists them; the same each time."""
    said, warned = init(str(tmp_path / "a"))
    init(str(tmp_path / "b"))

    path = f"vendor/slicewright-{__version__}-py3-none-any.whl"
    assert ("", f"./{path}") == (warned, requirement_of(tmp_path / "a"))
    assert said.endswith(f"make installs {path}, also in CI: commit it\n")
    assert (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes()
    with zipfile.ZipFile(tmp_path / "a" / path) as wheel:
        contents = {name: wheel.read(name) for name in wheel.namelist()}
    record = contents.pop(f"{ABOUT}/RECORD").decode().splitlines()
    assert IN_A_WHEEL == contents
    expected = [f"{name},{digest(content)},{len(content)}" for name, content in sorted(IN_A_WHEEL.items())]
    assert [*expected, f"{ABOUT}/RECORD,,"] == [*sorted(record[:-1]), record[-1]]


@pytest.mark.usefixtures("site")
def test_what_is_kept_is_a_file(tmp_path: Path) -> None:
    """A link to nothing in the place of a file stops `init --keep`, which writes nothing through it."""
    wheel = tmp_path / f"a/vendor/slicewright-{__version__}-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    wheel.symlink_to(tmp_path / "outside.whl")
    (tmp_path / "a/README.md").symlink_to(tmp_path / "gone")
    (tmp_path / "a/CODEOWNERS").mkdir()
    (tmp_path / "a/.gitignore").symlink_to("ignored")
    (tmp_path / "a/ignored").touch()

    _, said = init(str(tmp_path / "a"), "--keep", code=1)

    vendored = wheel.relative_to(tmp_path / "a")
    assert f"CODEOWNERS: FILE003\nREADME.md: FILE004\n{vendored}: FILE004\n3 errors, 0 warnings\n" == places(
        said
    )
    assert not (tmp_path / "outside.whl").exists()
    assert not (tmp_path / "a/Makefile").exists()


@pytest.mark.parametrize("broken", ["slicewright/__init__.py", f"{ABOUT}/RECORD", f"{ABOUT}/METADATA"])
def test_what_cannot_be_packed_comes_from_an_index_with_a_warning(
    tmp_path: Path, site: Path, broken: str
) -> None:
    """A file was edited, or the list of files is gone: the warning says which, and what to do."""
    if broken.endswith("RECORD"):
        (site / broken).unlink()
    else:
        (site / broken).write_bytes(IN_A_WHEEL[broken] + b"# mine\n")

    _, said = init(str(tmp_path / "a"))

    assert "requirements.txt: warning: INIT004\n" == places(said)
    assert f"slicewright{specifier(__version__)}" == requirement_of(tmp_path / "a")
    assert not (tmp_path / "a/vendor").exists()


def test_slicewright_that_is_not_installed_comes_from_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As from a folder on PYTHONPATH."""
    monkeypatch.setattr("slicewright.cli.init.distribution", Mock(side_effect=PackageNotFoundError))

    assert "requirements.txt: warning: INIT004" in places(init(str(tmp_path / "a"))[1])


def test_checkout_is_named_with_a_warning(tmp_path: Path) -> None:
    """It works on this machine, and the warning says that it works on no other."""
    _, said = init(str(tmp_path / "a"))

    assert f"slicewright @ {PROJECT.as_uri()}" == requirement_of(tmp_path / "a")
    assert "requirements.txt: warning: INIT003" in said
    assert f"run make wheel in {PROJECT}, install the wheel from its dist/" in said


def test_requirements_that_a_person_wrote_are_left_alone(tmp_path: Path) -> None:
    """Neither a wheel nor a warning beside a requirement that the command line or the repository has."""
    named = init(str(tmp_path / "a"), "--slicewright-requirement", "slicewright==0.1.0")
    (tmp_path / "a/bases/.slicewright.json").unlink()
    again = init(str(tmp_path / "a"), "--keep")

    assert ("", "") == (named[1], again[1])
    assert "slicewright==0.1.0" == requirement_of(tmp_path / "a")


@pytest.mark.parametrize(
    "path", ["./wheels/s.whl", "s.whl", "../s.whl[testbed]", "/nowhere/s ; python_version > '3'"]
)
def test_requirement_that_is_not_there_is_refused(tmp_path: Path, path: str) -> None:
    """A path is relative to the new repository, where pip would look for it only at the first make."""
    _, said = init(str(tmp_path / "a"), "--slicewright-requirement", path, code=2)

    assert said.startswith(
        f"Error: --slicewright-requirement {path.partition('[')[0].partition(' ;')[0]}: there is no /"
    )
    assert "hint: a path is relative to the new repository" in said
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    "path", ["./wheels/s.whl", "wheels/s.whl[testbed]", "../s.whl", "s @ https://x.test/s.whl"]
)
def test_requirement_that_is_there_or_elsewhere_is_taken(tmp_path: Path, path: str) -> None:
    """As it was written; what is behind a URL is not looked at."""
    (tmp_path / "s.whl").touch()
    if "wheels" in path:
        (tmp_path / "a/wheels").mkdir(parents=True)
        (tmp_path / "a/wheels/s.whl").touch()

    init(str(tmp_path / "a"), "--slicewright-requirement", path)

    assert f"\n{path}\n" in (tmp_path / "a/requirements.txt").read_text(encoding="utf-8")
