"""The findings that no semantic rule makes, described as rules are: schemas, list maps, CEL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.check.model import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.check.model import ObjectSet, Resource
    from slicewright.core.problem import Severity


def _elsewhere(_resource: Resource, _objects: ObjectSet) -> Iterator[Finding]:
    """Find nothing: the engine makes these findings itself."""
    yield from ()


def _note(ident: str, title: str, why: str, hint: str, severity: Severity = "error") -> Rule:
    return Rule(ident, severity, title, why, hint, frozenset(), _elsewhere)


_REFUSED = "The API server refuses the object when it validates strictly, which kubectl and Argo CD ask for."
BUILT_IN = (
    _note(
        "SCHEMA001",
        "A kind has no schema",
        "Without one nothing of the object is checked, and a check that checks nothing must not be green.",
        "convert the kind's CRD with slicewright schema and name the folder with --schema, or name the kind "
        "with --skip-kind",
    ),
    _note(
        "SCHEMA002",
        "A document is not a Kubernetes object",
        "It has no apiVersion or no kind, so that nobody can say what it is.",
        "add them, or leave the file out with --exclude",
    ),
    _note("SCHEMA003", "A value has the wrong type", _REFUSED, "write a value of the type that is named"),
    _note(
        "SCHEMA004",
        "A field is unknown",
        f"{_REFUSED} Without strict validation it drops the field silently.",
        "look at the spelling and at the indentation",
    ),
    _note("SCHEMA005", "A required field is missing", _REFUSED, "add the field"),
    _note("SCHEMA006", "A value is not one of its choices", _REFUSED, "write one of the choices"),
    _note("SCHEMA007", "A value has the wrong form", _REFUSED, "look at pattern, range or length"),
    _note("SCHEMA008", "Fields that exclude each other are set together", _REFUSED, "keep one of them"),
    _note(
        "SCHEMA009",
        "The version of a kind is deprecated",
        "The API server warns, and a later release of the controller does not serve the version any more.",
        "write the version that the warning names",
        "warning",
    ),
    _note(
        "SCHEMA010",
        "A schema file cannot be used",
        "A schema that does not compile checks nothing.",
        "convert the CRD anew, or leave the file out",
    ),
    _note(
        "SCHEMA011",
        "What is to be converted is not a CRD",
        "slicewright schema reads CustomResourceDefinitions of apiextensions.k8s.io/v1.",
        "name the file of the CRD",
    ),
    _note(
        "SCHEMA012",
        "A CEL rule of a CRD is not evaluated",
        "slicewright evaluates the CEL rules of the CRDs that come with it. Of another CRD the API server "
        "may refuse an object in which nothing is wrong here.",
        "ask the API server: kubectl apply --dry-run=server; or give the reason for leaving it out",
        "warning",
    ),
    _note(
        "MAP001",
        "Two elements of a list have the same key",
        "The API server keeps such lists as maps. For custom resources it refuses two elements with one key; "
        "for some lists of built-in kinds it takes them (a warning), but server-side apply fails on them.",
        "remove one of the two, or rename it",
    ),
    _note(
        "CEL001",
        "A rule of a CRD is broken",
        "The API server evaluates the CEL rules of a CRD at every write and refuses what breaks one. Rules "
        "about changes are not evaluated here: a file has no earlier self.",
        "change the fields that the message names",
    ),
    _note(
        "EXT001",
        "Rules of another package cannot be used",
        "An installed package names rules by an entry point of the group slicewright.rules. They cannot be "
        "imported, or are not a tuple of rules, so what they would check is not checked.",
        "repair the package, or uninstall it",
    ),
    _note(
        "EXT002",
        "A rule of another package has an id that may be another rule's",
        "An id without a hyphen may be one of slicewright's, now or in a later release, and one that two "
        "packages use means two things.",
        "write letters, a hyphen and a number, such as ACME-101",
    ),
    _note(
        "FILE001",
        "A file cannot be read",
        "A file or folder that cannot be read is not checked.",
        "check the path and its permissions",
    ),
    _note(
        "FILE002", "A file is not UTF-8", "YAML is UTF-8 for kubectl and for us.", "save the file as UTF-8"
    ),
    _note(
        "FILE005",
        "A file is too large for a manifest",
        "A file of many megabytes is not a manifest, and a parser would fill the memory with it.",
        "leave the file out with --exclude, or split it",
    ),
    _note(
        "FILE006",
        "Nothing to check",
        "A check that looked at nothing must not be green.",
        "look at the path, and at what --exclude leaves out",
    ),
    _note(
        "KUS010",
        "A kustomization needs the network",
        "A remote base changes without a commit here, and validate asks no network.",
        "vendor the base into the repository",
    ),
    _note(
        "KUS011",
        "A kustomization does not build",
        "kustomize itself refuses the folder, and so will Argo CD or Flux.",
        "run kustomize build on the folder",
    ),
    _note(
        "KUS012",
        "A component is not checked by itself",
        "Alone a Component has no objects to change.",
        "name a kustomization that includes it",
    ),
    _note(
        "KUS020",
        "A build makes the configuration of a transformer or generator",
        "Where a build makes them, nobody can tell beforehand what kustomize would fetch.",
        "name the files that hold it, or a kustomization with nothing but resources",
    ),
)
