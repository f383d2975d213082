"""The repository is its own first user: its overlays keep the rules, or say why not."""

from pathlib import Path

from tests.check.rules.kit import run

from slicewright import compose, load
from slicewright.check.rules.every import RULES
from slicewright.check.suppress import FILE_NAME, read_ignores, suppress
from slicewright.kubernetes.problem import Problem
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.io.package_data import catalogue

ROOT = Path(__file__).resolve().parents[3]


def test_own_overlays_are_clean() -> None:
    """No overlay has an error; each warning is silenced with a reason, and no reason is left over."""
    checkout = load(ROOT)
    problems: list[Problem] = []
    everything: list[Resource] = []
    for name, site in checkout.repository.sites.items():
        items = []
        for path in sorted((ROOT / "overlays" / name).glob("*/*/kustomization.yaml")):
            folder = path.parent.relative_to(ROOT).as_posix()
            items += [Resource(data, folder) for data in compose(checkout, folder).objects]
        source = site.cluster.source
        items.append(Resource(source.data, source.file.path, source))
        problems += run(ObjectSet(items, catalogue(), site))
        everything += items
    ignores = read_ignores(
        (ROOT / FILE_NAME).read_text(encoding="utf-8"), FILE_NAME, [rule.id for rule in RULES]
    )

    left = suppress(problems, everything, ignores.entries)

    assert ignores.problems == ()
    assert [problem.text() for problem in problems if problem.severity == "error"] == []
    assert [problem.text() for problem in left] == []
