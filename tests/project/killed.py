"""Render copies of a repository, and kill each render one change of the file system later than the last.

The processes are forks of this one, which has imported everything: they end by `_exit`, as SIGKILL would end
them, without any clean-up. Prints the exit code of each.
"""

import importlib
import os
import sys
from typing import Any

from slicewright.cli.main import main
from slicewright.rendering.io.package_data import package

_STEPS = ("mkdir", "replace", "unlink", "rmdir")


def _count(name: str, left: list[int]) -> None:
    real = getattr(os, name)

    def step(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            os._exit(137)
        return real(*arguments, **options)

    setattr(os, name, step)


def _render(root: str, steps: int) -> None:
    remaining = [steps]
    for method in _STEPS:
        _count(method, remaining)
    sys.argv = ["slicewright", "render", "-C", root]
    sys.stdout = sys.stderr
    main()


if __name__ == "__main__":
    package()
    importlib.import_module("slicewright.cli.render")
    for number, folder in enumerate(sys.argv[1:]):
        child = os.fork()
        if not child:
            _render(folder, number)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - what the test reads
