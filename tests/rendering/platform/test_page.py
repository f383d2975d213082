"""The examples of docs/explanation/platform.md and flavors.md render, with nothing against them."""

import re
from pathlib import Path

from tests.conftest import Repo

PAGES = Path(__file__).parents[3] / "docs" / "explanation"
EXAMPLE = re.compile(r"```yaml\n(.*?)```", re.DOTALL)


def first(page: str) -> str:
    """Return the first example of a page."""
    found = EXAMPLE.search((PAGES / f"{page}.md").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def test_example_renders_and_is_valid(empty: Repo) -> None:
    """What people copy from the page works as it stands."""
    example = first("platform")
    empty.write("clusters/research.yaml", example)

    assert empty.run("render", "-o", "json").json["problems"] == []
    assert empty.run("validate", "-o", "json").json["problems"] == []
    assert sorted(empty.tree("overlays/research/_platform")) == [
        f"overlays/research/_platform/{name}.yaml"
        for name in (
            *("flavors", "kustomization", "local-queues", "namespaces"),
            *("priority-classes", "queues", "team-language", "team-vision"),
        )
    ]
    assert sorted(empty.tree("overlays/research/_controllers")) == [
        f"overlays/research/_controllers/{name}.yaml"
        for name in ("kueue-manager-config.patch", "kueue-restart.patch", "kustomization")
    ]


def test_ladder_of_the_page_renders(empty: Repo) -> None:
    """A workload with the lines of the page may climb on the cluster of the page."""
    empty.write("clusters/research.yaml", first("platform"))
    head = "apiVersion: slicewright.dev/v1alpha1\nkind: TPUWorkload\nmetadata: {name: a, namespace: vision}\n"
    more = "  clusters: [research]\n  tpu: v5litepod-8\n  container: {image: x}\n"
    empty.write("workloads/a.yaml", f"{head}{first('flavors')}{more}")

    assert empty.run("render", "-o", "json").json["problems"] == []
    (path,) = empty.runs("a", "research", "vision")
    text = empty.read(f"overlays/research/vision/a/{path}")
    assert [True, True, False] == [
        word in text for word in ("value: OnDemand", "value: Spot", "cloud.google.com/gke-spot")
    ]
