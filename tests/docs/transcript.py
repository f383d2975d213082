"""Pages as transcripts: what a page tells people to type is typed, and what it shows is compared.

A `console` block is a session: commands after `$`, each with all that it prints. There `...` means any
text, and a span of time, a percentage or a bar any other. A block with a `title` is a file that the reader
writes, a `diff` block an edit. All other blocks are for the machines of readers.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.conftest import PROJECT

from slicewright.programs.find import cache_root

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = PROJECT / "docs"
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)\n", re.MULTILINE)
_TIME = re.compile(
    r"\b(?:\d+[hms])+\b|\b\d+\.\d+s\b|\b\d+(?=%)|[ ░█▒·▁▂▃▄▅▆▇-]*[░█▒·▁▂▃▄▅▆▇][ ░█▒·▁▂▃▄▅▆▇-]*(?=  |$)",
    re.MULTILINE,
)
"""What differs from one rehearsal to the next: spans of time, shares of it, and bars along it."""
_SHORT_WAIT = re.compile(r", waited (?:\d+m)?[\d.]+s$", re.MULTILINE)
"""A moment of a busy machine is a minute where an hour takes 15 s."""
_DEADLINE = 120.0
_PRINTED = doctest.OutputChecker()
_GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "init.defaultBranch",
    "GIT_CONFIG_VALUE_0": "main",
} | {f"GIT_{who}_{what}": "ann@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def session(block: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a console block, each with the output that it shows."""
    _, *parts = _COMMAND.split(block)
    yield from zip(parts[::2], parts[1::2], strict=True)


def _timeless(text: str) -> str:
    return _TIME.sub("~", _SHORT_WAIT.sub("", text))


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """Return the fenced blocks of a page: language, title, text."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell in a home of its own: what a command sets or where it goes holds for the next one.

    slicewright is the one of this interpreter, the pinned tools are in its cache, gcloud knows of nothing.
    """

    home: Path

    @property
    def state(self) -> Path:
        """The file that holds what the next command starts with."""
        return self.home / "state"

    def begin(self, **programs: Path) -> Shell:
        """Make the home, with programs on the path, and return the shell."""
        bin_ = self.home / "bin"
        bin_.mkdir(parents=True)
        (bin_ / "gcloud").write_text("#!/bin/sh\n", encoding="utf-8")
        (bin_ / "gcloud").chmod(0o755)
        for name, path in {"slicewright": Path(sys.executable).with_name("slicewright"), **programs}.items():
            (bin_ / name).symlink_to(path)
        (self.home / "cache").mkdir()
        (self.home / "cache/tools").symlink_to(cache_root(os.environ) / "tools")
        self.state.write_text(f"cd '{self.home}'\n", encoding="utf-8")
        return self

    def sample(self) -> Shell:
        """Go into the repository that init makes, rendered and committed."""
        commands = (
            "slicewright init training",
            "cd training",
            "git init",
            "slicewright render",
            "git add --all",
        )
        for command in (*commands, "git commit --message init"):
            assert self.run(command)[0] == 0, command
        return self

    def run(self, command: str) -> tuple[int, str]:
        """Run a command; return its exit code and what it prints on both streams."""
        keep = f"{{ export -p; echo \"cd '$PWD'\"; }} > {self.state}"
        script = f". {self.state}\n{command}\ncode=$?\n{keep}\nexit $code"
        environ = {**os.environ, **_GIT, "SLICEWRIGHT_CACHE": str(self.home / "cache")}
        environ["PATH"] = f"{self.home / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-c", script],
            env={name: value for name, value in environ.items() if not name.startswith(("MAKE", "MFLAGS"))},
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        return done.returncode, done.stdout

    def play(self, page: Path, *, mend: bool = False) -> int:
        """Do what a page says, and compare what it shows; return the number of its commands.

        With `mend` the page is changed where it shows other words, except where it leaves some out.
        """
        played = 0
        for language, title, text in blocks(page):
            if title:
                self._put(title, text)
            elif language == "diff":
                code, said = self.run(f"git apply --whitespace=nowarn <<'EDIT'\n{text}EDIT")
                assert (0, "") == (code, said), text
            elif language == "console":
                for command, output in session(text):
                    said = self._answer(command, output)
                    if said != output:
                        if not mend or "..." in output:
                            pytest.fail(f"$ {command}\n{said}; the page shows:\n{output}")
                        before = page.read_text(encoding="utf-8")
                        page.write_text(
                            before.replace(f"$ {command}\n{output}", f"$ {command}\n{said}"), "utf-8"
                        )
                    played += 1
        return played

    def _put(self, path: str, text: str) -> None:
        self.run(f"mkdir -p \"$(dirname '{path}')\" && cat > '{path}' <<'FILE'\n{text}FILE")

    def _answer(self, command: str, output: str) -> str:
        """Run a command; return the output that a page shows where it is right, or what is printed.

        What only reads the cluster is asked again until it answers so, for two minutes.
        """
        end = time.monotonic() + (_DEADLINE if command.startswith("kubectl get") else 0)
        while True:
            code, said = self.run(command)
            if code == 0 and _PRINTED.check_output(_timeless(output), _timeless(said), doctest.ELLIPSIS):
                return output
            if time.monotonic() >= end:
                return f"{said}exit code {code}\n" if code else said
            time.sleep(0.5)
