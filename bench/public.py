"""Count what `slicewright validate` says of public repositories; prints JSON.

`bench/public.yaml` names them with their commits. FOLDER has a checkout of each, as `owner/name`; those that
are not there are listed as missing. Nothing is fetched.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml


def judged(folder: Path) -> dict[str, Any]:
    """Return the report of one checkout."""
    command = [sys.executable, "-m", "slicewright", "validate", ".", "-o", "json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def counted(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the numbers of objects and of problems by severity and id."""
    problems = [problem for report in reports for problem in report["problems"]]
    return {
        "repositories": len(reports),
        "objects": sum(report["summary"]["objects"] for report in reports),
        "severities": Counter(problem["severity"] for problem in problems),
        "errors": Counter(problem["id"] for problem in problems if problem["severity"] == "error"),
    }


def main() -> None:
    """Print the numbers of each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the checkouts are: FOLDER/owner/name")
    folder = parser.parse_args().folder
    parts = yaml.safe_load(Path(__file__).with_name("public.yaml").read_text(encoding="utf-8"))
    record: dict[str, Any] = {"missing": []}
    for part, names in parts.items():
        there = [folder / name for name in names if (folder / name).is_dir()]
        record[part] = counted([judged(path) for path in there])
        record["missing"] += [name for name in names if folder / name not in there]
    json.dump(record, sys.stdout, indent=2)


if __name__ == "__main__":
    main()
