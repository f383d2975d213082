"""An input that has a problem, for each id that has one, and what the program prints about it.

The inputs are those of the tests: fixtures of rules, examples in `problems/`, and the cases of refused input.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from click.testing import CliRunner
from tests.check.rules.kit import BAD, findings_of
from tests.rendering.plan import kit as workloads
from tests.rendering.platform import kit as platforms
from tests.rendering.provision import kit as provision

from slicewright.check.rules.every import RULES
from slicewright.cli.main import cli
from slicewright.document.edit_file import mended
from slicewright.document.text_difference import unified
from slicewright.kubernetes.problem import in_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slicewright.check.io.meaning import Meaning

Files = dict[str, str]
"""Texts by paths."""

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests/rendering"
WORKLOAD = {"clusters": "[c1]", "tpu": "v5litepod-8", "container": "{image: x}"}
"""What each spec of a workload needs, where an example does not say it itself."""
CLUSTER = {"managed": "false", "pools": "[{name: tpus, tpu: v5litepod-8}]"}
"""The same for a cluster."""
REPOSITORY = {
    "slicewright.yaml": "{}\n",
    "clusters/c1.yaml": """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: c1}
spec:
  managed: false
  pools:
  - {name: tpus, tpu: v5litepod-8, slices: 3}
  - {name: cpu-np, machineType: n2-standard-64}
  clusterQueues:
  - {name: cluster-queue, localQueues: [{name: queue}]}
""",
}
"""What is around an example of the input."""


@contextmanager
def repository() -> Iterator[Path]:
    """Yield a folder for `of_problem`, with the bases of this repository."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "bases", Path(folder, "bases"))
        yield Path(folder)


def of_problem(one: Meaning, folder: Path) -> tuple[Files, str]:
    """Return the shortest input that has a problem, and what is printed about it; or nothing."""
    for files in filter(None, (example(one), *_cases().get(one.id, ()))):
        for name in ("clusters", "workloads", "overlays", "provision"):
            shutil.rmtree(folder / name, ignore_errors=True)
        if about := _about(one.id, _printed(folder, {**REPOSITORY, **files}, *command(one))):
            return files, about
    return {}, ""


def of_rule(ident: str) -> tuple[Files, str]:
    """Return the shortest fixture that breaks a rule, and what is printed about it."""
    texts = [fixture.text for fixture in BAD if fixture.rule == ident]
    inputs = [_without_head(text) for text in sorted(texts, key=len)]
    for files, path in (way for text in inputs for way in _ways(text)):
        with tempfile.TemporaryDirectory() as folder:
            if about := _about(ident, _printed(Path(folder), files, "validate", "--gitops", path)):
                return files, about
    # The rest needs the TPUCluster of its overlay, which `validate PATH` does not read.
    found = in_order(findings_of(ident, inputs[0]))
    return {"fixture.yaml": inputs[0]}, "".join(f"{problem.text()}\n" for problem in found)


def fixed(ident: str, files: Files) -> str:
    """Return what the fixes of a rule's findings change in its input, as a diff; '' for several files."""
    if ident not in {rule.id for rule in RULES} or len(files) != 1:
        return ""
    ((name, text),) = files.items()
    after, _ = mended(text, [problem.fix for problem in findings_of(ident, text) if problem.fix])
    return unified(name, text, after)


def command(one: Meaning) -> list[str]:
    """Return the command that reads an input of this id."""
    return ["validate", "manifest.yaml"] if one.example_of == "manifest" else ["render"]


def example(one: Meaning) -> Files:
    """Return the file that an example of the input is, or nothing."""
    match one.example_of:
        case "workload":
            return {"workloads/a.yaml": _document("TPUWorkload", "a", one.example, WORKLOAD)}
        case "cluster":
            return {"clusters/c1.yaml": _document("TPUCluster", "c1", one.example, CLUSTER)}
        case "file":
            return {"workloads/a.yaml": one.example}
        case "manifest":
            return {"manifest.yaml": one.example}
        case _:
            return {}


def _document(kind: str, name: str, lines: str, needed: Mapping[str, str]) -> str:
    """Return a document with the lines of an example in its spec, and before them what the spec needs."""
    given = {line.partition(":")[0] for line in lines.splitlines()}
    spec = [f"{key}: {value}" for key, value in needed.items() if key not in given] + lines.splitlines()
    head = f"apiVersion: slicewright.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n"
    return head + "".join(f"  {line}\n" for line in spec)


@cache
def _cases() -> dict[str, list[Files]]:
    """Return refused input by the ids that its test expects, the shortest first."""
    cases: dict[str, list[Files]] = {}
    for where, files in sorted(_refused(), key=lambda case: sum(map(len, case[1].values()))):
        for ident in set(re.findall(r"\b[A-Z]{2,6}\d{3}$", where, re.MULTILINE)):
            cases.setdefault(ident, []).append(files)
    return cases


def _refused() -> Iterator[tuple[str, Files]]:
    """Yield what is said where, and the input, of the tests' files of refused input."""
    for case in _read("platform/refusals.yaml"):
        texts = [platforms.cluster(spec, name=f"c{at}") for at, spec in enumerate(case["specs"], 1)]
        yield case["where"], {f"clusters/c{at}.yaml": text for at, text in enumerate(texts, 1)}
    for path in sorted((TESTS / "plan" / "refusals").glob("*.yaml")):
        for case in _read(path):
            cluster = case.get("cluster", workloads.CLUSTER)
            text = workloads.workload(case["spec"], metadata=case.get("metadata", ""))
            if "\n" in cluster:
                yield (
                    case["where"],
                    {"clusters/c1.yaml": workloads.cluster(cluster), "workloads/a.yaml": text},
                )
    for case in _read("plan/refused_clusters.yaml"):
        yield case["where"], {"clusters/c1.yaml": workloads.cluster(case["spec"])}
    for case in _read("provision/refused.yaml"):
        yield case["where"], {"clusters/c1.yaml": provision.text(case["spec"])}
    for case in _read("provision/environment_refused.yaml"):
        pools = case.get("pools", "pools: [{name: b, machineType: n2-standard-8}]\n")
        spec = case.get("place", provision.PLACE) + pools + case["spec"]
        yield case["where"], {"clusters/c1.yaml": provision.text(spec)}


def _read(path: str | Path) -> list[dict[str, str]]:
    text = (TESTS / path).read_text(encoding="utf-8")
    cases: list[dict[str, str]] = yaml.load(text, yaml.CSafeLoader)
    return cases


def _printed(folder: Path, files: Files, *words: str) -> str:
    """Return what a command prints in a folder with some files."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    arguments = [words[0], "-C", str(folder), *words[1:]]
    done = CliRunner().invoke(cli, arguments, prog_name="slicewright")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def _without_head(text: str) -> str:
    """Return a fixture without its first lines, which are for its test."""
    return re.sub(r"\A(?:# .*\n)+", "", text)


def _ways(text: str) -> Iterator[tuple[Files, str]]:
    """Yield a fixture as files and the path to validate: a kustomization is a folder with what it names."""
    head, _, rest = text.partition("\n---\n")
    first = yaml.safe_load(head)
    if first["kind"] in ("Kustomization", "Component") and rest:
        named = [name for name in first.get("resources", ()) if name.endswith(".yaml") and "/" not in name]
        yield {"app/kustomization.yaml": f"{head}\n", f"app/{(named or ['objects.yaml'])[0]}": rest}, "app"
    yield {"manifest.yaml": text}, "manifest.yaml"


def _about(ident: str, output: str) -> str:
    """Return the problems of an id in an output, with their hints."""
    problem = rf"^(?:\S+ )?(?:warning: |note: )?{ident} .*\n(?:  hint: .*\n)?"
    return "".join(re.findall(problem, output, re.MULTILINE))
