"""Render a Helm chart by the helm of this machine, without the network and without the user's settings."""

import re

from slicewright.check.io.kustomizations import offline, output_of
from slicewright.document.document import Document
from slicewright.document.read import read_documents
from slicewright.kubernetes.problem import Problem
from slicewright.programs.find import which

_SOURCE = re.compile(r"^# Source: [^/\n]+/(.+)$", re.MULTILINE)
"""Helm names the template of what follows, below the name of the chart."""
_MISSING = "get its dependencies first: helm dependency build"


def template(folder: str, name: str) -> tuple[list[tuple[str, Document]], tuple[Problem, ...]]:
    """Return the objects that a chart makes with its own values, each with the name of its template."""
    program = which("helm")
    if program is None:
        hint = "install helm, or leave out --helm"
        return [], (Problem("TOOL001", "helm is missing", hint, file=name),)
    import tempfile  # noqa: PLC0415 - it takes its time to import, and few commands need it

    try:
        with tempfile.TemporaryDirectory() as empty:
            kept = {key: value for key, value in offline().items() if not key.startswith("HELM_")}
            own = dict.fromkeys(("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HOME"), empty)
            environ = {**kept, **own, "KUBECONFIG": f"{empty}/none"}
            command = [program, "template", "release", folder, "--include-crds"]
            text, failure = output_of("helm", command, environ, lambda error: error[:500])
    except OSError as error:  # of the folder
        return [], (_refused(name, f"helm cannot be started: {error.strerror}"),)
    return ([], (_refused(name, failure),)) if failure else _objects(text, name)


def _objects(text: str, name: str) -> tuple[list[tuple[str, Document]], tuple[Problem, ...]]:
    """Read the objects template by template: together they may be more than one file may hold."""
    objects: list[tuple[str, Document]] = []
    problems: list[Problem] = []
    parts = ["", *_SOURCE.split(text)]
    for template_name, part in zip(parts[::2], parts[1::2], strict=True):
        # What names no template of the chart is the chart's: a chart can write such lines itself.
        is_inside = template_name and ".." not in template_name.split("/")
        file = f"{name}/{template_name}" if is_inside else name
        documents, wrong = read_documents(part, file)
        objects += [(file, document) for document in documents]
        # A line of the rendered text is not a line of the template.
        problems += [Problem(problem.id, problem.message, problem.hint, file=file) for problem in wrong]
    return objects, tuple(problems)


def _refused(name: str, message: str) -> Problem:
    hint = _MISSING if "missing in charts/" in message else "run helm template on the chart"
    return Problem("FILE032", message, hint, file=name)
