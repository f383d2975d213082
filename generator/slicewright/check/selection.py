"""Which findings are reported: ids, families and severities that are asked for, and rules that apply here.

GitOps rules apply to what a GitOps tool syncs, as far as the objects of that tool say it. An Application,
ApplicationSet or Flux Kustomization covers the folders that its paths name, wherever they are: the root of
its repository is not known. One without a path covers its own folder.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from slicewright.document.document import values_in
from slicewright.kubernetes.kinds import ARGOCD_GROUP, FLUX_GROUP, RUN_KINDS
from slicewright.kubernetes.problem import SEVERITIES, Problem, Severity, family
from slicewright.objects import ObjectSet, Resource, once

_KUBECTL_TOO = frozenset({"GIT124"})
"""Rules that also matter for kubectl. GIT111 does not: the API server drops the namespace."""
_OF_RUNS = frozenset({"GIT117", "GIT118"})
"""Rules about what an Application does to runs."""
_ARGOCD = frozenset({"Application", "ApplicationSet", "AppProject"})
_FLUX = ".toolkit.fluxcd.io"
_PATTERN = re.compile(r"[^/]*[*?\[{].*")
_MARKS = ("argocd.argoproj.io/", f"kustomize{_FLUX}/", f"helm{_FLUX}/")
"""Prefixes of annotations that a GitOps tool reads."""


def about_gitops(
    problems: Sequence[Problem], resources: Iterable[Resource], ours: Collection[str]
) -> tuple[Problem, ...]:
    """Return the problems without those of GitOps rules if no GitOps tool is seen.

    What is in `ours`, files and folders of our own tree, is synced.
    """
    if not any(needs_gitops(problem.id) for problem in problems):
        return tuple(problems)
    resources = [resource for resource in resources if resource.file not in ours]
    tools = {(tool.file, tool.subject): _covered(tool) for tool in filter(_is_tool, resources)}
    marked = {(resource.file, resource.subject) for resource in filter(_is_marked, resources)}
    covered = set().union(*tools.values())
    runs = {resource.file for resource in resources if resource.kind in RUN_KINDS}

    def is_synced(problem: Problem) -> bool:
        place = (problem.file, problem.object)
        if problem.id in _OF_RUNS and problem.file not in ours:
            return any(_is_below(file, tools.get(place, ())) for file in runs)
        return problem.file in ours or place in tools or place in marked or _is_below(problem.file, covered)

    return tuple(problem for problem in problems if not needs_gitops(problem.id) or is_synced(problem))


def is_gitops_seen(resources: Iterable[Resource]) -> bool:
    """Tell whether `about_gitops` may keep a problem of a GitOps rule, if no file is in our own tree."""
    return any(_is_tool(resource) or _is_marked(resource) for resource in resources)


def synced(tool: Resource, objects: ObjectSet) -> Iterator[Resource]:
    """Return the objects whose folders an object of a GitOps tool covers, wherever they are."""
    covered = _covered(tool)
    return (one for one in objects.widest.all if one is not tool and _is_below(one.file, covered))


def is_application(resource: Resource) -> bool:
    """Tell whether an object is an Application, an ApplicationSet or an AppProject of Argo CD."""
    return resource.group == ARGOCD_GROUP and resource.kind in _ARGOCD


def is_flux_kustomization(resource: Resource) -> bool:
    """Tell whether an object is a Kustomization of Flux."""
    return resource.group == FLUX_GROUP and resource.kind == "Kustomization"


def is_judged_tool_of(resource: Resource, files: Iterable[str]) -> bool:
    """Tell whether an object of a GitOps tool that rules look at covers the folder of one of some files."""
    if not is_application(resource) and not (is_flux_kustomization(resource) and resource.version == "v1"):
        return False
    covered = _covered(resource)
    return any(_is_below(file, covered) for file in files)


@once
def _tools(objects: ObjectSet) -> list[tuple[Resource, set[str]]]:
    return [(resource, _covered(resource)) for resource in objects.all if _is_tool(resource)]


def tools_of(resource: Resource, objects: ObjectSet) -> list[Resource]:
    """Return the objects of GitOps tools that cover the folder of an object, wherever they are."""
    return [tool for tool, folders in _tools(objects.widest) if _is_below(resource.file, folders)]


def needs_gitops(ident: str) -> bool:
    """Tell whether a rule applies only to objects that a GitOps tool syncs."""
    return ident.startswith("GIT1") and ident not in _KUBECTL_TOO


def _is_marked(resource: Resource) -> bool:
    return any(key.startswith(_MARKS) for key in resource.annotations)


def _is_tool(resource: Resource) -> bool:
    return is_application(resource) or resource.group.endswith(_FLUX)


def _covered(tool: Resource) -> set[str]:
    """Return the folders that an object of a GitOps tool names, '' for all; else its own folder.

    `apps/*` and `apps/{{.name}}` name `apps`. Of a path that is all pattern nothing is known.
    """
    known = {
        _PATTERN.sub("", value).strip("/")
        for path, value in values_in(tool.data.get("spec"))
        if path[-1:] == ("path",) and isinstance(value, str)
    }
    return {path.removeprefix("./") for path in known if path} or {tool.file.rpartition("/")[0]}


def _is_below(file: str, folders: Collection[str]) -> bool:
    return any(folder in ("", ".") or f"/{folder}/" in f"/{file}/" for folder in folders)


_UNREAD = ("FILE", "TOOL", "EXT", "YAML", "KUS0")
"""Prefixes of ids that say why something was not checked."""


def names(selector: str, ident: str) -> bool:
    """Tell whether a selector, an id or the letters of a family, names an id."""
    return selector in (ident, family(ident))


def keeps_unchecked(problem: Problem) -> bool:
    """Tell whether something was not checked because of an error."""
    return problem.severity == "error" and problem.id.startswith(_UNREAD)


def is_below(file: str, folders: Iterable[str]) -> bool:
    """Tell whether a file, as reports name it, is one of some folders or below; '' and '.' are this one."""
    return any(
        f"{file}/".startswith(f"{folder}/") if folder not in ("", ".") else not file.startswith(("/", "../"))
        for folder in folders
    )


class Selection(Struct, frozen=True):
    """The problems that the user wants to see.

    `only` hides no error that prevented a check, and no option hides a missing tool.
    """

    disabled: Collection[str] = ()
    only: Collection[str] = ()
    least: Severity = "note"
    gitops: bool = False
    """Whether all that is checked is synced by a GitOps tool."""

    def select(
        self, problems: Sequence[Problem], resources: Iterable[Resource], ours: Collection[str]
    ) -> tuple[Problem, ...]:
        """Return the problems that are reported; `ours` are files and folders of our own tree."""
        apply = problems if self.gitops else about_gitops(problems, resources, ours)
        return tuple(filter(self.names, apply))

    def is_idle(self, resources: Iterable[Resource], ours: Collection[str]) -> Callable[[str], bool]:
        """Return what tells whether nothing is reported of a rule, whatever it finds in some objects."""
        is_seen = self.gitops or bool(ours) or is_gitops_seen(resources)
        return lambda ident: not is_seen and needs_gitops(ident)

    def names(self, problem: Problem) -> bool:
        """Tell whether the user asks for a problem."""
        if SEVERITIES.index(problem.severity) > SEVERITIES.index(self.least):
            return False
        if problem.id == "TOOL001":
            return True
        if self.only and not any(names(selector, problem.id) for selector in self.only):
            return keeps_unchecked(problem)
        return not any(names(selector, problem.id) for selector in self.disabled)


ALL = Selection(gitops=True)
