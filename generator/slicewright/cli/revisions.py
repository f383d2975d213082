"""What commands say where git has no answer: it is missing, or knows no revision of a name."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from slicewright.cli import show
from slicewright.core.problem import did_you_mean
from slicewright.gitrepo.git import GitError, NoGitRepositoryError
from slicewright.gitrepo.revision import UnknownRevisionError

if TYPE_CHECKING:
    from collections.abc import Iterator

_BROKEN = 3


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """End the command with a problem where git gives no answer. Raises Refused for what people can mend."""
    try:
        yield
    except GitError as error:
        show.problems((error.problem,))
        sys.exit(_BROKEN)
    except NoGitRepositoryError as error:
        raise show.Refused("GIT003", str(error), "git init, and commit") from None
    except UnknownRevisionError as error:
        near = did_you_mean(error.name, error.known).replace("one of: ", "branches and tags: ")
        hint = near or "name a branch, a tag or a commit; git fetch gets others"
        raise show.unknown(str(error), hint) from None
