"""Look at this machine for `doctor`: read only, without network, and without a request to a cluster."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution, version
from itertools import islice
from pathlib import Path

from packaging.requirements import Requirement

from slicewright import gitrepo
from slicewright.binaries.build import available
from slicewright.binaries.find import WHEELS, cache_root, locate, which
from slicewright.core import diagnosis
from slicewright.core.diagnosis import Check
from slicewright.core.document.read import read_documents
from slicewright.core.kubernetes.read import mapping, text
from slicewright.core.problem import Problem
from slicewright.core.run.folder import SETTINGS
from slicewright.home import NoHomeError, home
from slicewright.initial import files as initial
from slicewright.testbed import process_group, supervisor
from slicewright.version import __version__
from slicewright.workspace.repository_reader import NoRepositoryError, find_root, satisfies
from slicewright.workspace.text_file import read_file

_MOST_ENTRIES = 50_000
"""Files of the cache that are counted: a machine that has more must not wait for them."""


def examine() -> list[Check]:
    """Return all checks; what cannot be looked at is a check as well, and does not stop the others."""
    checks: list[Check] = []
    for topic, look in _LOOKS.items():
        try:
            checks += look()
        except (OSError, ValueError) as error:  # a folder that is closed to us, or a file that is not ours
            checks.append(Check(topic, "", "wrong", f"cannot be examined: {error}"))
        except NoHomeError:
            detail = "the user has no home folder, and HOME is not set"
            checks.append(Check(topic, "", "wrong", detail, diagnosis.SET_CACHE))
    return checks


def _python() -> Iterator[Check]:
    yield Check("python", "", "ok", f"{sys.version.partition(' ')[0]}, {sys.executable}")
    yield Check("slicewright", "", "ok", f"{__version__}, {Path(__file__).parent}")


def _packages() -> Iterable[Check]:
    try:
        lines = distribution("slicewright").requires or []
    except PackageNotFoundError:
        return [Check("package", "slicewright", "missing", "not installed, so its packages are not compared")]
    # What wheels of programs hold is said of each program.
    requires = [line for line in lines if not line.replace("-", "_").startswith(WHEELS)]
    installed = {}
    for line in requires:
        name = Requirement(line).name
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = ""
    return diagnosis.packages(requires, installed, sys.executable)


def _programs() -> Iterator[Check]:
    for tool in available():
        program = locate(tool, exact=False)
        if not isinstance(program, Problem):
            title = f"{tool.name} {program.version or tool.version}"
            yield Check("program", title, "ok", f"{program.path} ({program.origin})")
        elif program.id == "TOOL001":
            mend = f"slicewright tools build{f' {tool.name}' if tool.asked else ''}"
            yield Check("program", tool.title, "missing", program.message, mend)
        else:
            yield Check("program", tool.title, "wrong", program.message, f"unset {tool.variable}")


def _cache() -> Iterator[Check]:
    root = cache_root(os.environ)
    sizes = list(islice(_sizes(root), _MOST_ENTRIES))
    nearest = _existing(root)
    writable = os.access(nearest, os.W_OK | os.X_OK) and nearest.is_dir()
    yield diagnosis.cache(str(root), writable=writable, entries=len(sizes), size=sum(sizes))


def _sizes(folder: Path) -> Iterator[int]:
    """Yield the size of each file below a folder, which may change meanwhile."""
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                yield Path(base, name).lstat().st_size
            except FileNotFoundError:
                continue


def _existing(path: Path) -> Path:
    """Return the nearest file or folder that is there, at a path or above it."""
    return next(up for up in (path, *path.parents) if up.exists())


def _git() -> Iterator[Check]:
    program = which("git")
    if program is None:
        yield Check("git", "program", "missing", "diff and render --check --since need it", "install git")
        return
    yield Check("git", "program", "ok", program)
    folder = Path.cwd()
    try:
        gitrepo.resolve(folder, "HEAD")
    except gitrepo.NoGitRepositoryError:
        yield Check("git", "repository", "missing", f"{folder} is not in a git repository", "git init")
    except gitrepo.UnknownRevisionError:
        yield Check("git", "repository", "missing", "the repository has no commit", "git commit")
    except gitrepo.GitError as error:
        yield diagnosis.git(error.problem, str(folder))
    else:
        yield Check("git", "repository", "ok", "has commits")


def _repository() -> Iterator[Check]:
    try:
        root = find_root(Path())
    except NoRepositoryError as error:
        yield Check("repository", "", "missing", str(error), "slicewright init")
        return
    settings = read_file(root / SETTINGS, SETTINGS)
    documents, problems = (
        ((), (settings,)) if isinstance(settings, Problem) else read_documents(settings, SETTINGS)
    )
    if problems:
        detail = problems[0].text().partition("\n")[0]
        yield Check("repository", str(root), "wrong", detail, "slicewright render --check")
        return
    requires = text(mapping(documents[0].data).get("requires")) if documents else ""
    satisfied = not requires or satisfies(__version__, requires)
    yield diagnosis.repository(str(root), requires, __version__, satisfied=satisfied)
    for folder in initial.FOLDERS:
        if (root / folder).is_dir():
            yield diagnosis.copies(f"{folder}/", initial.recorded_version(root / folder), __version__)


def _kubectl() -> Iterator[Check]:
    variable = os.environ.get("KUBECONFIG", "") or str(home(os.environ) / ".kube" / "config")
    paths = filter(None, variable.split(os.pathsep))  # kubectl ignores empty entries too
    yield diagnosis.context([(path, _content(path)) for path in paths if Path(path).exists()])


def _content(path: str) -> object:
    """Return what a YAML file holds, or why it is not read."""
    content = read_file(path, path)
    if isinstance(content, Problem):
        return content
    documents, problems = read_documents(content, path)
    return problems[0] if problems else documents[0].data if documents else {}


def _machine() -> Iterator[Check]:
    yield Check("machine", "processors", "ok", str(os.cpu_count() or "unknown"))
    yield diagnosis.memory(_available())
    place = _existing(cache_root(os.environ))
    yield diagnosis.space(str(place), shutil.disk_usage(place).free)


def _available() -> int | None:
    """Return the bytes that new processes can have: of Linux what it says, elsewhere all there is."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _terminal() -> Iterator[Check]:
    yield diagnosis.encoding(sys.getfilesystemencoding())
    columns = f"a terminal of {shutil.get_terminal_size().columns} columns"
    yield Check("terminal", "output", "ok", columns if sys.stdout.isatty() else "stdout is not a terminal")


def _clusters() -> Iterator[Check]:
    root = process_group.clusters_root()
    running = {entry.name: entry.status for entry in process_group.running(root)}
    folders = sorted(entry.name for entry in root.iterdir() if entry.is_dir()) if root.is_dir() else []
    for name in folders:
        if name != supervisor.SHELF:
            yield diagnosis.cluster(name, running.get(name, "left"))


_LOOKS = {
    "python": _python,
    "package": _packages,
    "program": _programs,
    "cache": _cache,
    "git": _git,
    "repository": _repository,
    "kubectl": _kubectl,
    "machine": _machine,
    "terminal": _terminal,
    "test cluster": _clusters,
}
