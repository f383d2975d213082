"""A kubectl that answers from files and notes how it was called: a shell, which starts faster than Python."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

from tests.files import write

SEPARATOR = "\x1f"
PROGRAM = """#!/bin/sh
cd {folder} || exit 9
verb= noun= line=
for word; do
  line="$line$word{separator}"
  case $word in
  -*) ;;
  *) if [ -z "$verb" ]; then verb=$word; elif [ -z "$noun" ]; then noun=$word; fi ;;
  esac
done
printf '%s\\n' "$line" >> calls
name=$verb
[ "$verb" = get ] && name=${{noun%%.*}}
for answer in "answers/$name" answers/otherwise; do
  [ -e "$answer.sleeps" ] && exec /bin/sleep 60
  [ -e "$answer.out" ] && exec /bin/cat "$answer.out"
  [ -e "$answer.err" ] && {{ /bin/cat "$answer.err" >&2; exit 1; }}
done
echo '{{"items": []}}'
"""


def install(folder: Path) -> Path:
    """Write the program to a folder and return it."""
    program = folder / "kubectl"
    text = PROGRAM.format(folder=shlex.quote(str(folder)), separator=SEPARATOR)
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return program


def answers(folder: Path, **given: object) -> None:
    """Say what it answers: by resource a list, or a text that it fails with."""
    shutil.rmtree(folder / "answers", ignore_errors=True)
    for name, answer in given.items():
        suffix, text = _answer(answer)
        write(folder / "answers", {f"{name.lstrip('/')}.{suffix}": text})


def _answer(answer: object) -> tuple[str, str]:
    """Return the suffix and the text of the file of an answer."""
    if not isinstance(answer, str):
        return "out", json.dumps({"items": answer} if isinstance(answer, list) else answer)
    if answer == "SLEEP":
        return "sleeps", ""
    if answer.startswith("OUT "):
        return "out", answer.removeprefix("OUT ")
    return "err", answer


def calls(folder: Path) -> list[list[str]]:
    """Return the arguments of each call."""
    lines = (folder / "calls").read_text(encoding="utf-8").splitlines()
    return [line.split(SEPARATOR)[:-1] for line in lines]
