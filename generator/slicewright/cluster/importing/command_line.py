"""The command line of another tool, read by a table of its options, and the TPUWorkload that it means."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from slicewright.catalogue.catalogue import Catalogue
from slicewright.check.filling import names_in
from slicewright.cluster.importing.flags import FALSE, TRUE, Flags
from slicewright.cluster.importing.workload import keep_failures, rendered
from slicewright.document.document import is_unfinished
from slicewright.intent.tpucluster import Cluster, LocalQueue
from slicewright.kubernetes.kinds import SLICEWRIGHT_VERSION
from slicewright.kubernetes.problem import Problem, did_you_mean, errors
from slicewright.kubernetes.types import Object
from slicewright.rendering.repository import Repository

_PYTHON = re.compile(r"(.*/)?python[0-9.]*")
_VALUE = re.compile(r"-[0-9.]+|.* .*", re.DOTALL)
"""Values that begin with a hyphen: argparse does not read them as options."""
ABOUT_MACHINE = "it is about the machine that submits"
"""Why an option is left out."""


class Option(Struct, frozen=True):
    """An option of a tool, and what becomes of its values."""

    name: str
    """The long name, without hyphens."""
    becomes: str = ""
    """The field of a TPUWorkload."""
    short: str = ""
    """Its letter; a switch has none."""
    switch: bool = False
    """Whether it needs no value."""
    finished: bool = False
    """Whether its value cannot hold a placeholder."""
    only: str = ""
    """The one command of the tool that has it; empty for all."""
    left_out: str = ""
    """Why it is not imported as a field."""
    refused: str = ""
    """Why a command that has it cannot be imported."""
    hint: str = ""


class Tool(Struct, frozen=True):
    """A tool whose commands can be imported."""

    name: str
    programs: tuple[str, ...]
    """Names of its program."""
    verbs: tuple[tuple[str, ...], ...]
    """The commands that start a run."""
    options: tuple[Option, ...]
    meant: Callable[[Flags, Catalogue, tuple[LocalQueue, ...]], tuple[Object, Object]]
    """Metadata and spec, without `clusters`, of the TPUWorkload that options mean on a cluster."""
    by_argparse: bool = False
    """Whether options are read as Python's argparse reads them, and not as pflag of Go."""

    @property
    def begins(self) -> str:
        """How its commands begin."""
        return " or ".join(f"'{self.programs[0]} {' '.join(verb)}'" for verb in self.verbs)


class ImportedCommand(Struct, frozen=True):
    """The TPUWorkload for a command, and notes on their differences."""

    document: Object
    remarks: tuple[Problem, ...]


def imported_command(
    words: Sequence[str],
    tool: Tool,
    cluster: str,
    known: Repository,
    chosen: Mapping[str, str] | None = None,
) -> ImportedCommand | tuple[Problem, ...]:
    """Return the TPUWorkload for a command on a cluster of the repository, or why there is none.

    `chosen` overrides values of the command: `queue`, `namespace`, `head-pool`.
    """
    flags = read(words, tool)
    flags.chosen = chosen or {}
    if errors(flags.problems):
        return tuple(flags.problems)
    site = known.sites.get(cluster)
    queues: tuple[LocalQueue, ...] = ()
    if site is not None:
        queues = site.cluster.local_queues
    metadata, spec = tool.meant(flags, known.package.catalogue, queues)
    if errors(flags.problems):
        return tuple(flags.problems)
    if site is not None:
        _to_queue(flags, spec, site.cluster)
    document = {
        "apiVersion": SLICEWRIGHT_VERSION,
        "kind": "TPUWorkload",
        "metadata": metadata,
        "spec": {"clusters": [cluster], **spec},
    }
    keep_failures(document, known)
    _, problems = rendered(document, "JobSet", known)
    return problems if errors(problems) else ImportedCommand(document, tuple(flags.problems))


def _to_queue(flags: Flags, spec: Object, cluster: Cluster) -> None:
    """Make the priority of pods that of their Workload if a cluster has the class for queues only."""
    head = spec.get("pathways", {}).get("head", {})
    for holder in (spec, head):
        own = holder.get("podTemplate", {}).get("spec", {})
        name = own.get("priorityClassName", "")
        if name in cluster.priority_classes and not cluster.has_pod_priority(name):
            del own["priorityClassName"]
            if not own:
                del holder["podTemplate"]
            if "workloadPriorityClassName" not in spec:
                why = f"cluster '{cluster.name}' has no PriorityClass '{name}', only a WorkloadPriorityClass"
                flags.remark("priority", f"becomes workloadPriorityClassName: {why}")
                spec["workloadPriorityClassName"] = name


def read(words: Sequence[str], tool: Tool) -> Flags:
    """Return the options of a command, read as pflag or argparse reads them.

    pflag: a value follows its option, or an equals sign, or the letter of the option. A switch has a value
    only after an equals sign. Names are not shortened.
    argparse: names can be shortened, `--no-x` turns a switch off, and a value begins with a hyphen only if
    it has a blank or is a negative number.
    """
    flags = Flags()
    left = list(words)
    if tool.by_argparse and left and _PYTHON.fullmatch(left[0]):
        left.pop(0)
    if not left or left.pop(0).rpartition("/")[2] not in tool.programs:
        flags.stop(f"the command is not one of {tool.name}", f"begin with {tool.begins}")
        return flags
    verb = next((verb for verb in tool.verbs if {*verb} <= {*left}), ("",))
    options = [option for option in tool.options if option.only in ("", verb[-1])]
    others = _by_argparse(flags, left, options) if tool.by_argparse else _by_pflag(flags, left, options)
    if tuple(others[: len(verb)]) != verb:
        flags.stop(f"only {tool.begins} can be imported", f"begin with {tool.begins}")
        return flags
    flags.verb = verb[-1]
    for word in () if flags.problems else others[len(verb) :]:  # it may be the value of an unknown option
        flags.stop(f"'{word}' does not belong to an option", "quote a value that has spaces")
    by_name = {option.name: option for option in tool.options}
    for name in flags.values:
        _judge(flags, by_name[name])
    return flags


def _by_pflag(flags: Flags, left: list[str], options: Sequence[Option]) -> list[str]:
    """Take the options of a command; return the other words."""
    by_name = {option.name: option for option in options}
    by_letter = {option.short: option for option in options if option.short}
    others: list[str] = []
    while left:
        word = left.pop(0)
        if word == "--":
            return others + left
        if word == "-" or not word.startswith("-"):
            others.append(word)
        elif word.startswith("--"):
            name, sign, rest = word[2:].partition("=")
            _take(flags, by_name.get(name), name, [rest] if sign else None, left, by_name)
        else:
            value = [word[2:].removeprefix("=")] if word[2:] else None
            _take(flags, by_letter.get(word[1]), word[1], value, left, by_letter)
    return others


def _by_argparse(flags: Flags, left: list[str], options: Sequence[Option]) -> list[str]:
    """Take the options of a command; return the other words."""
    known = {f"--{option.name}": option for option in options}
    known |= {f"-{option.short}": option for option in options if option.short}
    negated = {f"--no-{option.name}": option for option in options if option.switch}
    others: list[str] = []
    while left:
        word = left.pop(0)
        if not word.startswith("-"):
            others.append(word)
            continue
        name, sign, rest = word.partition("=")
        longer = [option for option in (*known, *negated) if option.startswith(name)]
        meant = name if name in longer else longer[0] if len(longer) == 1 else ""
        if len(longer) > 1 and not meant:
            flags.stop(f"'{name}' can mean several options", f"write one of: {', '.join(longer)}")
        elif meant in negated:
            flags.values[negated[meant].name] = ["false"]
        else:
            is_option = bool(left) and left[0].startswith("-") and not _VALUE.fullmatch(left[0])
            names = [option.name for option in options]
            value = [rest] if sign else None
            _take(flags, known.get(meant), name.lstrip("-"), value, [] if is_option else left, names)
    return others


def _take(
    flags: Flags,
    option: Option | None,
    name: str,
    value: list[str] | None,
    left: list[str],
    known: Iterable[str],
) -> None:
    """Take the value of an option; without `=`, it is the next word."""
    if option is None:
        flags.stop(
            f"unknown option '{name}'",
            did_you_mean(name, known) or "correct its name, or leave it out",
        )
        return
    if value is None and (option.switch or left):
        value = ["true" if option.switch else left.pop(0)]
    if value is None:
        flags.refuse(option.name, "its value is missing", "write the value")
    elif option.switch and value[0] not in TRUE | FALSE:
        flags.refuse(option.name, f"'{value[0]}' is not true or false", "write true or false")
    else:
        flags.values.setdefault(option.name, []).extend(value)


def _judge(flags: Flags, option: Option) -> None:
    """Add the problem or the note that the table has for an option."""
    if option.refused:
        flags.refuse(option.name, option.refused, option.hint)
    elif option.left_out:
        flags.remark(option.name, f"is left out: {option.left_out}")
    elif option.finished and is_unfinished(value := flags.text(option.name)):
        names = " ".join(names_in(value))
        hint = f"write the value of {names}" if names else "write the value"
        flags.problems.append(Problem("IMP022", f"--{option.name} is '{value}'", hint))
