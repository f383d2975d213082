"""A kubectl that answers from a file and notes how it was called."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

PROGRAM = """#!{python}
import sys
from pathlib import Path
sys.path.insert(0, {beside!r})
import stub
stub.main(Path({folder!r}), sys.argv[1:])
"""


def install(folder: Path) -> Path:
    """Write the program to a folder and return it."""
    program = folder / "kubectl"
    beside = str(Path(__file__).parent)
    text = PROGRAM.format(python=sys.executable, folder=str(folder), beside=beside)
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return program


def answers(folder: Path, **given: object) -> None:
    """Say what it answers: by resource a list, or a text that it fails with."""
    (folder / "answers.json").write_text(json.dumps(given), encoding="utf-8")


def calls(folder: Path) -> list[list[str]]:
    """Return the arguments of each call."""
    lines = (folder / "calls").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def main(folder: Path, arguments: list[str]) -> None:
    """Answer one call."""
    with (folder / "calls").open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(arguments)}\n")
    known = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    words = [word for word in arguments if not word.startswith("-")]
    resource = words[1].partition(".")[0] if words[0] == "get" else words[0]
    answer = known.get(resource, known.get("otherwise", []))
    if answer == "SLEEP":
        time.sleep(60)
    if isinstance(answer, str) and answer.startswith("OUT "):
        sys.stdout.write(answer[4:])
    elif isinstance(answer, str):
        sys.stderr.write(answer)
        sys.exit(1)
    else:
        sys.stdout.write(json.dumps({"items": answer} if isinstance(answer, list) else answer))
