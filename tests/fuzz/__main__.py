"""Run the targets in turn until the time is over; print how often each was executed, as JSON.

An execution is drawn from the seed, its target and its number: `--only TARGET --at NUMBER` plays it again.
What fails is made smaller as far as that is cheap, and saved. The exit code is 1 then.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.targets import TARGETS, Files, hold, lay, stamps

import slicewright

if TYPE_CHECKING:
    from types import FrameType

_PACKAGE = Path(slicewright.__file__).parent
_CPU_SECONDS = 10
_SECONDS = 100
"""A build by kustomize may take its time on a machine that others use."""
_TRIES = 100
"""Executions that are spent on making a failure smaller."""


class Hang(BaseException):
    """An execution takes too long; nothing catches this."""


def _ring(number: int, _: FrameType | None) -> None:
    raise Hang(f"more than {_CPU_SECONDS if number == signal.SIGPROF else _SECONDS} s")


def attempt(name: str, files: Files, draw: random.Random, within: Path) -> str:
    """Execute a target on files; return where and how it fails, empty where it does not."""
    folder, outside = within / "here", within / "outside"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    outside.mkdir(exist_ok=True)
    (outside / "a.yaml").write_text("kind: Outside\n", encoding="utf-8")
    lay(folder, files)
    beside = {entry.name for entry in within.iterdir()} | {"git"}
    signal.setitimer(signal.ITIMER_PROF, _CPU_SECONDS)
    signal.alarm(_SECONDS)
    try:
        TARGETS[name][1](folder, draw)
        hold({"a.yaml": b"kind: Outside\n"} == stamps(outside), "a file outside was changed")
        hold(beside >= {entry.name for entry in within.iterdir()}, "a file outside was made")
    except (Exception, Hang) as error:
        calls = traceback.extract_tb(error.__traceback__)
        frames = [one for one in calls if Path(one.filename).is_relative_to(_PACKAGE)]
        last = frames[-1] if frames else None
        where = f"{Path(last.filename).name}:{last.name}" if last and not isinstance(error, Hang) else ""
        return f"{type(error).__name__} {where} {str(error)[:300]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    return ""


def _kind(failure: str) -> str:
    return " ".join(failure.split()[:2])


def smaller(name: str, files: Files, seed: str, failure: str, within: Path) -> Files:
    """Return fewer files with fewer lines that fail alike."""
    tries = _TRIES if not failure.startswith("Hang") else 0

    def fails(changed: Files) -> bool:
        nonlocal tries
        tries -= 1
        return tries > 0 and _kind(attempt(name, changed, random.Random(seed), within)) == _kind(failure)

    for path in list(files):
        rest = {other: text for other, text in files.items() if other != path}
        if fails(rest):
            files = rest
    for path in list(files):
        step = max(1, len(files[path]) // 2)
        while step and tries > 0:
            at = 0
            while at < len(files[path]):
                cut = {**files, path: files[path][:at] + files[path][at + step :]}
                if fails(cut):
                    files = cut
                else:
                    at += step
            step //= 2
    return files


def save(folder: Path, name: str, seed: str, failure: str, files: Files) -> None:
    """Write a failure, and what is needed to see it again."""
    target = folder / f"{name}-{seed.rpartition(':')[2]}"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    lay(target / "files", files)
    (target / "how.json").write_text(
        json.dumps({"seed": seed, "failure": failure}, indent=2), encoding="utf-8"
    )


def play(
    seconds: float, seed: int, names: list[str], found: Path, at: int | None = None
) -> tuple[Counter[str], Counter[str]]:
    """Run targets in turn; return how often each was executed, and how often each failure was seen."""
    counts: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, _ring)
    here, until = Path.cwd(), time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="slicewright-fuzz-") as scratch:
        spent = dict.fromkeys(names, 0.0)
        while time.monotonic() < until and not (at is not None and counts):
            name = min(names, key=spent.__getitem__)  # each target has as much time as the others
            began = time.monotonic()
            within = Path(scratch) / name
            within.mkdir(exist_ok=True)
            own = f"{seed}:{name}:{counts[name] if at is None else at}"
            files = TARGETS[name][0](random.Random(f"{own}:files"))
            failure = attempt(name, files, random.Random(own), within)
            counts[name] += 1
            if failure:
                kind = f"{name}: {_kind(failure)}"
                failures[kind] += 1
                if failures[kind] == 1:
                    save(found, name, own, failure, smaller(name, files, own, failure, within))
                    sys.stderr.write(f"{own}: {failure}\n")
            spent[name] += time.monotonic() - began
        os.chdir(here)
    return counts, failures


def main() -> int:
    """Read the options, fuzz, and print numbers."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=list(TARGETS))
    parser.add_argument("--at", type=int)
    parser.add_argument("--found", type=Path, default=Path(".fuzz"))
    options = parser.parse_args()
    began = time.monotonic()
    found = options.found.absolute()
    counts, failures = play(
        options.minutes * 60, options.seed, options.only or list(TARGETS), found, options.at
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    numbers = {"executions": dict(counts), "total": counts.total(), "failures": dict(failures)}
    numbers |= {"seed": options.seed, "seconds": round(time.monotonic() - began), "peakMebibytes": peak}
    sys.stdout.write(json.dumps(numbers, indent=2) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
