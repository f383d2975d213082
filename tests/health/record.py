"""Plays scenes on a cluster of processes, and writes each state with its health; recorded objects are kept.

`python -m tests.health.record [SCENE...]`; then read what changed in `expected.yaml`, which the tests and the
table in docs/reference/health.md are held to, and write the table with `python -m tests.health.page`.
"""

import sys
from typing import Any

import yaml
from tests.e2e import kit
from tests.health import lua, scenes
from tests.health.fixtures import EXPECTED, FOLDER, Said, expected, recorded, steady, trimmed
from tests.health.journal import Journal
from tests.health.variants import changed

from slicewright.testbed.bed_cluster import Cluster


def record(names: list[str]) -> None:
    """Play scenes, all of them without names, and write the states."""
    said = {} if not EXPECTED.is_file() else expected()
    with Cluster(progress=print) as bed:
        not_ours = frozenset(kit.identities(bed))
        for scene in scenes.SCENES:
            if names and scene.__name__ not in names:
                continue
            print(scene.__name__)  # noqa: T201
            with Journal(bed, *scenes.KINDS) as seen:
                said[scene.__name__] = {state: _write(state, item) for state, item in scene(bed, seen)}
            kit.clear(bed, not_ours)
    known = {state for scene in said if scene != "variants" for state in said[scene]}
    variants = changed(recorded())
    said["variants"] = {state: _said(item) for state, item in variants.items() if state not in known}
    EXPECTED.write_text(yaml.safe_dump(said, sort_keys=False, width=120), encoding="utf-8")


def _write(state: str, item: dict[str, Any]) -> Said:
    """Write the recording of a state again, if there is one: `variants` makes the other states."""
    path = FOLDER / f"{state}.yaml"
    if path.is_file():
        path.write_text(yaml.safe_dump(trimmed(item)), encoding="utf-8")
    return _said(item)


def _said(item: dict[str, Any]) -> Said:
    made = lua.health(item)
    return {"status": made.status, "message": steady(made.message)}


if __name__ == "__main__":
    record(sys.argv[1:])
