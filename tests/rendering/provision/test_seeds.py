"""The commands of the public tutorials come out of our scripts, token by token."""

import shlex
from pathlib import Path
from pathlib import Path as Folder
from typing import Any

import pytest
import yaml

from .kit import committed, machine

SEEDS = yaml.safe_load((Path(__file__).parent / "seeds.yaml").read_text(encoding="utf-8"))


def tokens(command: str) -> list[str]:
    """Return the words of a command in order; `--flag value` counts as `--flag=value`."""
    found: list[str] = []
    for word in shlex.split(command):
        if found and found[-1].startswith("--") and "=" not in found[-1] and not word.startswith("--"):
            found[-1] += f"={word}"
        else:
            found.append(word)
    return sorted(found)


@pytest.mark.parametrize("seed", SEEDS, ids=[seed["tutorial"] for seed in SEEDS])
def test_command_of_a_tutorial(seed: dict[str, Any], tmp_path: Folder) -> None:
    """A script prints the tutorial's command, but for the differences that are listed with their reasons."""
    host = machine(tmp_path, committed(seed["cluster"]))
    filled = [seed["values"].get(word, word) for word in tokens(seed["command"])]
    filled = [
        f"{flag}={seed['values'].get(value, value)}" if equals else flag
        for flag, equals, value in (word.partition("=") for word in filled)
    ]
    expected = sorted([word for word in filled if word not in seed["lacks"]] + list(seed["adds"]))

    commands = [tokens(line) for line in host.run(seed["script"], "--dry-run").commands]

    assert [expected] == [command for command in commands if command == expected]
    assert set(seed["lacks"]) <= set(filled)


def test_no_further_command_of_the_tutorials_clusters(tmp_path: Folder) -> None:
    """The scripts make as many clusters and node pools as the tutorials do, and turn on APIs besides."""
    counts: dict[tuple[str, str], int] = {}
    for name in ("multislice-autopilot", "multislice-cluster", "flex-start-cluster"):
        (tmp_path / name).mkdir()
        host = machine(tmp_path / name, committed(name))
        for script in sorted(path.name for path in (tmp_path / name / "provision" / name).iterdir()):
            if script in ("cluster.sh", "node-pools.sh"):
                commands = host.run(script, "--dry-run").commands
                counts[name, script] = sum(" create" in line for line in commands)
    listed: dict[tuple[str, str], int] = {}
    for seed in SEEDS:
        key = (seed["cluster"], seed["script"])
        listed[key] = listed.get(key, 0) + 1

    assert listed | {("flex-start-cluster", "cluster.sh"): 1} == counts
