"""What a check passes by: files without Kubernetes objects, and why, judged by path and text."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct

from slicewright.core.document.document import values_in
from slicewright.core.kubernetes.labels import LOCAL_CONFIG
from slicewright.core.kubernetes.read import mapping, texts
from slicewright.core.problem import counted

CHART = "Chart.yaml"
"""The file that makes a folder a Helm chart."""
HELM_FOLDERS = frozenset({"templates", "charts", "crds"})
"""Folders of a chart that Helm reads."""

HELM = "Helm chart"
TEMPLATE = "template"
PATCH = "file that a kustomization merges"
UNNAMED_PATCH = "patch file that no kustomization names"
ASSERTION = "test assertion"
SETTINGS = "tool configuration"
DEAD_LINK = "dead link"
LINK = "link to a folder"
OUR_BASES = "folder of bases of slicewright"
VENDORED = "folder of packages of others"
TEST_DATA = "folder of test data"
NO_OBJECT = "file without Kubernetes objects"


class PassedBy(Struct, frozen=True):
    """A file, a document of one, or a folder with its number of files, that was not checked."""

    path: str
    reason: str
    """What it is: one of the constants above."""
    files: int = 1
    line: int = 0
    """Where the document begins; 0 for a whole file. The rest of its file is checked."""

    def record(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        where = {"line": self.line} if self.line else {}
        return {"path": self.path, "reason": self.reason, "files": self.files, **where}


_TEST_DATA = frozenset({"testdata", "test_data", "test-data", "expected"})
"""Go's tools pass `testdata` by, too: what is broken in it is meant to be, and what a test expects is so."""
_PACKAGES = frozenset({"node_modules", "site-packages"})
_VENDOR = "vendor"
_VENDORING = frozenset({"go.mod", "glide.yaml", "Gopkg.toml", "composer.json", "jsonnetfile.json", "Gemfile"})
"""What is beside a `vendor` that a package manager writes; people vendor manifests without one."""
_OF_OBJECTS = frozenset(
    {"apiVersion", "metadata", "spec", "status", "data", "stringData", "binaryData", "immutable", "type"}
    | {"rules", "subjects", "roleRef", "webhooks", "secrets", "parameters", "provisioner", "value"}
)
_TEMPLATE_NAME = re.compile(r"\.(ya?ml|json)\.(tftpl|tmpl|tpl|gotmpl|j2|jinja2?|erb|template|in)$")
_PATCH_NAME = re.compile(r"(^|[-_.])(json)?patch(es)?([-_.]|$)")
_ASSERTION_NAME = re.compile(
    r"(^|/)(assert(ion)?s?/.*|([0-9]+-|chainsaw-)?(assert|errors?)([-_].*)?)\.ya?ml$"
)
_DIRECTIVE = re.compile(
    r"^[ \t]*(\{\{-|\{\{/\*|\{%|%\{|<%|\{\{.*\}\}[^\s:]*[ \t]*(:.*)?$|\$\{\w+\}[ \t]*$"
    r"|(- )?\{\{[ \t]*(if|else|end|range|with|define|include|template)\b"
    r"|[^#\n]*[ \t]\{\{-?[ \t]*`|[\w.-]+:[A-Z]+(_[A-Z]+)+[ \t]*$)",
    re.MULTILINE,
)
"""A line that only a template engine reads: Go, Jinja, Terraform, ERB, or a raw text of Go with
braces of another engine; or a script: `env:ENV_LINES`."""
_WORD = re.compile(r"^(apiVersion|kind):", re.MULTILINE)
_FLOW = re.compile(r"\s*(\[|\{(?![{%]))")
_FLOW_WORD = re.compile(r"[{,\s]\"?(apiVersion|kind)\"?\s*:")
_APART = re.compile(r"^---", re.MULTILINE)
_HEAD = re.compile(r"(---.*\n)?([ \t]*(#.*)?\n)*")
"""What is before the first line of a document."""
_SAYS_PATCH = re.compile(r"(?i)\bpatch\b")
_SETTINGS = re.compile(
    r"(skaffold|builtin|krew\.googlecontainertools\.github\.com|kind\.x-k8s\.io|k3d\.io|eksctl\.io|ctlptl\.dev"
    r"|kustomize\.config\.k8s\.io|config\.kubernetes\.io|(kubeadm|kubelet\.config|kubeproxy\.config)\.k8s\.io"
    r"|(kubescheduler\.config|apiserver\.config|apiserver|audit)\.k8s\.io|kuttl\.dev|chainsaw\.kyverno\.io"
    r"|cli\.kyverno\.io|scorecard\.operatorframework\.io|backstage\.io|minikube\.sigs\.k8s\.io|score\.dev|garden\.io)/.*"
)
"""Versions of objects that a program reads from a file, and that no API server has."""


def reason_of_folder(name: str, beside: Collection[str]) -> str:
    """Return why a folder in a folder is passed by, from its name and what is beside it; '' for others."""
    if name in _TEST_DATA:
        return TEST_DATA
    is_of_packages = name in _PACKAGES or (name == _VENDOR and not _VENDORING.isdisjoint(beside))
    return VENDORED if is_of_packages else ""


def is_template(name: str) -> bool:
    """Tell whether a file's name says that it becomes YAML or JSON by a template engine."""
    return _TEMPLATE_NAME.search(name) is not None


def reason(path: str, text: str, documents: Sequence[Any], *, broken: Sequence[int] = ()) -> str:
    """Return why a file that nobody named is passed by, '' for one that is checked.

    `documents` is what was read of its text; where lines are `broken`, their part of the text decides. Of a
    TEMPLATE the rest may be checked: see `without_templates`.
    """
    objects = [data for some in documents for data in _objects(some)]
    if not objects and not (broken and _looks_like_one(text, read=bool(documents))):
        return NO_OBJECT
    if "$patch:" in text and objects and all(map(_is_merged, objects)):
        return UNNAMED_PATCH
    if _ASSERTION_NAME.search(path):
        return ASSERTION
    if any(has_directives(text[start:end]) for start, end in _unread(text, broken)):
        return TEMPLATE
    if not broken and all(_is_setting(data) for data in objects):
        return SETTINGS
    return ""


def may_be_patch(path: str) -> bool:
    """Tell whether a file's name or folder says `patch`: then what is incomplete in it is one."""
    folder, _, name = path.rpartition("/")
    return any(map(_PATCH_NAME.search, (name, folder.rpartition("/")[2])))


def begins_as_patch(text: str) -> bool:
    """Tell whether a comment at the top of a text says `patch`."""
    head = _HEAD.match(text)
    return head is not None and _SAYS_PATCH.search(head[0]) is not None


def without_templates(text: str, broken: Sequence[int]) -> tuple[str, list[int]]:
    """Return a text with blank lines for its templates among the documents with broken lines, and theirs."""
    lines = []
    for start, end in _unread(text, broken):
        part = text[start:end]
        if has_directives(part):
            head, mark = _HEAD.match(part), _APART.match(part)
            lines.append(text.count("\n", 0, start + (head.end() if head else 0)) + 1)
            blank = re.sub(r"[^\n]", " ", part)
            text = text[:start] + (mark[0] + blank[mark.end() :] if mark else blank) + text[end:]
    return text, lines


def has_directives(text: str) -> bool:
    """Tell whether a text has lines that only a template engine reads."""
    return _DIRECTIVE.search(text) is not None


def looks_like_an_object(data: Any) -> bool:
    """Tell whether a document that nobody named is meant as an object.

    It has an apiVersion and a kind, or one of the two and the fields of an object: Helm's Chart.yaml has an
    apiVersion, and other tools have a kind, some of them in lower case. Without a kind no more than one
    field, which may be a misspelt `kind`, is unknown. A list of words with numbers has none that is a text.
    """
    if not isinstance(data, dict):
        return False
    known = [data[key] for key in ("apiVersion", "kind") if key in data]
    has_fields = any(isinstance(data.get(key), dict) for key in ("metadata", "spec"))
    if "#" in str(data.get("kind")):  # `compute#instance` of Google Cloud
        return False
    if not data.keys() & {"apiVersion", "metadata"} and str(data.get("kind")).islower():
        return False
    is_known = "kind" in data or len(data.keys() - _OF_OBJECTS) <= 1
    is_named = len(known) > 1 and any(isinstance(word, str) for word in known)
    return is_named or bool(known and has_fields and is_known)


def holds_object(data: Any) -> bool:
    """Tell whether a document is meant as an object, or as a list of objects, which kubectl refuses."""
    return any(_objects(data))


def _objects(data: Any) -> Iterator[Any]:
    return filter(looks_like_an_object, data if isinstance(data, list) else (data,))


def _looks_like_one(text: str, *, read: bool) -> bool:
    """Tell whether a text that is not valid YAML has an apiVersion and a kind where an object has them.

    In JSON they may be anywhere, so what was `read` of it decides.
    """
    if read and _FLOW.match(text):
        return False
    word = _FLOW_WORD if _FLOW.match(text) else _WORD
    return any(len(set(word.findall(part))) > 1 for part in _APART.split(text))


def _unread(text: str, broken: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield begin and end of the parts of a text, apart by `---`, that have one of the lines."""
    if not broken:
        return
    starts = [0, *(mark.start() for mark in _APART.finditer(text)), len(text)]
    for start, end in pairwise(starts):
        first = text.count("\n", 0, start) + 1
        last = first + text.count("\n", start, end)
        if any(first <= line <= last for line in broken):
            yield start, end


def _is_merged(data: Any) -> bool:
    """Tell whether an object has a directive of a strategic merge."""
    return any(isinstance(value, dict) and "$patch" in value for _, value in values_in(data))


def _is_setting(data: dict[str, Any]) -> bool:
    """Tell whether a program reads an object from its file, and sends it to no API server."""
    if texts(mapping(data.get("metadata")).get("annotations")).get(LOCAL_CONFIG) == "true":
        return True
    version = str(data.get("apiVersion") or data.get("apiversion", ""))  # as the Operator SDK writes it
    return bool(_SETTINGS.fullmatch(version)) or (version, data.get("kind")) == ("v1", "Config")


_PARTLY = "document of files that are checked"
_NAMED = 5
"""How many of a reason a summary names."""
_BEHIND_NOUN = re.compile(r"(?= (?:of|that|to|without) )")


def counts(passed: Iterable[PassedBy]) -> list[str]:
    """Return `1 template (a.j2)` for each reason, in order, then documents; few are named."""
    by_reason: dict[str, list[PassedBy]] = defaultdict(list)
    for entry in sorted(passed, key=lambda entry: bool(entry.line)):
        by_reason[_PARTLY if entry.line else entry.reason].append(entry)
    return [_count(reason, some) for reason, some in by_reason.items()]


def _count(reason: str, passed: Sequence[PassedBy]) -> str:
    noun, *rest = _BEHIND_NOUN.split(reason, maxsplit=1)
    names = [f"{entry.path}:{entry.line}" if entry.line else entry.path for entry in passed]
    listed = ", ".join(names) if len(names) <= _NAMED else "-o json lists them"
    files = f", {counted(sum(entry.files for entry in passed), 'file')}" if reason == HELM else ""
    return f"{counted(len(passed), noun)}{''.join(rest)} ({listed}{files})"
