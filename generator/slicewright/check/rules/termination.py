"""Rules of the end of programs: whether SIGTERM reaches a program that a shell starts."""

import re
from itertools import pairwise
from typing import Any

from slicewright.kubernetes.fields import at, number, words
from slicewright.kubernetes.kinds import POD_KINDS
from slicewright.kubernetes.labels import SPOT, TPU
from slicewright.kubernetes.problem import Path
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_SHELL = re.compile(r"(?:.*/)?(?:bash|sh|dash|ash)")
_READS_SCRIPT = re.compile(r"-[a-z]*c")
_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|[$<>]\(+[^()]*\)""")
_HANDLED = re.compile(r"\b(?:exec|trap|tini|dumb-init)\b")
_OWN = "cd|done|echo|esac|exit|export|false|fi|printf|return|set|true|unset|wait"
_CHILD = re.compile(rf"""[^"'`<>|&]*[<>|&][^"'`]*|\s*(?:[(:\[}}]|(?:{_OWN})\b)[^"'`]*""")
"""A command for which bash stays as its parent: with a pipe or a redirection, or a builtin."""
_GRACE = 30
"""The default seconds between SIGTERM and SIGKILL."""


def _script(container: dict[str, Any]) -> tuple[Path, str]:
    """Return the script that a shell reads from command and args, and its place in the container."""
    lists = ((key, words(container.get(key))) for key in ("command", "args"))
    listed = [((key, index), word) for key, of_key in lists for index, word in of_key]
    is_shell = listed and _SHELL.fullmatch(listed[0][1])
    scripts = (script for (_, option), script in pairwise(listed) if _READS_SCRIPT.fullmatch(option))
    return next(scripts, ((), "")) if is_shell else ((), "")


def _stays(script: str) -> bool:
    """Tell whether the shell surely waits for its last command; bash replaces itself with a simple one."""
    lines = (line.strip("; ") for line in script.replace("\\\n", " ").splitlines())
    last = [line for line in lines if line and not line.startswith("#")][-1:]
    command = re.split("&&|;", _QUOTED.sub("_", "".join(last)))[-1]
    return bool(_CHILD.fullmatch(command)) and not _HANDLED.search(script)


@rule("TPU179", POD_KINDS, "note")
def _no_signal(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        grace = number(pods.spec.get("terminationGracePeriodSeconds")) or _GRACE
        if grace <= _GRACE and SPOT not in pods.selector:
            continue
        for path, container in pods.containers:
            place, script = _script(container)
            if at(container, "resources", "limits", TPU) is not None and _stays(script):
                message = "the shell gets SIGTERM and does not pass it on to the program"
                yield Finding((*path, *place), message)
