"""A checkout as it would be with other documents, rendered in memory: no file is written."""

from msgspec.structs import replace

from slicewright.kubernetes.problem import Problem, errors
from slicewright.project.repository_reader import Checkout, read_input
from slicewright.rendering.changes import render
from slicewright.rendering.repository import Documents


def rendered(checkout: Checkout, documents: Documents) -> tuple[Checkout, tuple[Problem, ...]]:
    """Return a checkout with changed documents whose tree holds what a render would write.

    The problems are the errors that prevent a render; then the tree does not change.
    """
    repository = read_input(checkout.root, documents) if documents else checkout.repository
    rendering = render(repository, checkout.existing)
    against = errors(rendering.problems)
    if against:
        return checkout, against
    gone = frozenset(rendering.deletes)
    existing = {path: text for path, text in checkout.existing.items() if path not in gone}
    read_text = repository.read_text

    def read(path: str) -> str | None:
        return None if path in gone else rendering.writes.get(path) or read_text(path)

    repository = replace(repository, read_text=read)
    return replace(checkout, repository=repository, existing=existing | rendering.writes), ()
