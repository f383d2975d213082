"""`slicewright init`: make a GitOps repository, or bring the bases of one to this version."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from slicewright.cli import show
from slicewright.cli.command import command
from slicewright.cli.repository import open_checkout, repository_root
from slicewright.cli.streams import say
from slicewright.core.problem import Problem, counted, errors, first_of, in_order
from slicewright.core.record import plain
from slicewright.core.render.outdated import Outdated
from slicewright.core.render.outdated import outdated as find_outdated
from slicewright.core.run.folder import SETTINGS
from slicewright.initial import files
from slicewright.version import __version__
from slicewright.workspace import write
from slicewright.workspace.judge import acknowledged

_SHOWN = 5
"""Files that are named where many are in the way."""


@command(
    "slicewright init training",
    "slicewright init --slicewright-requirement ./wheels/slicewright-0.1.0-py3-none-any.whl",
    "slicewright init --upgrade",
)
@click.argument("target", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--upgrade", is_flag=True, help="Upgrade the existing bases and schemas to this version.")
@click.option("--keep", is_flag=True, help="Keep existing and edited files, and write the rest.")
@click.option(
    "--slicewright-requirement",
    "requirement",
    metavar="REQ",
    default="",
    help="What pip installs as slicewright: a requirement, or the path of a wheel.",
)
def init(target: Path, upgrade: bool, keep: bool, requirement: str, output: str) -> None:
    """Create a GitOps repository, or upgrade one.

    The command writes bases, schemas, a sample cluster, a sample workload, a Makefile, CI for GitHub and
    GitLab, and the settings of slicewright, editors and git. DIR is the folder; the default is the current
    one. It overwrites no file: if one of the files exists, it writes nothing.

    --upgrade changes only bases/ and schemas/. An edited file there stops the upgrade. Frozen runs do not
    change.
    """
    if upgrade and requirement:
        raise click.UsageError("--slicewright-requirement is for a new repository: edit requirements.txt")
    if not requirement.isprintable() or requirement.startswith("-"):
        raise click.UsageError("--slicewright-requirement is one line: a requirement, or the path of a wheel")
    _check_requirement(requirement, target)
    if upgrade:
        _upgrade(repository_root(target), output, keep=keep)
    else:
        _create(target, requirement, output, keep=keep)


def _create(root: Path, requirement: str, output: str, *, keep: bool) -> None:
    texts = files.files(__version__, requirement)
    kept = tuple(path for path in sorted(texts) if (root / path).is_symlink() or (root / path).exists())
    problems = [_exists(kept)] if kept and not keep else []
    writes = {path: text for path, text in sorted(texts.items()) if path not in kept}
    if not problems:
        problems += _write(root, writes)
    record = _record(root, kept, () if problems else writes)
    problems += _outside_of_ci(root)
    if output == "text" and record["written"]:
        say(f"{root}: {counted(len(writes), 'file')} written, {len(kept):,} kept")
        first = "" if _git_top(root) else "git init, "
        say(f"next: {first}write your project into clusters/sample.yaml, make render, and commit")
        if not requirement:
            for line in _origin(f"slicewright{files.specifier(__version__)}"):
                say(line)
    show.finish(record, in_order(problems), output)


def _write(root: Path, writes: dict[str, str], deletes: Iterable[str] = ()) -> Iterable[Problem]:
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"the folder cannot be created: {error.strerror}"
        return [Problem("FILE003", message, "name another folder, or check permissions", file=str(root))]
    with write.locked(root):
        refused = write.apply(root, writes, ())
        for path in () if refused else deletes:
            (root / path).unlink(missing_ok=True)
            with suppress(OSError):  # a folder that is not empty stays
                for folder in Path(path).parents:
                    (root / folder).rmdir()
    return refused


def _check_requirement(requirement: str, root: Path) -> None:
    """Refuse the path of a wheel or a folder that does not exist: else make fails when it installs."""
    path = requirement.partition(";")[0].strip().partition("[")[0]
    is_path = path.startswith(("./", "../", "/")) or (path.endswith(".whl") and "://" not in path)
    target = Path(os.path.normpath(root / path))  # below a folder that does not exist yet, `..` leads nowhere
    if is_path and not target.exists():
        message = f"--slicewright-requirement {path}: there is no {target}"
        hint = "a path is relative to the new repository: make the folder, and copy the wheel there first"
        raise show.Refused("USE001", message, hint)


def _origin(required: str) -> Iterator[str]:
    """Say what make installs, and what to do if no index has it: this is likely if it came from a file."""
    try:
        recorded = distribution("slicewright").read_text("direct_url.json")  # PEP 610
    except PackageNotFoundError:
        recorded = None
    if recorded is None:
        yield f"make installs {required}; to install a wheel, write its path into requirements.txt"
        return
    yield f"make installs {required} from an index, but this slicewright was installed from a file"
    yield "if the index does not have it, choose one:"
    yield "  copy the wheel into wheels/, and write ./wheels/NAME.whl into requirements.txt"
    yield "  use the installed program: make SLICEWRIGHT=slicewright"


def _exists(paths: tuple[str, ...]) -> Problem:
    """Return one problem for all files that exist: what to do is the same."""
    hint = "init --keep keeps existing files and writes the rest"
    file = paths[0]
    if SETTINGS in paths:
        file, hint = SETTINGS, "this is a repository of slicewright already: init --upgrade"
    message = "the file already exists"
    others = [path for path in paths if path != file]
    if others:
        message += f", and so {'does' if len(others) == 1 else 'do'} {first_of(others, _SHOWN)}"
    return Problem("FILE007", message, hint, file=file)


def _git_top(root: Path) -> Path | None:
    """Return the top of the git repository that a folder lies in; None where it lies in none."""
    resolved = root.resolve()
    return next((up for up in (resolved, *resolved.parents) if (up / ".git").exists()), None)


def _outside_of_ci(root: Path) -> Iterable[Problem]:
    """Yield a warning below the top of a git repository: CI reads its files at the top only."""
    resolved = root.resolve()
    top = _git_top(root) or resolved
    if top != resolved:
        message = f"CI looks for its files in {top}, but these are in a subfolder"
        hint = "move .github/, .gitlab-ci.yml, .pre-commit-config.yaml and CODEOWNERS up; run make -C there"
        yield Problem("INIT002", message, hint, severity="warning")


def _upgrade(root: Path, output: str, *, keep: bool) -> None:
    open_checkout(root)  # another version may not render it: exit 2
    plan = files.upgrade(root, __version__)
    kept = tuple(problem.file for problem in plan.edited)
    problems = [replace(problem, severity="warning") if keep else problem for problem in plan.edited]
    if not errors(problems):
        problems += _write(root, plan.writes, plan.deletes)
    record = _record(root, kept)
    if not errors(problems):
        checkout = open_checkout(root)
        runs, unrendered = find_outdated(checkout.repository, checkout.existing)
        record = _record(root, kept, plan.writes, plan.deletes, runs)
        problems += acknowledged(checkout, unrendered)
        if output == "text":
            _say(record, runs)
    show.finish(record, in_order(problems), output)


def _record(
    root: Path,
    kept: Iterable[str],
    writes: Iterable[str] = (),
    deletes: Iterable[str] = (),
    outdated: Iterable[Outdated] = (),
) -> dict[str, Any]:
    files = {"written": sorted(writes), "deleted": list(deletes), "kept": list(kept)}
    return {"folder": str(root), **files, "outdated": plain(list(outdated))}


def _say(record: dict[str, Any], runs: Iterable[Outdated]) -> None:
    for path in record["written"]:
        say(f"  ~ {path}")
    for path in record["deleted"]:
        say(f"  - {path}")
    files = counted(len(record["written"]), "file")
    changed = f"{files} written, {len(record['deleted']):,} deleted, {len(record['kept']):,} kept"
    say(f"bases and schemas are those of slicewright {__version__}: {changed}")
    for run in runs:
        say(f"  {run.cluster}/{run.workload}: {run.name} would render differently today, and stays")
    if record["outdated"]:
        say("slicewright outdated shows the difference; slicewright rerun NAME starts the run again with it")
    if record["written"] or record["deleted"]:
        say("next: make render, for what is Fixed follows its base, and make diff")
