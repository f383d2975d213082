"""The pages of all ids: what each means, an input that has it, and what the program prints about that input.

Nothing here is written into the repository: `hooks` gives the pages to the site.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from click.testing import CliRunner
from tests.rules.kit import FIXTURES, findings_of

from slicewright.cli.main import cli
from slicewright.core.problem import in_order
from slicewright.workspace.meaning import rule_subjects, subjects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slicewright.workspace.meaning import Meaning, Subject

Files = dict[str, str]
"""Texts by paths."""

ROOT = Path(__file__).resolve().parents[1]
WORKLOAD = {"clusters": "[c1]", "tpu": "v5litepod-8", "container": "{image: x}"}
"""What each spec of a workload needs, where an example does not say it itself."""
CLUSTER = {"pools": "[{name: tpus, tpu: v5litepod-8}]"}
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


def document(kind: str, name: str, lines: str, needed: Mapping[str, str]) -> str:
    """Return a document of the input with the lines of an example, and before them what its spec needs."""
    given = {line.partition(":")[0] for line in lines.splitlines()}
    spec = [f"{key}: {value}" for key, value in needed.items() if key not in given] + lines.splitlines()
    head = f"apiVersion: slicewright.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n"
    return head + "".join(f"  {line}\n" for line in spec)


def example(one: Meaning) -> Files:
    """Return the file that an example of the input is, or nothing."""
    match one.example_of:
        case "workload":
            return {"workloads/a.yaml": document("TPUWorkload", "a", one.example, WORKLOAD)}
        case "cluster":
            needed = {"managed": "false", **CLUSTER}
            return {"clusters/c1.yaml": document("TPUCluster", "c1", one.example, needed)}
        case "file":
            return {"workloads/a.yaml": one.example}
        case _:
            return {}


def printed(files: Files, *command: str) -> str:
    """Return what a command prints in a folder with some files; bases are those of this repository."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        for base in (ROOT / "bases").rglob("*.yaml") if "slicewright.yaml" in files else ():
            name = base.relative_to(ROOT)
            if "controllers" not in name.parts:
                Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
                Path(folder, name).write_bytes(base.read_bytes())
        done = CliRunner().invoke(cli, [command[0], "-C", folder, *command[1:]], prog_name="slicewright")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.output


def of_problem(one: Meaning) -> tuple[Files, str]:
    """Return an input that has a problem of the input, and what `render` prints about it."""
    files = example(one)
    return files, _about(one.id, printed({**REPOSITORY, **files}, "render")) if files else ""


def of_rule(ident: str) -> tuple[Files, str]:
    """Return the shortest fixture that breaks a rule, and what is printed about it."""
    texts = sorted(
        (path.read_text(encoding="utf-8") for path in (FIXTURES / ident).glob("bad*.yaml")), key=len
    )
    inputs = [_without_head(text) for text in texts]
    for files, path in (way for text in inputs for way in _ways(text)):
        if about := _about(ident, printed(files, "validate", path)):
            return files, about
    # The rest needs the TPUCluster of its overlay, which `validate PATH` does not read.
    found = in_order(findings_of(ident, inputs[0]))
    return {"fixture.yaml": inputs[0]}, "".join(f"{problem.text()}\n" for problem in found)


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
    problem = rf"^(?:\S+ )?(?:warning: )?{ident} .*\n(?:  hint: .*\n)?"
    return "".join(re.findall(problem, output, re.MULTILINE))


def page(one: Meaning, subject: Subject, files: Files, output: str) -> str:
    """Return the page of an id."""
    looks_at = f" of {', '.join(one.kinds)}" if one.kinds else ""
    parts = [
        f"# {one.id}: {one.title}\n",
        f"[{subject.title}](index.md#{_anchor(subject)}) · **{one.severity}**{looks_at}\n",
        f"{one.why}\n",
        f"**What to do:** {one.hint}.\n",
    ]
    if files:
        parts.append(f"**{'A file' if len(files) == 1 else 'Files'} with this problem**\n")
        parts += (f'```yaml title="{path}"\n{text.rstrip()}\n```\n' for path, text in files.items())
        parts.append(f"**What slicewright prints**\n\n```text\n{output.rstrip()}\n```\n")
    elif one.example:
        parts.append(f"**As it is printed**\n\n```text\n{one.example.rstrip()}\n```\n")
    if one.sources:
        parts.append("**Sources**\n\n" + "".join(f"- {_linked(source)}\n" for source in one.sources))
    return "\n".join(parts)


def _linked(source: str) -> str:
    return f"<{source}>" if source.startswith("https://") else source


def _anchor(subject: Subject) -> str:
    return re.sub(r"[^\w]+", "-", subject.title.lower())


def table(subject: Subject) -> str:
    """Return the list of a subject's ids."""
    rows = "".join(
        f"| [{one.id}]({one.id}.md) | {one.severity} | {one.title} |\n" for one in subject.meanings
    )
    head = "| id | severity | what is wrong |\n| --- | --- | --- |\n"
    return f"\n## {subject.title}\n\n{subject.intro}\n\n{head}{rows}"


def index() -> str:
    """Return what follows the text of the pages' index: every id by subject."""
    return "".join(map(table, (*rule_subjects(), *subjects())))


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path of each page below docs/, and its text."""
    for subject in rule_subjects():
        for one in subject.meanings:
            yield f"reference/rules/{one.id}.md", page(one, subject, *of_rule(one.id))
    for subject in subjects():
        for one in subject.meanings:
            yield f"reference/rules/{one.id}.md", page(one, subject, *of_problem(one))
