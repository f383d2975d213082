"""`slicewright init` makes a repository that works: its own make, CI, editors and hooks."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner
from tests.conftest import PROJECT
from tests.files import git
from tests.project.init.kit import files, init, read
from tests.project.init.linter import actionlint
from tests.rendering.bases.kit import VERSIONS, kustomize, parsed

from slicewright.cli.main import cli
from slicewright.version import __version__

BIN = Path(sys.executable).parent


def make(root: Path, *arguments: str) -> str:
    """Run make in a repository and return what it prints; nothing may stand on stderr."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", *arguments], cwd=root, env=environ, check=False, capture_output=True, text=True, timeout=300
    )
    assert (0, "") == (done.returncode, done.stderr), done.stdout
    return done.stdout


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


@pytest.mark.slow
def test_new_repository_renders_and_is_right(made: Path) -> None:
    """`make check` has no error and no warning, `make diff` no difference; nothing is left to commit."""
    command = f"SLICEWRIGHT={BIN}/slicewright"

    assert "0 errors, 0 warnings" in make(made, "check", command)
    assert "nothing differs for any cluster between HEAD and working tree\n" == make(made, "diff", command)
    assert git(made, "status", "--porcelain") == ""


@pytest.mark.workflow
@pytest.mark.slow
def test_first_block_of_the_page_works_on_a_fresh_machine(tmp_path: Path) -> None:
    """With a wheel, git, Python and make; what it installs can make the next repository."""
    checkout = tmp_path / "slicewright"
    wheels = checkout / "dist"
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels],
        cwd=PROJECT,
        check=True,
        capture_output=True,
    )
    page = (PROJECT / "docs/reference/init.md").read_text(encoding="utf-8")
    block = page.partition("```sh\n")[2].partition("```")[0]
    someone = {
        f"GIT_{who}_{what}": "t@example.test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    usual = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    path = f"{tmp_path}/venv/bin:{os.environ['PATH']}"
    environ = {**usual, **someone, "PATH": path, "PYTHON": sys.executable}

    done = subprocess.run(
        ["sh", "-ec", block.removeprefix("make wheel && ")],
        cwd=checkout,
        env=environ,
        check=False,
        capture_output=True,
        text=True,
    )

    assert 0 == done.returncode, done.stdout + done.stderr
    assert "1 workload on 1 cluster: 1 run to start, 0 to end" in done.stdout
    assert "0 errors, 0 warnings" in done.stdout
    root = tmp_path / "training"
    assert "slicewright\n" == git(root, "log", "--format=%s") + "\n"
    assert "" == git(root, "status", "--porcelain")
    done = subprocess.run(
        [root / ".venv/bin/slicewright", "init", tmp_path / "next"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith(f"{tmp_path}/next: ")
    vendored = f"vendor/slicewright-{__version__}-py3-none-any.whl"
    assert f"\nmake installs {vendored}, " in done.stdout
    assert (root / vendored).read_bytes() == (tmp_path / "next" / vendored).read_bytes()


def files_of_new(root: Path) -> dict[str, str]:
    """Return the files of a new repository."""
    init(str(root))
    return files(root)


@pytest.mark.tools
@pytest.mark.parametrize("version", VERSIONS)
def test_rendered_folders_build_with_kustomize(made: Path, version: str) -> None:
    """The namespace and the platform, as Argo CD or Flux builds them."""
    assert ["JobSet"] == [
        item["kind"] for item in parsed(kustomize(made / "overlays/sample/default", version))
    ]
    platform = {item["kind"] for item in parsed(kustomize(made / "overlays/sample/_platform", version))}
    assert {"ClusterQueue", "LocalQueue", "ResourceFlavor"} <= platform


@pytest.mark.tools
@pytest.mark.ci
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_actions_are_pinned_as_ours_are(made: Path) -> None:
    """By the hash of a commit, the same as in our own CI."""
    uses = re.compile(r"uses: (\S+@[0-9a-f]{40} # v\S+)")
    ours = set(uses.findall((PROJECT / ".github/workflows/ci.yaml").read_text(encoding="utf-8")))
    text = (made / ".github/workflows/slicewright.yaml").read_text(encoding="utf-8")

    assert len(uses.findall(text)) == text.count("uses: ")
    assert set(uses.findall(text)) <= ours


@pytest.mark.slow
def test_steps_of_ci_are_targets(made: Path) -> None:
    """What the workflows and the hook run are targets of the Makefile."""
    text = (made / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+): ", text, re.MULTILINE))
    github = (made / ".github/workflows/slicewright.yaml").read_text(encoding="utf-8")
    called = re.findall(r"\bmake (\w+)", github + (made / ".gitlab-ci.yml").read_text(encoding="utf-8"))
    hook = read(made / ".pre-commit-config.yaml")["repos"][0]["hooks"][0]

    assert set(called) == {"review", "comment"} < targets
    assert hook["entry"] == "make tracked check"
    assert "files" not in hook, "any file can be one that a run takes"


@pytest.mark.slow
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
        assert found or pattern.startswith("/defaults/")  # a team writes them when it needs them
        for path in found:
            first = path.read_text(encoding="utf-8").splitlines()[0]
            named = first.partition("$schema=")[2]
            assert (path.parent / named).resolve() == (made / schema).resolve()
    resolver = jsonschema.Draft7Validator(store["slicewright/settings.json"])
    assert not list(resolver.iter_errors(read(made / "slicewright.yaml")))


@pytest.mark.slow
def test_lists_of_workloads_merge_line_by_line_and_those_of_platforms_do_not(made: Path) -> None:
    """As git itself reads the attributes."""
    lists = ["overlays/sample/default/kustomization.yaml", "overlays/sample/_platform/kustomization.yaml"]

    assert ["union", "unspecified"] == [
        git(made, "check-attr", "merge", path).rpartition(" ")[2] for path in lists
    ]


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


@pytest.mark.ci
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
    assert "these files are rendered, but not added to git: git add overlays provision\n" in said
    git(root, "add", "overlays")
    assert commit_of(root, "--all")[0] == 0
    assert git(root, "show", "--name-only", "--format=", "HEAD", "--", new) == new


@pytest.mark.ci
def test_revision_of_make_diff_is_no_command(made: Path, tmp_path: Path) -> None:
    """Whatever stands in REV is one word for slicewright, and no option of its."""
    command = f"SLICEWRIGHT={BIN}/slicewright"
    for rev in (f"HEAD; touch {tmp_path}/a", f"HEAD';touch {tmp_path}/a'", f'HEAD";touch {tmp_path}/a"'):
        done = subprocess.run(
            ["make", "diff", command, f"REV={rev}"], cwd=made, check=False, capture_output=True, text=True
        )
        assert done.stderr.startswith(f"Error: unknown git revision '{rev}'")
    assert not list(tmp_path.iterdir())
    assert make(made, "diff", command, "REV=HEAD").startswith("nothing differs")


def test_reviewers_are_named_for_every_place_that_people_or_render_write(made: Path) -> None:
    """As comments: a team puts its names there."""
    lines = (made / "CODEOWNERS").read_text(encoding="utf-8").splitlines()[1:]
    named = [line.removeprefix("# ").split()[0] for line in lines]
    alone = {".git", ".gitattributes", ".gitignore", ".vscode", "README.md", "overlays", "slicewright-review"}

    assert {
        f"/{path.name}{'/' if path.is_dir() else ''}" for path in made.iterdir() if path.name not in alone
    } <= {*named}
    assert {"/custom/", "/overlays/*/_*/"} <= {*named}


def test_hooks_of_ours_call_commands_that_are_there() -> None:
    """.pre-commit-hooks.yaml offers what other repositories may ask for."""
    hooks = read(PROJECT / ".pre-commit-hooks.yaml")

    assert [("slicewright-render", "python"), ("slicewright-validate", "python")] == [
        (hook["id"], hook["language"]) for hook in hooks
    ]
    for hook in hooks:
        words = hook["entry"].split()
        assert (0, "slicewright") == (CliRunner().invoke(cli, [words[1], "--help"]).exit_code, words[0])
        assert (False, False) == (hook["pass_filenames"], "files" in hook)


def test_page_names_what_is_written(tmp_path: Path) -> None:
    """docs/reference/init.md lists every file, by its folder where there are many."""
    page = (PROJECT / "docs/reference/init.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([^`]+)`", page.partition("| --- | --- |\n")[2].partition("\n\n")[0]))
    named &= {path for path in named if "/" in path or "." in path or path in ("Makefile", "CODEOWNERS")}
    written = files_of_new(tmp_path / "here")

    assert {path for path in written if not path.startswith(("bases/", "schemas/"))} == {
        path for path in named if not path.endswith("/")
    }
    assert {"bases/", "schemas/"} <= named


STUB = '#!/bin/sh\nprintf "%s\\n" "$*" >> "$CALLS"\ncase "$*" in *"${FAILS:-nothing}"*) exit 1 ;; esac\n'


def test_make_installs_controllers_before_the_platform(tmp_path: Path) -> None:
    """By the server, and waiting for what each cluster has; it ends where something is refused."""
    root, calls = tmp_path / "repository", tmp_path / "calls"
    init(str(root))
    CliRunner().invoke(cli, ["render", "-C", str(root)], catch_exceptions=False)
    (tmp_path / "kubectl").write_text(STUB, encoding="utf-8")
    (tmp_path / "kubectl").chmod(0o755)
    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "CALLS": str(calls)}

    def install(**more: str) -> tuple[int, list[str]]:
        calls.write_text("", encoding="utf-8")
        command = ["make", "--silent", "-C", str(root), "install", "CLUSTER=sample"]
        done = subprocess.run(command, env={**environ, **more}, check=False, capture_output=True)
        return done.returncode, calls.read_text(encoding="utf-8").splitlines()

    expected = [
        "apply --server-side -k overlays/sample/_controllers",
        "-n kueue-system wait --for=condition=Available deployment --all --timeout=10m",
        "-n jobset-system wait --for=condition=Available deployment --all --timeout=10m",
        "apply --server-side -k overlays/sample/_platform",
    ]
    assert install() == (0, expected)
    assert install(FAILS="wait") == (2, expected[:2])
    assert install(FAILS="apply") == (2, expected[:1])
    command = ["make", "-C", str(root), "install"]
    without = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "usage: make install CLUSTER=NAME" in without.stderr
