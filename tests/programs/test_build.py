"""`slicewright tools build` builds what is missing, once, and never leaves half a program."""

import io
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from slicewright.kubernetes.problem import Problem
from slicewright.programs import build
from slicewright.programs.build import build_all
from slicewright.programs.find import cached, version_of
from slicewright.programs.pins import Tool

from .conftest import Script

MAIN = """package main

import "fmt"

var version = "none"

func main() { fmt.Println("tiny", version) }
"""

MACH_O_ARM64 = bytes.fromhex("cffaedfe0c000001")
"""How a 64-bit Mach-O file for arm64 begins, see <mach-o/loader.h>."""

FAKE_GO = r"""
if [ "$1" = version ]; then echo go version go1.99.0 linux/amd64; exit; fi
while [ "$1" != -o ]; do shift; done
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a tools folder with one wrapper module, which holds its program itself."""
    module = tmp_path / "tools" / "tiny"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("module example.test/tiny\n\ngo 1.24\n", encoding="utf-8")
    (module / "main.go").write_text(MAIN, encoding="utf-8")
    return module.parent


def fake_go(script: Script, environ: Mapping[str, str], body: str) -> dict[str, str]:
    """Return an environment in which Go is a script that knows `version` and does the rest with $2."""
    go = script("fake/go", FAKE_GO + body)
    return {**environ, "PATH": f"{go.parent}:/usr/bin:/bin"}


def writes(version: str) -> str:
    """Return shell lines that do what `go build -o FOLDER` does: FOLDER is $2."""
    return f"""printf '#!/bin/sh\\necho tiny {version}\\n' > "$2/tiny"; chmod +x "$2/tiny" """


def files(environ: Mapping[str, str]) -> list[str]:
    """Return the names of all files in the cache."""
    cache = Path(environ["SLICEWRIGHT_CACHE"])
    return sorted(path.name for path in cache.rglob("*") if path.is_file())


def timeless(text: str) -> str:
    """Return progress text without its times."""
    return re.sub(r"done in .*", "done in T", text)


def test_two_checkouts_at_once(tool: Tool, folder: Path, environ: dict[str, str]) -> None:
    """Two builds at the same time yield one program, built once, by real Go from a real module."""
    streams = [io.StringIO(), io.StringIO()]
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(build_all, [tool], s, folder=folder, environ=environ) for s in streams]
        problems = [future.result() for future in running]
    assert problems == [(), ()]
    texts = [stream.getvalue() for stream in streams]
    assert sum("done in" in text for text in texts) == 1, texts
    assert version_of(tool, cached(tool, environ)) == "v1.2.3"
    assert files(environ) == [".lock-tiny", "tiny", "tiny.recipe"]


def test_a_program_is_built_once(tool: Tool, folder: Path, environ: dict[str, str], script: Script) -> None:
    """The second run finds the first one's program; the lines say what happens."""
    variables = fake_go(script, environ, writes("v1.2.3"))
    stream = io.StringIO()
    assert build_all([tool], stream, folder=folder, environ=variables) == ()
    assert build_all([tool], stream, folder=folder, environ=variables) == ()
    expected = (
        "tiny-tool v1.2.3: building (about 10 s the first time) ... done in T\n"
        "tiny-tool v1.2.3: found (cache)\n"
    )
    assert expected == timeless(stream.getvalue())


def test_programs_of_one_module_are_built_at_once(
    tool: Tool, folder: Path, environ: dict[str, str], script: Script
) -> None:
    """One `go build` makes all missing programs of a module, each with its stamps and under its own name."""
    program = "printf '#!/bin/sh\\necho v1.2.3\\n'"
    made = "".join(f'{program} > "$2/{name}"; chmod +x "$2/{name}"; ' for name in ("tiny", "server"))
    body = f'echo "$@" >> ../../calls; {made}'
    variables = fake_go(script, environ, body)
    second = replace(tool, name="second", command="/server/v3", file_name="second", stamps=())
    stream = io.StringIO()

    assert () == build_all([tool, second], stream, folder=folder, environ=variables)

    assert ["v1.2.3", "v1.2.3"] == [version_of(each, cached(each, environ)) for each in (tool, second)]
    (call,) = (folder.parent / "calls").read_text(encoding="utf-8").splitlines()
    expected = (
        "-ldflags=example.test/tiny=-s -w -X main.version=v1.2.3 -ldflags=example.test/tiny/server/v3=-s -w "
        "example.test/tiny example.test/tiny/server/v3"
    )
    assert expected == call[call.index("-ldflags") :]
    said = "tiny-tool v1.2.3, second v1.2.3: building (about 20 s the first time) ... done in T\n"
    assert said == timeless(stream.getvalue())
    assert [] == list(Path(environ["SLICEWRIGHT_CACHE"]).rglob(".building-*"))


def test_a_changed_module_is_built_again(
    tool: Tool, folder: Path, environ: dict[str, str], script: Script
) -> None:
    """The same version from other sums or stamps is another program."""
    variables = fake_go(script, environ, writes("v1.2.3") + "; echo x >> ../../calls")
    for content in ("", "a sum", "a sum"):
        (folder / "tiny" / "go.sum").write_text(content, encoding="utf-8")
        assert build_all([tool], io.StringIO(), folder=folder, environ=variables) == ()
    assert (folder.parent / "calls").read_text(encoding="utf-8") == "x\nx\n"


def test_a_program_on_path_is_not_built(
    tool: Tool, folder: Path, environ: dict[str, str], script: Script
) -> None:
    """A program of the pinned version on PATH is accepted."""
    path = script("bin/tiny", "echo v1.2.3")
    stream = io.StringIO()
    variables = {**environ, "PATH": str(path.parent)}
    assert build_all([tool], stream, folder=folder, environ=variables) == ()
    assert stream.getvalue() == "tiny-tool v1.2.3: found (PATH)\n"


def test_a_wrong_variable_is_refused(
    tool: Tool, folder: Path, environ: dict[str, str], script: Script
) -> None:
    """A variable that names another version is reported, not papered over by a build."""
    own = script("own/tiny", "echo v1.0.0")
    stream = io.StringIO()
    variables = {**environ, "SLICEWRIGHT_TINY_TOOL": str(own)}
    (problem,) = build_all([tool], stream, folder=folder, environ=variables)
    assert (problem.id, stream.getvalue()) == ("TOOL003", "tiny-tool v1.2.3: refused\n")
    assert not Path(environ["SLICEWRIGHT_CACHE"]).exists()


def test_a_failing_build_shows_what_go_said(
    tool: Tool, folder: Path, environ: dict[str, str], script: Script
) -> None:
    """Go's own last lines are in the problem, and nothing is left behind."""
    variables = fake_go(script, environ, 'echo half > "$2/tiny"; echo missing go.sum entry >&2; exit 1')
    stream = io.StringIO()
    expected = Problem(
        id="TOOL006",
        message="go build of tiny-tool v1.2.3 exited 1\n  missing go.sum entry",
        hint="run 'go mod tidy' in tools/tiny if a sum is missing; else see Go's message above",
    )
    assert (expected,) == build_all([tool], stream, folder=folder, environ=variables)
    assert stream.getvalue() == "tiny-tool v1.2.3: building (about 10 s the first time) ... failed\n"
    assert files(environ) == [".lock-tiny"]


def test_a_build_of_another_version_is_refused(
    tool: Tool, folder: Path, environ: dict[str, str], script: Script
) -> None:
    """What was built is asked for its version before it comes into the cache."""
    variables = fake_go(script, environ, writes("v1.2.2"))
    (problem,) = build_all([tool], io.StringIO(), folder=folder, environ=variables)
    assert problem.text().splitlines()[0] == "TOOL007 tiny-tool was built as v1.2.2, but v1.2.3 is pinned"
    assert files(environ) == [".lock-tiny"]


@pytest.mark.parametrize("content", ["", "#!/bin/sh\nexit 1\n"], ids=["empty", "broken"])
def test_a_broken_program_is_built_again(
    tool: Tool, folder: Path, environ: dict[str, str], script: Script, content: str
) -> None:
    """A program in the cache that does not say its version any more is not taken for one."""
    variables = fake_go(script, environ, writes("v1.2.3"))
    assert build_all([tool], io.StringIO(), folder=folder, environ=variables) == ()
    cached(tool, environ).write_text(content, encoding="utf-8")

    assert build_all([tool], io.StringIO(), folder=folder, environ=variables) == ()

    assert version_of(tool, cached(tool, environ)) == "v1.2.3"


def test_a_cache_that_cannot_be_written(
    tool: Tool, folder: Path, environ: dict[str, str], script: Script
) -> None:
    """If nothing can be written, the message has the place and what to do; the next module is tried too."""
    Path(environ["SLICEWRIGHT_CACHE"]).touch()
    variables = fake_go(script, environ, writes("v1.2.3"))
    stream = io.StringIO()

    other = replace(tool, name="other", folder="other")
    (folder / "other").mkdir()
    (folder / "other" / "go.mod").write_text("module example.test/other\n\ngo 1.24\n", encoding="utf-8")

    problems = build_all([tool, other], stream, folder=folder, environ=variables)

    assert [problem.id for problem in problems] == ["TOOL006", "TOOL006"]
    assert "tiny-tool v1.2.3 cannot be put into the cache: [Errno 20] Not a directory" in problems[0].message
    assert "SLICEWRIGHT_CACHE" in problems[0].hint
    assert stream.getvalue() == "tiny-tool v1.2.3: failed\nother v1.2.3: failed\n"


def test_without_a_home(tool: Tool, folder: Path, environ: dict[str, str], script: Script) -> None:
    """Go is told the user's home where no variable does, as in a container or a service."""
    body = 'test -d "$HOME" || exit 1; ' + writes("v1.2.3")
    variables = fake_go(script, {name: environ[name] for name in environ if name != "HOME"}, body)

    assert build_all([tool], io.StringIO(), folder=folder, environ=variables) == ()


def test_a_tool_of_developers_in_an_installed_package(
    tool: Tool, environ: dict[str, str], folder: Path, script: Script
) -> None:
    """The package has no module of a program that no command runs: that is said, and the rest is built."""
    variables = fake_go(script, environ, writes("v1.2.3"))
    stream = io.StringIO()

    elsewhere = replace(tool, name="kind", folder="kind")
    (problem,) = build_all([elsewhere, tool], stream, folder=folder, environ=variables)

    assert (
        Problem(
            id="TOOL005",
            message=("an installed slicewright cannot build kind v1.2.3: its module is not in the package"),
            hint="run 'slicewright tools build' in a checkout; its programs are found from everywhere",
        )
        == problem
    )
    expected = (
        "kind v1.2.3: not built\ntiny-tool v1.2.3: building (about 10 s the first time) ... done in T\n"
    )
    assert expected == timeless(stream.getvalue())


def test_for_another_machine(folder: Path, environ: dict[str, str], tool: Tool) -> None:
    """A program for another machine is built by real Go, read in place of run, and kept beside ours."""
    (folder / "tiny" / "go.mod").write_text(f"module {tool.module}\n\ngo 1.24\n", encoding="utf-8")
    development = replace(tool, version="(devel)")  # what Go writes for a main module without version control
    stream = io.StringIO()

    problems = build_all([development], stream, folder=folder, environ=environ, target="darwin-arm64")

    assert () == problems
    kept = cached(development, environ, "darwin-arm64")
    assert (MACH_O_ARM64, "tiny-tool/(devel)-darwin-arm64/tiny") == (
        kept.read_bytes()[:8],
        "/".join(kept.parts[-3:]),
    )
    assert build_all([development], stream, folder=folder, environ=environ, target="darwin-arm64") == ()
    assert stream.getvalue().endswith("found (cache)\n")


def test_no_go(tool: Tool, folder: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Go nothing is tried, and it is said once."""
    nothing = Problem(id="TOOL004", message="no Go")
    monkeypatch.setattr(build, "find_go", lambda *_: nothing)
    stream = io.StringIO()
    assert (nothing,) == build_all([tool, tool], stream, folder=folder, environ=environ)
    assert stream.getvalue() == ""


def test_long_builds_say_that_they_go_on(
    tool: Tool, folder: Path, environ: dict[str, str], script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build of minutes shows a sign of life; leftovers of a killed one go."""
    monkeypatch.setattr(build, "STILL_SECONDS", 0.2)
    left = Path(environ["SLICEWRIGHT_CACHE"]) / "tools" / ".building-tiny-left"
    left.mkdir(parents=True)
    (left / "half").touch()
    variables = fake_go(script, environ, "sleep 0.3; " + writes("v1.2.3"))
    stream = io.StringIO()
    assert build_all([tool], stream, folder=folder, environ=variables) == ()
    sign = r"\n  \d+ s: 0 modules downloaded and packages compiled \.\.\."
    signs = rf"building \(about 10 s the first time\) \.\.\.({sign})+ done in \d+ s\n"
    assert re.search(signs, stream.getvalue())
    assert files(environ) == [".lock-tiny", "tiny", "tiny.recipe"]


@pytest.mark.parametrize(
    ("number", "trap"),
    [
        pytest.param(signal.SIGINT, "", id="Ctrl-C"),
        pytest.param(signal.SIGTERM, "trap '' INT TERM", id="stubborn", marks=pytest.mark.ci),
    ],
)
def test_an_interrupted_build_leaves_nothing(
    environ: dict[str, str], script: Script, tmp_path: Path, number: signal.Signals, trap: str
) -> None:
    """Ctrl-C, or an end from outside, ends Go with all its children and leaves no half program."""
    pipe = tmp_path / "alive"
    os.mkfifo(pipe)
    body = f"""exec 9> {pipe}\n{trap}\necho half > "$2/tiny"; echo go >&9; sleep 600 & wait"""
    variables = fake_go(script, environ, body)
    command = [sys.executable, "-m", "slicewright", "tools", "build", "kind"]
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True) as process:
        select.select([reader], [], [], 300)
        assert os.read(reader, 9) == b"go\n"
        process.send_signal(number)
        _, printed = process.communicate(timeout=300)
        select.select([reader], [], [], 30)
        assert os.read(reader, 9) == b""  # the last holder of the other end is gone
    os.close(reader)
    assert 128 + number == process.returncode
    assert re.search(r"kind v\S+: building \(about .*\) \.\.\. stopped\n$", printed)
    assert files(environ) == [".lock-kind"]


def test_the_next_build_waits_for_what_a_killed_one_left(
    tool: Tool, folder: Path, environ: dict[str, str], script: Script, tmp_path: Path
) -> None:
    """After kill -9, Go goes on in its scratch folder: it has the lock, and nothing takes its files away."""
    alive, waited = tmp_path / "alive", tmp_path / "waited"
    os.mkfifo(alive)
    body = f"""
if [ ! -e {tmp_path}/began ]; then
  touch {tmp_path}/began; echo go > {alive}
  for _ in $(seq 200); do test -e {waited} && break; sleep 0.05; done
fi
{writes("v1.2.3")} && echo written >> {tmp_path}/ends"""
    variables = fake_go(script, environ, body)
    code = (
        "import sys; from pathlib import Path; from slicewright.programs.build import build_all\n"
        "from slicewright.programs.pins import Tool\n"
        f"build_all([{tool!r}], sys.stderr, folder=Path({str(folder)!r}))"
    )
    with subprocess.Popen([sys.executable, "-c", code], env=variables) as process:
        assert alive.read_text(encoding="utf-8") == "go\n"
        process.kill()
    stream = Waiting(waited)

    assert () == build_all([tool], stream, folder=folder, environ=variables)

    waits = "tiny-tool v1.2.3: another process builds it; waiting for that to end\n"
    assert f"{waits}tiny-tool v1.2.3: building" in stream.getvalue()
    assert (tmp_path / "ends").read_text(encoding="utf-8") == "written\n" * 2
    assert files(environ) == [".lock-tiny", "tiny", "tiny.recipe"]


class Waiting(io.StringIO):
    """Progress text that makes a file when it says that a build waits."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def write(self, text: str) -> int:
        """Keep the text."""
        if "waiting" in text:
            self._file.touch()
        return super().write(text)
