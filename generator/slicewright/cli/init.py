"""`slicewright init`: make a GitOps repository, or upgrade the bases of one to this version."""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import click
from msgspec.structs import replace

from slicewright.cli import show
from slicewright.cli.checkout import open_checkout, repository_root
from slicewright.cli.command import command
from slicewright.cli.streams import say
from slicewright.kubernetes.fields import mapping, text
from slicewright.kubernetes.problem import Problem, counted, errors, first_of, in_order
from slicewright.kubernetes.types import plain
from slicewright.project import new_files
from slicewright.project.judge import acknowledged
from slicewright.project.new_files import NotPackableError, packed
from slicewright.rendering.folder import SETTINGS
from slicewright.rendering.io import write
from slicewright.rendering.outdated_runs import Outdated
from slicewright.rendering.outdated_runs import outdated as find_outdated
from slicewright.version import __version__

_SHOWN = 5
"""Number of existing files that a message names."""


@command(
    "slicewright init training",
    "slicewright init --keep",
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
    help="What pip installs as slicewright: a requirement, or the path of a wheel. Default: a wheel of this "
    "slicewright, written into vendor/.",
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
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"the folder cannot be created: {error.strerror}"
        hint = "name another folder, or check permissions"
        show.finish(_record(root, ()), [Problem("FILE003", message, hint, file=str(root))], output)
    with write.locked(root):
        _create_locked(root, requirement, output, keep=keep)


def _create_locked(root: Path, requirement: str, output: str, *, keep: bool) -> None:
    names = new_files.renamed(root) if keep else {}
    listing = names.get("requirements.txt", "requirements.txt")
    wheel, warnings = dict[str, bytes](), list[Problem]()
    if not requirement and not os.path.lexists(root / listing):
        requirement, wheel, warnings = _own_requirement(listing)
    contents: dict[str, str | bytes] = {**new_files.files(__version__, requirement, names), **wheel}
    kept = tuple(path for path in sorted({*contents, *names}) if os.path.lexists(root / path))
    problems = [_exists(kept)] if kept and not keep else []
    if keep:
        problems += write.refused(
            root, [path for path in kept if path in contents and not (root / path).is_file()]
        )
    writes = {path: contents[path] for path in sorted(contents) if path not in kept}
    if not problems:
        problems += write.apply(root, writes, ())
    record = _record(root, kept, () if problems else writes)
    problems += _outside_of_ci(root)
    if record["written"]:
        problems += warnings
    if output == "text" and record["written"]:
        which = f": {first_of(kept, _SHOWN)}" if kept else ""
        say(f"{root}: {counted(len(writes), 'file')} written, {len(kept):,} kept{which}")
        for path, name in names.items():
            say(f"{path} is kept, so {name} has what slicewright needs")
        make = f"make -f {names['Makefile']}" if "Makefile" in names else "make"
        first = "" if _git_top(root) else "git init, "
        say(f"next: {first}write your project into clusters/sample.yaml, {make} render, and commit")
        for path in wheel:
            say(f"make installs {path}, also in CI: commit it")
    show.finish(record, in_order(problems), output)


def _replace(root: Path, writes: Mapping[str, str | bytes], deletes: Iterable[str]) -> Iterable[Problem]:
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


def _own_requirement(file: str) -> tuple[str, dict[str, bytes], list[Problem]]:
    """Return the requirement of this slicewright, its wheel by path, and a warning if there is no wheel."""
    try:
        installed = distribution("slicewright")
        name, wheel = packed(installed)
    except PackageNotFoundError:
        return _by_name(file, "slicewright runs without being installed")
    except NotPackableError as error:
        checkout = _checkout(installed)
        return _of_checkout(file, checkout) if checkout else _by_name(file, str(error))
    path = f"{new_files.WHEELS}/{name}"
    return f"./{path}", {path: wheel}, []


def _checkout(installed: Distribution) -> str:
    """Return the URL of the folder that an editable installation runs from; '' for another installation."""
    try:
        recorded = mapping(json.loads(installed.read_text("direct_url.json") or "{}"))  # PEP 610
    except ValueError:
        return ""
    return text(recorded.get("url")) if mapping(recorded.get("dir_info")).get("editable") else ""


def _of_checkout(file: str, url: str) -> tuple[str, dict[str, bytes], list[Problem]]:
    folder = unquote(urlsplit(url).path)
    message = f"make installs slicewright from {folder}, but CI and other machines do not have this checkout"
    hint = f"run make wheel in {folder}, install the wheel from its dist/, and run init with that slicewright"
    return f"slicewright @ {url}", {}, [Problem("INIT003", message, hint, "warning", file)]


def _by_name(file: str, reason: str) -> tuple[str, dict[str, bytes], list[Problem]]:
    requirement = f"slicewright{new_files.specifier(__version__)}"
    message = f"make installs {requirement} from pip's package index, because no wheel was written: {reason}"
    hint = "if your index does not have slicewright, write the path of a wheel into the file"
    return requirement, {}, [Problem("INIT004", message, hint, "warning", file)]


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
    """Return the root of the git repository of a folder, or None."""
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
    with write.locked(root):
        plan = new_files.upgrade(root, __version__)
        kept = tuple(problem.file for problem in plan.edited)
        problems = [replace(problem, severity="warning") if keep else problem for problem in plan.edited]
        if not errors(problems):
            problems += _replace(root, plan.writes, plan.deletes)
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
