"""What Flux makes of runs: its patches, applied by the real kustomize as Flux applies them."""

from typing import Any

import pytest
from tests.conftest import Repo
from tests.rendering.bases.kit import kustomize, parsed

from .flux_kit import FLUX, applied, render

pytestmark = pytest.mark.tools

ONCE = {"kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent"}
AS_WRITTEN = {"kustomize.toolkit.fluxcd.io/substitute": "disabled"}
RUN = "slicewright.dev/run"
PER_WORKLOAD = f"{FLUX}\nkustomizationPer: Workload"


def marks(found: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the names of objects that Flux writes once, and of those that it keeps as they are in Git."""
    sides: dict[str, list[str]] = {"once": [], "always": []}
    for item in found:
        own = item["metadata"].get("annotations", {})
        ours = {key: value for key, value in own.items() if key.startswith("kustomize.toolkit")}
        is_once = ours == ONCE | AS_WRITTEN
        assert is_once or ours == AS_WRITTEN
        sides["once" if is_once else "always"].append(
            item["metadata"]["name"].rpartition("-")[0] or item["kind"]
        )
    return {side: sorted(names) for side, names in sides.items()}


def test_runs_are_written_once(empty: Repo) -> None:
    """Hashed runs of every kind are created only; nothing is substituted in any object, a Fixed one too."""
    spec = render(empty)["c1.team-a"]

    found = applied(empty.root, spec)
    assert {"once": ["hashed", "path", "two"], "always": ["JobSet", "slicewright"]} == marks(found)
    kinds = {item["kind"] for item in found if RUN in item["metadata"].get("labels", {})}
    assert kinds == {"Job", "JobSet", "PathwaysJob"}


def test_nothing_else_of_a_run_changes(empty: Repo) -> None:
    """Without the annotations, what Flux applies is what the overlay builds: names and kinds too."""
    spec = render(empty)["c1.team-a"]

    found = applied(empty.root, spec)
    for item in found:
        own = item["metadata"].get("annotations", {})
        kept = {key: value for key, value in own.items() if key not in ONCE | AS_WRITTEN}
        item["metadata"].pop("annotations", None)
        item["metadata"] |= {"annotations": kept} if kept else {}
    assert parsed(kustomize(empty.root / "overlays/c1/team-a")) == found


def test_workloads_one_by_one(empty: Repo) -> None:
    """A workload's own folder is patched alike, and one without a hashed run is not an error."""
    specs = render(empty, PER_WORKLOAD)

    found = {
        name: marks(applied(empty.root, specs[f"c1.team-a.{name}"])) for name in ("fixed", "hashed", "two")
    }
    expected = {
        "fixed": {"once": [], "always": ["JobSet"]},
        "hashed": {"once": ["hashed"], "always": []},
        "two": {"once": ["two"], "always": []},
    }
    assert expected == found
