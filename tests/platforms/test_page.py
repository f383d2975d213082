"""The example of docs/platform.md is one that renders, with nothing against it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.conftest import Repo

PAGE = Path(__file__).parents[2] / "docs" / "platform.md"
EXAMPLE = re.compile(r"```yaml\n(.*?)```", re.DOTALL)


def test_example_renders_and_is_valid(empty: Repo) -> None:
    """What people copy from the page works as it stands."""
    (example,) = EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))
    empty.write("clusters/research.yaml", example)

    assert empty.run("render", "-o", "json").json["problems"] == []
    assert empty.run("validate", "-o", "json").json["problems"] == []
    assert sorted(empty.tree("overlays/research/_platform")) == [
        f"overlays/research/_platform/{name}.yaml"
        for name in (
            *("flavors", "kueue-manager-config", "kustomization", "local-queues", "namespaces"),
            *("priority-classes", "queues", "team-language", "team-vision"),
        )
    ]
