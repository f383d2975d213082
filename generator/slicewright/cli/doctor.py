"""`slicewright doctor`: what is missing or wrong on this machine, and what mends it."""

import sys
from collections import Counter
from collections.abc import Iterable

from slicewright.cli import show
from slicewright.cli.command import command
from slicewright.cli.streams import say
from slicewright.core.diagnosis import Check
from slicewright.core.record import plain
from slicewright.machine import examine
from slicewright.version import __version__


@command("slicewright doctor", "slicewright doctor -o json")
def doctor(output: str) -> None:
    """Check this machine, and say how to fix each problem.

    It checks Python, packages, programs, the cache, git, the repository, the kubeconfig and the needs of
    rehearsals. It changes nothing and uses no network. `missing` items are needed only by some commands;
    `wrong` items exist but cannot work. The exit code is 1 if anything is wrong.
    """
    checks = examine()
    if output == "json":
        show.as_json({"slicewright": __version__, "checks": plain(checks)})
    else:
        _say(checks)
    sys.exit(1 if any(check.state == "wrong" for check in checks) else 0)


def _say(checks: list[Check]) -> None:
    rows = ((check.state, _subject(check), check.detail) for check in checks)
    show.table(("STATE", "WHAT", "FOUND"), rows)
    if mends := dict.fromkeys(check.mend for check in checks if check.mend):
        say("\nto fix it:")
        show.table(("COMMAND", "FOR"), ((mend, ", ".join(_names(checks, mend))) for mend in mends), "  ")
    states = Counter(check.state for check in checks)
    say(f"\n{states['ok']} ok, {states['missing']} missing, {states['wrong']} wrong")


def _names(checks: Iterable[Check], mend: str) -> list[str]:
    return [
        check.name.split()[0] if check.topic in ("program", "package") else _subject(check)
        for check in checks
        if check.mend == mend
    ]


def _subject(check: Check) -> str:
    return f"{check.topic} {check.name}".rstrip()
