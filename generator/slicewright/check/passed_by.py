"""What a check judges outside of a repository of ours, and what it passes by, and why."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from slicewright.document.document import values_in
from slicewright.kubernetes import kinds
from slicewright.kubernetes.fields import at, texts
from slicewright.kubernetes.labels import OURS
from slicewright.kubernetes.problem import counted, only_near
from slicewright.objects import Resource

_GROUPS = frozenset(
    {kinds.JOBSET_GROUP, "config.jobset.x-k8s.io", kinds.PATHWAYS_GROUP, kinds.LWS_GROUP, kinds.RAY_GROUP}
    | {kinds.KUEUE_GROUP, "config.kueue.x-k8s.io", kinds.TRAINER_GROUP, "accelerator.gke.io"}
    | {OURS.removesuffix("/")}
)
"""API groups whose kinds are all judged."""
_OTHERS = frozenset(
    {("batch", "Job"), ("cloud.google.com", "ComputeClass"), ("autoscaling.x-k8s.io", "ProvisioningRequest")}
)
"""Kinds of other groups that are judged, by group and kind."""
_KINDS = frozenset(
    kind for kind, group in kinds.GROUP_OF.items() if group in _GROUPS or (group, kind) in _OTHERS
)
_ASKS = re.compile(r"google\.com/(gke-)?tpu|kueue\.x-k8s\.io/|x-k8s\.io/queue-name")
"""The resource of chips, a node label of TPUs, or a label of Kueue."""
_KIND_WORD = re.compile(
    r"""(?:^|[\s{,"'-])(apiVersion|kind)["']?[ \t]*:[ \t]*["']?([\w./-]+)""", re.MULTILINE
)
_REFERRED = frozenset(
    {"ConfigMap", "Secret", "PersistentVolumeClaim", "StorageClass", "ServiceAccount", "Service", "Namespace"}
    | {"PriorityClass", "PodGroup", "PodTemplate"}
)
"""Kinds that pods and runs refer to."""
_CONFIG_MAPS = (kinds.KUEUE_CONFIG_MAP, "jobset-manager-config")


def is_judged(resource: Resource) -> bool:
    """Tell whether an object is judged: by its kind, or because its pods or quota name TPUs or a queue."""
    if resource.group in _GROUPS or (resource.group, resource.kind) in _OTHERS:
        return True
    may_ask = resource.kind in kinds.PODS_OF or resource.kind == "ResourceQuota"
    return holds_configuration(resource) or (may_ask and _asks(resource))


def holds_configuration(resource: Resource) -> bool:
    """Tell whether an object is the ConfigMap with the configuration of Kueue or JobSet."""
    return resource.kind == "ConfigMap" and resource.name in _CONFIG_MAPS


def may_be_misspelt(resource: Resource) -> bool:
    """Tell whether an object of an unknown kind may be one that is judged, with a mistake in its kind."""
    return _is_near(resource.group, resource.kind) or _asks(resource)


def names_judged(text: str) -> bool:
    """Tell whether a text that cannot be read names a kind that is judged, chips or a queue."""
    if _ASKS.search(text):
        return True
    for key, word in _KIND_WORD.findall(text):
        group, kind = (word.rpartition("/")[0], "") if key == "apiVersion" else ("", word)
        if _is_near(group, kind):
            return True
    return False


def words_of(judged: Iterable[Resource]) -> frozenset[str]:
    """Return all texts in some objects: the names of what they refer to are among them."""
    values = (value for resource in judged for _, value in values_in(resource.data))
    return frozenset(value for value in values if isinstance(value, str))


def is_referred(resource: Resource, words: frozenset[str]) -> bool:
    """Tell whether objects with some words refer to an object; a Service refers to pods by their labels."""
    if resource.kind not in _REFERRED or not resource.is_known:
        return False
    selector = texts(at(resource.data, "spec", "selector")) if resource.kind == "Service" else {}
    return resource.name in words or not words.isdisjoint(selector.values())


def _asks(resource: Resource) -> bool:
    """Tell whether a key of an object names TPUs or Kueue, or the key of an affinity or a toleration does."""
    for path, value in values_in(resource.data):
        key = path[-1] if path else ""
        word = value if key == "key" else key
        if isinstance(word, str) and _ASKS.search(word):
            return True
    return False


@lru_cache(maxsize=4096)
def _is_near(group: str, kind: str) -> bool:
    """Tell whether a kind is one that is judged, or a kind or a group is one with a mistake."""
    return kind in _KINDS or only_near(kind, _KINDS)[1] or only_near(group, _GROUPS)[1]


CHART = "Chart.yaml"
"""The file that makes a folder a Helm chart."""
HELM_FOLDERS = frozenset({"templates", "charts", "crds"})
"""Folders of a chart that Helm reads."""

HELM = "Helm chart"
TEMPLATE = "template"
PATCH = "file that a kustomization merges"
COMPONENT = "component that no kustomization includes"
UNNAMED_PATCH = "patch file that no kustomization names"
UNBUILT = "kustomization of other objects that does not build"
OTHERS = "file of other objects that cannot be read"
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
"""Folders whose files may be broken on purpose; Go's tools ignore `testdata` too."""
_PACKAGES = frozenset({"node_modules", "site-packages"})
_VENDOR = "vendor"
_VENDORING = frozenset({"go.mod", "glide.yaml", "Gopkg.toml", "composer.json", "jsonnetfile.json", "Gemfile"})
"""What is beside a `vendor` that a package manager writes; people vendor manifests without one."""
_TEMPLATE_NAME = re.compile(r"\.(ya?ml|json)\.(tftpl|tmpl|tpl|gotmpl|j2|jinja2?|erb|template|in)$")
_MARKS = re.compile(
    r"""^(?:[^#'"\n]|"[^"\n]*"|'[^'\n]*')*?(?:\{\{|\{%|<%|%\{)|^[ \t]*\$\{\w+\}[ \t]*$""", re.MULTILINE
)
"""A mark of a template engine outside of quotes (Go, Jinja, ERB, Terraform), or a line that is a variable."""
_WORD = re.compile(r"^(apiVersion|kind):", re.MULTILINE)
_FLOW = re.compile(r"\s*(\[|\{(?![{%]))")
_FLOW_WORD = re.compile(r"[{,\s]\"?(apiVersion|kind)\"?\s*:")
_APART = re.compile(r"^---", re.MULTILINE)


def reason_of_folder(name: str, beside: Collection[str]) -> str:
    """Return why a subfolder is passed by, from its name and its neighbours; '' if it is checked."""
    if name in _TEST_DATA:
        return TEST_DATA
    is_of_packages = name in _PACKAGES or (name == _VENDOR and not _VENDORING.isdisjoint(beside))
    return VENDORED if is_of_packages else ""


def is_template(name: str) -> bool:
    """Tell whether a file's name says that it becomes YAML or JSON by a template engine."""
    return _TEMPLATE_NAME.search(name) is not None


def reason(text: str, documents: Sequence[Any], *, is_broken: bool) -> str:
    """Return why a file is passed by that the user did not name; '' for one that is checked.

    `documents` are the parsed documents; they are incomplete if the text `is_broken`.
    """
    objects = [data for some in documents for data in _objects(some)]
    if not objects and not (is_broken and _looks_like_one(text, read=bool(documents))):
        return NO_OBJECT
    if is_broken and has_marks(text):
        return TEMPLATE
    return UNNAMED_PATCH if "$patch:" in text and objects and all(map(_is_merged, objects)) else ""


def has_marks(text: str) -> bool:
    """Tell whether a text that is not valid YAML has marks of a template engine."""
    return _MARKS.search(text) is not None


def _looks_like_an_object(data: Any) -> bool:
    """Tell whether a document in a file that the user did not name is meant as a Kubernetes object.

    It has an apiVersion and a kind, at least one of them a text, or one of the two beside `metadata` or
    `spec`.
    """
    if not isinstance(data, dict):
        return False
    known = [data[key] for key in ("apiVersion", "kind") if key in data]
    has_fields = any(isinstance(data.get(key), dict) for key in ("metadata", "spec"))
    return bool(known) and (has_fields or (len(known) > 1 and any(isinstance(word, str) for word in known)))


def holds_object(data: Any) -> bool:
    """Tell whether a document is meant as an object, or as a list of objects, which kubectl refuses."""
    return any(_objects(data))


def _objects(data: Any) -> Iterator[Any]:
    return filter(_looks_like_an_object, data if isinstance(data, list) else (data,))


def _looks_like_one(text: str, *, read: bool) -> bool:
    """Tell whether a text that is not valid YAML has an apiVersion and a kind where an object has them.

    In JSON they may be anywhere, so what was `read` of it decides.
    """
    if read and _FLOW.match(text):
        return False
    word = _FLOW_WORD if _FLOW.match(text) else _WORD
    return any(len(set(word.findall(part))) > 1 for part in _APART.split(text))


def _is_merged(data: Any) -> bool:
    """Tell whether an object has a directive of a strategic merge."""
    return any(isinstance(value, dict) and "$patch" in value for _, value in values_in(data))


_PARTLY = "document of files that are checked"
_NAMED = 5
"""Number of names that a summary gives for each reason."""
_BEHIND_NOUN = re.compile(r"(?= (?:of|that|to|without) )")


def counts(passed: Iterable[PassedBy], objects: Mapping[str, int]) -> list[str]:
    """Return the number of objects by kind, then `1 template (a.j2)` for each reason; few are named."""
    by_reason: dict[str, list[PassedBy]] = defaultdict(list)
    for entry in sorted(passed, key=lambda entry: bool(entry.line)):
        by_reason[_PARTLY if entry.line else entry.reason].append(entry)
    kinds = [
        f"{count:,} {kind}" for kind, count in sorted(objects.items(), key=lambda item: (-item[1], item[0]))
    ]
    listed = ", ".join(kinds[:_NAMED]) + (", ..." if len(kinds) > _NAMED else "")
    of_objects = [f"{counted(sum(objects.values()), 'object')} ({listed})"] if objects else []
    return of_objects + [_count(reason, some) for reason, some in by_reason.items()]


def _count(reason: str, passed: Sequence[PassedBy]) -> str:
    noun, *rest = _BEHIND_NOUN.split(reason, maxsplit=1)
    names = [f"{entry.path}:{entry.line}" if entry.line else entry.path for entry in passed]
    listed = ", ".join(names) if len(names) <= _NAMED else "-o json lists them"
    files = f", {counted(sum(entry.files for entry in passed), 'file')}" if reason == HELM else ""
    return f"{counted(len(passed), noun)}{''.join(rest)} ({listed}{files})"
