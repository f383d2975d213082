"""`slicewright init` makes a repository that works: its own make, CI, editors and hooks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner
from tests.bases.kit import kustomize, parsed
from tests.conftest import PROJECT
from tests.difference.kit import git
from tests.initial.linter import actionlint

from slicewright.cli.main import cli
from slicewright.initial.files import specifier
from slicewright.version import __version__
from slicewright.workspace.requires import satisfies

BIN = Path(sys.executable).parent


def init(*arguments: str, code: int = 0) -> tuple[str, str]:
    """Run the command and return what it prints on stdout and stderr."""
    done = CliRunner().invoke(cli, ["init", *arguments], prog_name="slicewright", catch_exceptions=False)
    assert code == done.exit_code, done.output
    return done.stdout, done.stderr


def make(root: Path, *arguments: str) -> str:
    """Run make in a repository and return what it prints; nothing may stand on stderr."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", *arguments], cwd=root, env=environ, check=False, capture_output=True, text=True, timeout=300
    )
    assert (0, "") == (done.returncode, done.stderr), done.stdout
    return done.stdout


def read(path: Path) -> Any:
    """Return the content of a YAML or JSON file."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def files(root: Path) -> dict[str, str]:
    """Return every file of a repository but those of git, by path."""
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git/" not in path.relative_to(root).as_posix()
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository, initialised, rendered and committed."""
    root = tmp_path_factory.mktemp("made") / "training"
    init(str(root))
    make(root, "render", f"SLICEWRIGHT={BIN}/slicewright")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "init")
    return root


def test_new_repository_renders_and_is_right(made: Path) -> None:
    """`make check` has no error and no warning, `make diff` no difference; nothing is left to commit."""
    command = f"SLICEWRIGHT={BIN}/slicewright"

    assert "0 errors, 0 warnings" in make(made, "check", command)
    assert "nothing differs for any cluster between HEAD and working tree\n" == make(made, "diff", command)
    assert git(made, "status", "--porcelain") == ""


def test_fresh_machine_needs_python_and_make(tmp_path: Path) -> None:
    """A wheel in the repository is what its own `make` installs, into a virtual environment of its own."""
    root = tmp_path / "training"
    wheels = root / "wheels"
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels],
        cwd=PROJECT,
        check=True,
        capture_output=True,
    )
    (wheel,) = wheels.glob("*.whl")
    init(str(root), "--slicewright-requirement", f"./wheels/{wheel.name}")

    printed = make(root, "render", "check", f"PYTHON={sys.executable}")

    assert "1 workload on 1 cluster: 1 run to start, 0 to end" in printed
    assert "0 errors, 0 warnings" in printed
    done = subprocess.run(
        [root / ".venv/bin/slicewright", "init", tmp_path / "next"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith(f"{tmp_path}/next: ")
    assert files(tmp_path / "next").keys() == files_of_new(tmp_path / "here").keys()


def files_of_new(root: Path) -> dict[str, str]:
    """Return the files of a new repository."""
    init(str(root))
    return files(root)


@pytest.mark.parametrize("version", ["kustomize", "kustomize-oldest"])
def test_rendered_folders_build_with_kustomize(made: Path, version: str) -> None:
    """The namespace and the platform, as Argo CD or Flux builds them."""
    assert ["JobSet"] == [
        item["kind"] for item in parsed(kustomize(version, made / "overlays/sample/default"))
    ]
    platform = {item["kind"] for item in parsed(kustomize(version, made / "overlays/sample/_platform"))}
    assert {"ClusterQueue", "LocalQueue", "ResourceFlavor"} <= platform


def test_workflow_passes_actionlint(made: Path) -> None:
    """With shellcheck for its commands."""
    done = subprocess.run(
        [actionlint(), "-no-color", "-shellcheck", BIN / "shellcheck", "-pyflakes", ""],
        cwd=made,
        check=False,
        capture_output=True,
        text=True,
    )

    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("vendor.github-workflows", ".github/workflows/slicewright.yaml"),
        ("vendor.gitlab-ci", ".gitlab-ci.yml"),
    ],
)
def test_ci_passes_the_schema_of_its_service(made: Path, schema: str, path: str) -> None:
    """GitHub's and GitLab's own."""
    done = subprocess.run(
        [BIN / "check-jsonschema", "--builtin-schema", schema, made / path],
        check=False,
        capture_output=True,
        text=True,
    )

    assert (0, "ok -- validation done\n") == (done.returncode, done.stdout)


def test_actions_are_pinned_as_ours_are(made: Path) -> None:
    """By the hash of a commit, the same as in our own CI."""
    uses = re.compile(r"uses: (\S+@[0-9a-f]{40} # v\S+)")
    ours = set(uses.findall((PROJECT / ".github/workflows/ci.yaml").read_text(encoding="utf-8")))
    text = (made / ".github/workflows/slicewright.yaml").read_text(encoding="utf-8")

    assert len(uses.findall(text)) == text.count("uses: ")
    assert set(uses.findall(text)) <= ours


def test_steps_of_ci_run(made: Path) -> None:
    """What the workflows run are targets of the Makefile, or what the shell does with them."""
    text = (made / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+): ", text, re.MULTILINE))
    github = (made / ".github/workflows/slicewright.yaml").read_text(encoding="utf-8")
    called = re.findall(r"\bmake (\w+)", github + (made / ".gitlab-ci.yml").read_text(encoding="utf-8"))
    hook = read(made / ".pre-commit-config.yaml")["repos"][0]["hooks"][0]

    assert set(called) == {"check", "diff"} < targets
    assert hook["entry"] == "make tracked check"
    assert re.match(hook["files"], "workloads/hello.yaml")
    (step,) = [
        step["run"]
        for step in read(made / ".github/workflows/slicewright.yaml")["jobs"]["check"]["steps"]
        if "GITHUB_STEP_SUMMARY" in step.get("run", "")
    ]
    summary = made.parent / "summary"
    environ = {**os.environ, "GITHUB_STEP_SUMMARY": str(summary), "SLICEWRIGHT": f"{BIN}/slicewright"}
    subprocess.run(["bash", "-ec", step.replace("HEAD^1", "HEAD")], cwd=made, env=environ, check=True)
    assert summary.read_text(encoding="utf-8").startswith("~~~diff\nnothing differs")


def test_editor_is_led_to_schemas_that_accept_the_samples(made: Path) -> None:
    """Every pattern names files, every schema is there with what it refers to, and the samples pass."""
    settings = read(made / ".vscode/settings.json")["yaml.schemas"]
    store = {
        path.relative_to(made / "schemas").as_posix(): json.loads(path.read_text(encoding="utf-8"))
        for path in (made / "schemas").rglob("*.json")
        if not path.name.startswith(".")
    }
    referred = {
        name.replace("../", "").partition("#")[0]
        for schema in store.values()
        for name in re.findall(r'"\$ref": "([^#"][^"]*)"', json.dumps(schema))
    }

    assert {name if "/" in name else f"slicewright/{name}" for name in referred} <= store.keys()
    for schema, pattern in settings.items():
        found = list(made.glob(pattern.lstrip("/")))
        assert found
        for path in found:
            first = path.read_text(encoding="utf-8").splitlines()[0]
            named = first.partition("$schema=")[2]
            assert (path.parent / named).resolve() == (made / schema).resolve()
    resolver = jsonschema.Draft7Validator(store["slicewright/settings.json"])
    assert not list(resolver.iter_errors(read(made / "slicewright.yaml")))


def test_lists_of_workloads_merge_line_by_line_and_those_of_platforms_do_not(made: Path) -> None:
    """As git itself reads the attributes."""
    lists = ["overlays/sample/default/kustomization.yaml", "overlays/sample/_platform/kustomization.yaml"]

    assert ["union", "unspecified"] == [
        git(made, "check-attr", "merge", path).rpartition(" ")[2] for path in lists
    ]


def test_requirement_is_what_everybody_installs(tmp_path: Path) -> None:
    """By default the versions that render the repository alike; one line, and no option of pip."""
    init(str(tmp_path / "a"))
    init(str(tmp_path / "b"), "--slicewright-requirement", "slicewright==0.1.0")
    series = ".".join(__version__.split(".")[:2]) + ".0"

    assert f"\nslicewright~={series}\n" in (tmp_path / "a/requirements.txt").read_text(encoding="utf-8")
    assert "\nslicewright==0.1.0\n" in (tmp_path / "b/requirements.txt").read_text(encoding="utf-8")
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


def test_last_words_name_what_make_installs_and_the_way_out(tmp_path: Path) -> None:
    """Where no index has slicewright; who named a requirement knows it."""
    printed, _ = init(str(tmp_path / "a"))
    named, _ = init(str(tmp_path / "b"), "--slicewright-requirement", "./wheels/s.whl")

    assert printed.splitlines()[-1].startswith(f"make installs slicewright{specifier(__version__)}; ")
    assert ("--slicewright-requirement" in printed, "--slicewright-requirement" in named) == (True, False)


def commit_of(root: Path, *arguments: str) -> tuple[int, str]:
    """Commit in a repository with our hook, and return git's exit code and what stands on stderr."""
    who = ["-c", "user.name=t", "-c", "user.email=t@example.test"]
    done = subprocess.run(
        ["git", *who, "commit", "--quiet", "--message", "change", *arguments],
        cwd=root,
        env={**os.environ, "SLICEWRIGHT": f"{BIN}/slicewright"},
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stderr


def test_hook_stops_a_commit_that_leaves_a_run_out(made: Path, tmp_path: Path) -> None:
    """`git commit --all` does not take the file of a new run, which is on disk, so that it renders alike."""
    root = tmp_path / "training"
    git(made.parent, "clone", "--quiet", str(made), str(root))
    (hook,) = read(root / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    script = root / ".git/hooks/pre-commit"
    script.write_text(f"#!/bin/sh\nexec {hook['entry']}\n", encoding="utf-8")
    script.chmod(0o755)
    workload = root / "workloads/hello.yaml"
    workload.write_text(workload.read_text(encoding="utf-8") + "  slices: 2\n", encoding="utf-8")
    make(root, "render", f"SLICEWRIGHT={BIN}/slicewright")
    new = git(root, "ls-files", "--others", "--exclude-standard")

    code, said = commit_of(root, "--all")

    assert (code, said.splitlines()[0], "overlays") == (1, new, new.partition("/")[0])
    assert "these files are rendered and not in the commit: git add overlays provision\n" in said
    git(root, "add", "overlays")
    assert commit_of(root, "--all")[0] == 0
    assert git(root, "show", "--name-only", "--format=", "HEAD", "--", new) == new


def test_revision_of_make_diff_is_no_command(made: Path, tmp_path: Path) -> None:
    """Whatever stands in REV is one word for slicewright, and no option of its."""
    command = f"SLICEWRIGHT={BIN}/slicewright"
    for rev in (f"HEAD; touch {tmp_path}/a", f"HEAD';touch {tmp_path}/a'", f'HEAD";touch {tmp_path}/a"'):
        done = subprocess.run(
            ["make", "diff", command, f"REV={rev}"], cwd=made, check=False, capture_output=True, text=True
        )
        assert done.stderr.startswith(f"Error: git knows no revision '{rev}'")
    assert not list(tmp_path.iterdir())
    assert make(made, "diff", command, "REV=HEAD").startswith("nothing differs")


def test_reviewers_are_named_for_every_place_that_people_or_render_write(made: Path) -> None:
    """As comments: a team puts its names there."""
    lines = (made / "CODEOWNERS").read_text(encoding="utf-8").splitlines()[1:]
    named = [line.removeprefix("# ").split()[0] for line in lines]
    alone = {".git", ".gitattributes", ".gitignore", ".vscode", "README.md", "overlays", "slicewright.diff"}

    assert {
        f"/{path.name}{'/' if path.is_dir() else ''}" for path in made.iterdir() if path.name not in alone
    } <= {*named}
    assert {"/custom/", "/overlays/*/_*/"} <= {*named}


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    """What is there is listed, and nothing is written; --keep writes the rest."""
    (tmp_path / "README.md").write_text("mine\n", encoding="utf-8")
    (tmp_path / "Makefile").symlink_to("nowhere")

    _, said = init(str(tmp_path), code=1)

    assert ["Makefile: FILE007", "README.md: FILE007"] == re.findall(r"^(\S+: FILE\d+)", said, re.MULTILINE)
    assert ["Makefile", "README.md"] == sorted(path.name for path in tmp_path.iterdir())

    kept = json.loads(init(str(tmp_path), "--keep", "-o", "json")[0])

    assert kept["kept"] == ["Makefile", "README.md"]
    assert "slicewright.yaml" in kept["written"]
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "mine\n"
    assert (tmp_path / "Makefile").is_symlink()


def test_repository_that_is_there_is_led_to_the_upgrade(tmp_path: Path) -> None:
    """The second init says so."""
    init(str(tmp_path))
    before = files(tmp_path)

    _, said = init(str(tmp_path), code=1)

    assert (
        "slicewright.yaml: FILE007 the file exists already\n  hint: this is a repository of slicewright"
        in said
    )
    assert before == files(tmp_path)


def test_git_repository_that_is_there_is_taken(tmp_path: Path) -> None:
    """An empty one without a word; below its top, where CI does not look, with a warning."""
    git(tmp_path, "init", "--quiet")

    assert ("", "INIT002") == (init(str(tmp_path))[1], init(str(tmp_path / "sub"))[1].split()[1])


def test_folder_that_cannot_be_made_is_a_problem(tmp_path: Path) -> None:
    """A file stands in its way."""
    (tmp_path / "file").write_text("", encoding="utf-8")

    assert "FILE003 the folder cannot be made" in init(str(tmp_path / "file/deep"), code=1)[1]


def test_hooks_of_ours_call_commands_that_are_there() -> None:
    """.pre-commit-hooks.yaml offers what other repositories may ask for."""
    hooks = read(PROJECT / ".pre-commit-hooks.yaml")

    assert [("slicewright-render", "python"), ("slicewright-validate", "python")] == [
        (hook["id"], hook["language"]) for hook in hooks
    ]
    for hook in hooks:
        words = hook["entry"].split()
        assert (0, "slicewright") == (CliRunner().invoke(cli, [words[1], "--help"]).exit_code, words[0])
        assert re.match(hook["files"], "slicewright.yaml")
        assert not hook["pass_filenames"]


def test_page_names_what_is_written(tmp_path: Path) -> None:
    """docs/init.md lists every file, by its folder where there are many."""
    page = (PROJECT / "docs/init.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([^`]+)`", page.partition("| --- | --- |\n")[2].partition("\n\n")[0]))
    named &= {path for path in named if "/" in path or "." in path or path in ("Makefile", "CODEOWNERS")}
    written = files_of_new(tmp_path / "here")

    assert {path for path in written if not path.startswith(("bases/", "schemas/"))} == {
        path for path in named if not path.endswith("/")
    }
    assert {"bases/", "schemas/"} <= named
