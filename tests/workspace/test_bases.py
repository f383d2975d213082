"""A repository without bases is told where they are."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from slicewright.workspace.package import data_folder

if TYPE_CHECKING:
    from tests.conftest import Repo


def test_missing_bases_are_named_with_the_copy_that_came_along(repo: Repo) -> None:
    """The first render of a repository without bases/ says how to get them, and it is enough."""
    shutil.rmtree(repo.root / "bases")
    done = repo.run("render", code=1)

    first, hint = done.err.splitlines()[:2]
    assert first == "bases: BASE002 there is no folder bases/, on which overlays stand"
    assert hint == (f"  hint: copy those that came with slicewright: cp -r {data_folder('bases')} bases")
    shutil.copytree(data_folder("bases"), repo.root / "bases")
    repo.run("render")
