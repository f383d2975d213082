"""docs/how-to/extend-slicewright.md: its examples, as somebody would write them."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conftest import Repo
from tests.words import places

from slicewright.check.io import meaning
from slicewright.check.io.meaning import all_rules

PAGE = (Path(__file__).resolve().parents[2] / "docs/how-to/extend-slicewright.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """Return the first block of the page in a language."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Install a distribution with a module of rules beside slicewright."""

    def installed(module: str, text: str, entry_points: str) -> None:
        folder = tmp_path / f"site-{module}"
        info = folder / f"{module}-1.0.dist-info"
        info.mkdir(parents=True)
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", "utf-8")
        (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.delitem(sys.modules, module, raising=False)
        meaning.added.cache_clear()

    yield installed
    meaning.added.cache_clear()


@pytest.fixture
def acme(install: Callable[..., None]) -> None:
    """Install the example."""
    ((group, points),) = tomllib.loads(block("toml"))["project"]["entry-points"].items()
    lines = "\n".join(f"{name} = {value}" for name, value in points.items())
    install("acme_rules", block("python"), f"[{group}]\n{lines}\n")


@pytest.mark.usefixtures("acme")
def test_rules_of_a_package_refuse_a_run_before_it_is_written(repo: Repo) -> None:
    """`render` refuses each of two runs that our own rules find alike, at the line that a person wrote."""
    repo.workload("b")
    done = repo.run("render", "-o", "json", code=1)
    assert [("ACME-101", "workloads/a.yaml"), ("ACME-101", "workloads/b.yaml")] == [
        (problem["id"], problem["file"]) for problem in done.json["problems"]
    ]
    assert not (repo.root / "overlays").exists()


@pytest.mark.usefixtures("acme")
def test_rules_of_a_package_run_in_validate_and_may_be_ignored(repo: Repo) -> None:
    """With a reason, as any rule; `--schemas-only` does not ask them."""
    image = repo.write(
        "job.yaml",
        """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: a, namespace: a}
        spec:
          template: {spec: {restartPolicy: Never, containers: [{name: a, image: "other/x:1.0.0"}]}}
        """,
    )
    (said,) = (line for line in repo.run("validate", image, code=1).out.splitlines() if "ACME" in line)
    assert said.startswith("job.yaml:5:")
    assert said.endswith(": ACME-101 image other/x:1.0.0 is not from registry.acme.test")
    assert "ACME" not in repo.run("validate", "--schemas-only", image).out
    repo.write(".slicewright-ignore.yaml", "ignore: [{rule: ACME-101, reason: it is a test}]\n")
    assert "ACME" not in repo.run("validate", image).out


@pytest.mark.slow
def test_repository_brings_no_code(repo: Repo, install: Callable[..., None], tmp_path: Path) -> None:
    """`python -m` puts the current folder on the path; neither rules nor modules of a repository run."""
    install("hostile", "raise SystemExit('hostile')", "[slicewright.rules]\na = hostile:RULES\n")
    folder = tmp_path / "site-hostile"
    (folder / "yaml.py").write_text("raise SystemExit('hostile')")
    command = [sys.executable, "-m", "slicewright", "render", "-C", str(repo.root)]

    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)

    assert "1 run to start" in done.stdout


@pytest.mark.usefixtures("acme")
def test_rules_of_a_package_are_listed(repo: Repo) -> None:
    """By `slicewright rule`, one and all of its group."""
    assert "ACME-101 (error): An image comes from another registry\n" in repo.run("rule", "acme-101").out
    assert "ACME-101" in repo.run("rule").out
    assert 2 == len(repo.run("rule", "acme").out.splitlines())


RULE = "Rule('{}', 'error', 'title', 'why', 'hint', frozenset(), lambda item, world: ())"
HEAD = "from slicewright.objects import Rule\n"
GROUP = "[slicewright.rules]\na = broken:RULES\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import nowhere_at_all", "EXT001"),
        ("", "EXT001"),
        ("RULES = ['A-1']", "EXT001"),
        (f"{HEAD}RULES = ({RULE.format('TPU101')},)", "EXT002"),
        (f"{HEAD}RULES = ({RULE.format('A-1')}, {RULE.format('A-1')})", "EXT002"),
    ],
    ids=["not there", "without RULES", "not rules", "an id of ours", "an id twice"],
)
def test_package_that_cannot_be_used_is_an_error(
    repo: Repo, install: Callable[..., None], text: str, expected: str
) -> None:
    """Of `validate` and of a render with runs to judge; what is wrong with it is said, with its name."""
    install("broken", text, GROUP)
    assert expected in places(repo.run("validate", "-o", "text", code=1).out)
    assert expected in places(repo.run("render", code=1).err)


def test_no_id_of_ours_can_be_one_of_a_package() -> None:
    """None has a hyphen."""
    assert [] == [rule.id for rule in all_rules() if "-" in rule.id]


@pytest.mark.slow
def test_packages_are_not_looked_at_without_need() -> None:
    """A command that asks no rules imports neither our rules nor importlib.metadata."""
    code = (
        "import sys; from slicewright.cli.main import cli; cli(['catalog', 'v5e'], standalone_mode=False); "
        "print({'importlib.metadata', 'slicewright.check.io.meaning'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "set()" == done.stdout.splitlines()[-1]


@pytest.fixture
def v9(empty: Repo) -> Repo:
    """A repository that adds the generation of the page, with a cluster and a run of it."""
    empty.write("catalog/v9.yaml", block("yaml"))
    empty.cluster(spec="project: p\nlocation: us-west4\npools: [{name: v9, tpu: v9-8, slices: 2}]\n")
    empty.workload(spec="clusters: [c1]\ntpu: v9-8\nslices: 2\ncontainer: {image: 'x:1.0.0'}\n")
    return empty


def test_repository_adds_a_generation(v9: Repo) -> None:
    """Its shapes are listed, explained, rendered and checked as those that come with slicewright."""
    v9.run("render")
    (run,) = v9.runs()
    text = v9.read(f"overlays/c1/default/a/{run}")
    assert "cloud.google.com/gke-tpu-accelerator: tpu-v9-slice\n" in text
    assert "cloud.google.com/gke-tpu-topology: 2x4\n" in text
    assert 3 == len(v9.run("catalog", "v9").out.splitlines())
    assert "https://example.test/tpu-v9" in v9.run("explain", "a", "--sources").out
    assert "" == v9.run("validate").err
    assert "1 object " in v9.run("validate", f"overlays/c1/default/a/{run}").out


def test_run_stays_when_a_release_brings_the_generation(v9: Repo) -> None:
    """The id of a run does not depend on the catalogue."""
    v9.run("render")
    before = v9.stamps()
    text = v9.read("catalog/v9.yaml")
    v9.write("catalog/v9.yaml", text.replace("vcpus: 180", "vcpus: 200").replace("announcement", "release"))
    assert [] == v9.effects()
    assert before == v9.stamps()


@pytest.mark.parametrize(
    ("wrong", "right", "place"),
    [
        ("vcpus: many", "vcpus: 180", ":10:3"),
        ("sources: {}", "sources: {announcement: https://example.test/tpu-v9}", ":10:3"),
        ("generation: v6e", "generation: v9", ":1:1"),
        ("prefix: v6e", "prefix: v9", ":1:1"),
        ("ct6e-standard-4t", "ct9-standard-4t", ":1:1"),
        ("colour: red\nsides", "sides", ":1:1"),
        ("---\nsides", "sides", ""),
    ],
)
def test_wrong_file_of_the_catalogue_stops_a_render(v9: Repo, wrong: str, right: str, place: str) -> None:
    """At its line, and whatever asks for its shapes finds none; `catalog` shows the others."""
    text = v9.read("catalog/v9.yaml")
    assert right in text
    v9.write("catalog/v9.yaml", text.replace(right, wrong))
    expected = f"catalog/v9.yaml{place}: CAT001"
    refused = places(v9.run("render", code=1).err)
    assert expected in refused
    assert "TPU001" not in refused
    assert expected in places(v9.run("validate", code=1).out)
    assert expected in places(v9.run("catalog", "v5e").err)
    assert not (v9.root / "overlays").exists()


def test_file_of_the_catalogue_that_is_not_yaml_stops_a_render(v9: Repo) -> None:
    """As one with another mistake."""
    v9.write("catalog/v9.yaml", "coresPerChip: [\n")
    assert places(v9.run("render", code=1).err).startswith("catalog/v9.yaml:")
