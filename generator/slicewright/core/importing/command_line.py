"""The command line of another tool, read by a table of its options, and the TPUWorkload that it means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from slicewright.core.check.filling import names_in
from slicewright.core.check.placeholder import is_unfinished
from slicewright.core.importing.workload import rendered
from slicewright.core.kubernetes.kinds import SLICEWRIGHT_VERSION
from slicewright.core.problem import Problem, did_you_mean, errors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slicewright.core.catalogue.catalogue import Catalogue
    from slicewright.core.intent.cluster import LocalQueue
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.render.repository import Repository

_TRUE = frozenset(["1", "t", "T", "TRUE", "true", "True"])
_FALSE = frozenset(["0", "f", "F", "FALSE", "false", "False"])
"""What Go's strconv.ParseBool reads."""


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
    left_out: str = ""
    """Why it becomes no field."""
    refused: str = ""
    """Why a command that has it cannot be imported."""
    hint: str = ""


class Given:
    """The options of a command with their values, and what is said of them on the way to fields."""

    def __init__(self) -> None:
        self.values: dict[str, list[str]] = {}
        self.problems: list[Problem] = []

    def refuse(self, option: str, why: str, hint: str) -> None:
        """Say why an option cannot be imported."""
        self.problems.append(Problem("IMP030", f"--{option} cannot be imported: {why}", hint))

    def remark(self, option: str, what: str) -> None:
        """Say what the TPUWorkload has otherwise than the command."""
        self.problems.append(Problem("IMP031", f"--{option} {what}", severity="note"))

    def text(self, option: str) -> str:
        """Return the last value, nothing where the option is not there."""
        return self.values[option][-1] if option in self.values else ""

    def on(self, option: str) -> bool:
        """Tell whether a switch is on."""
        return self.text(option) in _TRUE

    def whole(self, option: str, default: int) -> int:
        """Return a number, also as `0x10`."""
        try:
            return int(self.text(option), 0) if option in self.values else default
        except ValueError:
            self.refuse(option, f"'{self.text(option)}' is not a whole number", "write a number")
            return default


class Meant(Struct, frozen=True):
    """What a command means."""

    metadata: Object
    spec: Object
    """The spec of a TPUWorkload, without `clusters`."""


class Tool(Struct, frozen=True):
    """A tool whose commands can be imported."""

    name: str
    programs: tuple[str, ...]
    """What its program is called."""
    verbs: tuple[str, ...]
    options: tuple[Option, ...]
    meant: Callable[[Given, Catalogue, tuple[LocalQueue, ...]], Meant]
    """What options mean, by the catalogue and the LocalQueues of the cluster."""


class ImportedCommand(Struct, frozen=True):
    """A TPUWorkload for a command, with what it says otherwise."""

    document: Object
    remarks: tuple[Problem, ...]


def imported_command(
    words: Sequence[str], tool: Tool, cluster: str, known: Repository
) -> ImportedCommand | tuple[Problem, ...]:
    """Return the TPUWorkload that a command means on a cluster of the repository, or why there is none."""
    given = read(words, tool)
    if errors(given.problems):
        return tuple(given.problems)
    site = known.sites.get(cluster)
    meant = tool.meant(given, known.package.catalogue, site.cluster.local_queues if site else ())
    if errors(given.problems):
        return tuple(given.problems)
    document = {
        "apiVersion": SLICEWRIGHT_VERSION,
        "kind": "TPUWorkload",
        "metadata": meant.metadata,
        "spec": {"clusters": [cluster], **meant.spec},
    }
    _, problems = rendered(document, "JobSet", known)
    return tuple(problems) if errors(problems) else ImportedCommand(document, tuple(given.problems))


def read(words: Sequence[str], tool: Tool) -> Given:
    """Return the options of a command, read as pflag reads them.

    A value follows its option, or an equals sign, or the letter of the option. A switch has a value only
    after an equals sign. Names are not shortened.
    """
    given = Given()
    begin = f"{tool.programs[0]} {' '.join(tool.verbs)}"
    by_name = {option.name: option for option in tool.options}
    by_letter = {option.short: option for option in tool.options if option.short}
    left = list(words)
    if not left or left.pop(0).rpartition("/")[2] not in tool.programs:
        given.problems.append(
            Problem("IMP030", f"the command is not one of {tool.name}", f"begin with {begin}")
        )
        return given
    others: list[str] = []
    while left:
        word = left.pop(0)
        if word == "--":
            others += left
            break
        if word == "-" or not word.startswith("-"):
            others.append(word)
        elif word.startswith("--"):
            name, sign, rest = word[2:].partition("=")
            _take(given, by_name.get(name), name, [rest] if sign else None, left, by_name)
        else:
            value = [word[2:].removeprefix("=")] if word[2:] else None
            _take(given, by_letter.get(word[1]), word[1], value, left, by_letter)
    if tuple(others[: len(tool.verbs)]) != tool.verbs:
        given.problems.append(Problem("IMP030", f"only '{begin}' can be imported", f"begin with {begin}"))
    for word in others[len(tool.verbs) :]:
        hint = "quote a value that has blanks"
        given.problems.append(Problem("IMP030", f"'{word}' is not the value of an option", hint))
    for name in given.values:
        _judge(given, by_name[name])
    return given


def _take(
    given: Given,
    option: Option | None,
    name: str,
    value: list[str] | None,
    left: list[str],
    known: Mapping[str, Option],
) -> None:
    """Take the value of an option, from the words that are left where it has none of its own."""
    if option is None:
        hint = did_you_mean(name, known) or "look at the help of the tool"
        given.problems.append(Problem("IMP030", f"option '{name}' is not known", hint))
        return
    if value is None and option.switch:
        value = ["true"]
    if value is None:
        value = [left.pop(0)] if left else None
    if value is None:
        given.refuse(option.name, "its value is missing", "write the value")
    elif option.switch and value[0] not in _TRUE | _FALSE:
        given.refuse(option.name, f"'{value[0]}' is not true or false", "write true or false")
    else:
        given.values.setdefault(option.name, []).extend(value)


def _judge(given: Given, option: Option) -> None:
    """Say what the table says of an option that a command has."""
    if option.refused:
        given.refuse(option.name, option.refused, option.hint)
    elif option.left_out:
        given.remark(option.name, f"is left out: {option.left_out}")
    elif option.finished and is_unfinished(value := given.text(option.name)):
        names = " ".join(names_in(value))
        hint = f"write the value of {names}" if names else "write the value"
        given.problems.append(Problem("IMP022", f"--{option.name} is '{value}'", hint))
